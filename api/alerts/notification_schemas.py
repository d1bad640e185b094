"""JSON of an alert's notifications."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, Discriminator, Field, Tag

from api.errors import VARIANT
from api.schemas import CleanText, OutboundAddress, RequestModel, ResponseModel
from api.validation.fields import check_email_address
from common.apprise.services import service_scheme
from common.errors import InvalidInputError
from common.records.alerts import EmailNotification, Notification, WebhookNotification

MAX_NOTIFICATIONS = 20
MAX_ADDRESSES = 50
MAX_DESTINATIONS = 100
"""Each firing is a delivery for each of them, which holds the whole alert."""
_KINDS = ("email", "webhook", "apprise")


def _kind(notification: Any) -> str | None:
    kind = notification.get("type") if isinstance(notification, dict) else None
    return f"{VARIANT}{kind}" if kind in _KINDS else None


class EmailNotificationBody(RequestModel):
    """Write to e-mail addresses."""

    type: Annotated[str, Field(pattern="^email$")]
    addresses: Annotated[
        list[Annotated[str, AfterValidator(check_email_address)]],
        Field(min_length=1, max_length=MAX_ADDRESSES, examples=[["guard@example.com"]]),
    ]


class WebhookNotificationBody(RequestModel):
    """Send to a URL."""

    type: Annotated[str, Field(pattern="^webhook$")]
    url: OutboundAddress


def _service_address(text: str) -> str:
    try:
        service_scheme(text)
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    return text


class AppriseNotificationBody(RequestModel):
    """Tell people by the service of an Apprise address."""

    type: Annotated[str, Field(pattern="^apprise$")]
    url: Annotated[str, AfterValidator(_service_address)]
    id: Annotated[CleanText, Field(max_length=32)] = ""


_AnyBody = EmailNotificationBody | WebhookNotificationBody | AppriseNotificationBody


def _few_destinations(notifications: list[_AnyBody]) -> list[_AnyBody]:
    counts = (
        len(one.addresses) if isinstance(one, EmailNotificationBody) else 1 for one in notifications
    )
    if sum(counts) > MAX_DESTINATIONS:
        raise ValueError(f"may name at most {MAX_DESTINATIONS} addresses and URLs together")
    return notifications


NotificationBody = Annotated[
    Annotated[EmailNotificationBody, Tag(f"{VARIANT}email")]
    | Annotated[WebhookNotificationBody, Tag(f"{VARIANT}webhook")]
    | Annotated[AppriseNotificationBody, Tag(f"{VARIANT}apprise")],
    Discriminator(
        _kind,
        custom_error_type="notification_type",
        custom_error_message="must be an object with the type email, webhook or apprise",
    ),
]
Notifications = Annotated[
    list[NotificationBody],
    Field(
        max_length=MAX_NOTIFICATIONS,
        description=f"At most {MAX_DESTINATIONS} addresses and URLs together.",
    ),
    AfterValidator(_few_destinations),
]


class EmailNotificationView(ResponseModel):
    """Write to e-mail addresses."""

    type: Literal["email"] = "email"
    addresses: list[str]


class WebhookNotificationView(ResponseModel):
    """Send to a URL."""

    type: Literal["webhook"] = "webhook"
    url: str


class AppriseNotificationView(ResponseModel):
    """Tell people by a service."""

    type: Literal["apprise"] = "apprise"
    url: str
    id: str


NotificationView = Annotated[
    EmailNotificationView | WebhookNotificationView | AppriseNotificationView,
    Field(discriminator="type"),
]


def notification_views(notifications: Iterable[Notification], *, shows_urls: bool) -> Any:
    """Return notifications as answers show them: URLs whole, or as scheme and host.

    Of an Apprise address the service alone is shown, whoever asks.
    """
    return msgspec.to_builtins([_shown(one, shows_urls=shows_urls) for one in notifications])


def _shown(one: Notification, *, shows_urls: bool) -> Notification:
    if isinstance(one, EmailNotification) or (isinstance(one, WebhookNotification) and shows_urls):
        return one
    return one.masked()
