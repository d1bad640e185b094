"""Defines the JSON of an alert's notifications. Clients can send masked URLs back unchanged."""

import secrets
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypeGuard

import msgspec
from pydantic import AfterValidator, Discriminator, Field, Tag

from api.errors import UNION_TAG_PREFIX, ApiError, ErrorCode, FieldFault
from api.schemas import CleanText, OutboundAddress, RequestModel, ResponseModel
from api.validation.fields import check_email_address, field_check
from common.apprise.services import is_masked, service_scheme
from common.records.alerts import (
    AppriseNotification,
    EmailNotification,
    Notification,
    WebhookNotification,
)

MAX_NOTIFICATIONS = 20
MAX_ADDRESSES = 50
MAX_DESTINATIONS = 100
"""Each trigger creates a delivery for each address and URL."""
_KINDS = ("email", "webhook", "apprise")
_ID_BYTES = 4

_UNCLEAR = "is ambiguous: send the full URL, with at least / as its path"
_UNKNOWN = "is masked (***), but no URL is stored for this notification; send the full URL"


def _kind(notification: Any) -> str | None:
    kind = notification.get("type") if isinstance(notification, dict) else None
    return f"{UNION_TAG_PREFIX}{kind}" if kind in _KINDS else None


class EmailNotificationBody(RequestModel):
    """Sends alerts by email."""

    type: Annotated[str, Field(pattern="^email$")] = Field(
        description="Always `email`.", examples=["email"]
    )
    addresses: Annotated[
        list[Annotated[str, AfterValidator(check_email_address)]],
        Field(min_length=1, max_length=MAX_ADDRESSES, examples=[["guard@example.com"]]),
    ] = Field(description="Email addresses.")


class WebhookNotificationBody(RequestModel):
    """Sends alerts to a URL."""

    type: Annotated[str, Field(pattern="^webhook$")] = Field(
        description="Always `webhook`.", examples=["webhook"]
    )
    url: OutboundAddress


def _service_address(text: str) -> str:
    service_scheme(text)
    return text


class AppriseNotificationBody(RequestModel):
    """Sends alerts through an Apprise notification service."""

    type: Annotated[str, Field(pattern="^apprise$")] = Field(
        description="Always `apprise`.", examples=["apprise"]
    )
    url: Annotated[str, AfterValidator(field_check(_service_address))] = Field(
        description="Apprise URL of the service.", examples=["ntfys://ntfy.example.com/gate"]
    )
    id: Annotated[CleanText, Field(max_length=32)] = Field(
        default="",
        description="ID of the notification, as returned with the masked URL.",
        examples=["5f0c91d2"],
    )


_AnyBody = EmailNotificationBody | WebhookNotificationBody | AppriseNotificationBody


def _few_destinations(notifications: list[_AnyBody]) -> list[_AnyBody]:
    counts = (
        len(one.addresses) if isinstance(one, EmailNotificationBody) else 1 for one in notifications
    )
    if sum(counts) > MAX_DESTINATIONS:
        raise ValueError(f"must have at most {MAX_DESTINATIONS} addresses and URLs in total")
    return notifications


NotificationBody = Annotated[
    Annotated[EmailNotificationBody, Tag(f"{UNION_TAG_PREFIX}email")]
    | Annotated[WebhookNotificationBody, Tag(f"{UNION_TAG_PREFIX}webhook")]
    | Annotated[AppriseNotificationBody, Tag(f"{UNION_TAG_PREFIX}apprise")],
    Discriminator(
        _kind,
        custom_error_type="notification_type",
        custom_error_message="must be an object with type email, webhook or apprise",
    ),
]
Notifications = Annotated[
    list[NotificationBody],
    Field(
        max_length=MAX_NOTIFICATIONS,
        description=f"At most {MAX_DESTINATIONS} addresses and URLs in total.",
    ),
    AfterValidator(_few_destinations),
]


class EmailNotificationView(ResponseModel):
    """Sends alerts by email."""

    type: Literal["email"] = Field(default="email", description="Always `email`.")
    addresses: list[str] = Field(description="Email addresses.", examples=[["guard@example.com"]])


class WebhookNotificationView(ResponseModel):
    """Sends alerts to a URL."""

    type: Literal["webhook"] = Field(default="webhook", description="Always `webhook`.")
    url: str = Field(
        description="URL; `http` or `https`.", examples=["https://receiver.example.com/plates"]
    )


class AppriseNotificationView(ResponseModel):
    """Sends alerts through an Apprise notification service."""

    type: Literal["apprise"] = Field(default="apprise", description="Always `apprise`.")
    url: str = Field(description="Apprise URL with its secrets masked.", examples=["ntfys://***"])
    id: str = Field(description="ID of the notification within the alert.", examples=["5f0c91d2"])


NotificationView = Annotated[
    EmailNotificationView | WebhookNotificationView | AppriseNotificationView,
    Field(discriminator="type"),
]


def notification_views(notifications: Iterable[Notification], *, shows_urls: bool) -> Any:
    """Return notifications as shown in responses.

    Unless ``shows_urls``, webhook URLs are reduced to scheme and host. Apprise URLs are masked.
    """
    return msgspec.to_builtins([_shown(one, shows_urls=shows_urls) for one in notifications])


def _shown(one: Notification, *, shows_urls: bool) -> Notification:
    if isinstance(one, EmailNotification) or (isinstance(one, WebhookNotification) and shows_urls):
        return one
    return one.masked()


def outbound_urls(bodies: Sequence[_AnyBody]) -> list[tuple[str, str]]:
    """Return the webhook URLs of notifications, as pairs of field path and URL."""
    return [
        (_path(number), body.url)
        for number, body in enumerate(bodies)
        if isinstance(body, WebhookNotificationBody)
    ]


def service_urls(bodies: Sequence[_AnyBody]) -> list[tuple[str, str]]:
    """Return the unmasked Apprise URLs of notifications, as pairs of field path and URL."""
    return [
        (_path(number), body.url)
        for number, body in enumerate(bodies)
        if isinstance(body, AppriseNotificationBody) and not is_masked(body.url)
    ]


def with_stored_services(
    sent: Sequence[Notification], stored: Sequence[Notification]
) -> tuple[Notification, ...]:
    """Return notifications with each masked Apprise URL replaced by the stored URL.

    The stored URL is found by the notification's ID, or by position if no ID was sent. Each Apprise
    notification in the result has an ID.

    Raises:
        ApiError: 400, no URL is stored for a masked URL.
    """
    restored: list[Notification] = []
    faults: list[FieldFault] = []
    used: set[str] = set()
    for number, one in enumerate(sent):
        if not isinstance(one, AppriseNotification):
            restored.append(one)
            continue
        known = _known(one, number, sent, stored)
        if is_masked(one.url):
            if known is None or known.masked().url != one.url:
                faults.append(FieldFault(_path(number), _UNKNOWN))
                continue
            one = known
        identifier = "" if known is None or known.id in used else known.id
        identifier = identifier or secrets.token_hex(_ID_BYTES)
        used.add(identifier)
        restored.append(msgspec.structs.replace(one, id=identifier))
    _reject(faults)
    return tuple(restored)


def with_stored_urls(
    sent: Sequence[Notification], stored: Sequence[Notification]
) -> tuple[Notification, ...]:
    """Return notifications with each reduced URL (scheme and host) replaced by the stored URL.

    This is for callers that see only reduced URLs. If several stored URLs have the same scheme and
    host, they are restored in order, and the caller must send all of them.

    Raises:
        ApiError: 400, a reduced URL cannot be matched with a stored URL.
    """
    hidden: defaultdict[str, deque[Notification]] = defaultdict(deque)
    for one in stored:
        if isinstance(one, WebhookNotification):
            hidden[one.masked().url].append(one)
    counts = Counter(one.url.lower() for one in sent if _is_reduced(one))
    _reject(
        FieldFault(_path(number), _UNCLEAR)
        for number, one in enumerate(sent)
        if _is_reduced(one) and counts[one.url.lower()] != len(hidden[one.masked().url])
    )
    return tuple(hidden[one.masked().url].popleft() if _is_reduced(one) else one for one in sent)


def reject_reduced_urls(sent: Sequence[Notification], stored: Iterable[Notification]) -> None:
    """Reject URLs of a new alert that are the reduced form of a URL in another alert.

    This is for callers that see only reduced URLs: the rest of such a URL would be lost. ``stored``
    are the notifications of all alerts.

    Raises:
        ApiError: 400, a URL is the reduced form of a stored URL.
    """
    shown = {one.masked().url for one in stored if isinstance(one, WebhookNotification)}
    _reject(
        FieldFault(_path(number), _UNCLEAR)
        for number, one in enumerate(sent)
        if _is_reduced(one) and one.masked().url in shown
    )


def _is_reduced(one: Notification) -> TypeGuard[WebhookNotification]:
    return isinstance(one, WebhookNotification) and one.masked().url == one.url.lower()


def _known(
    one: AppriseNotification,
    number: int,
    sent: Sequence[Notification],
    stored: Sequence[Notification],
) -> AppriseNotification | None:
    if one.id:
        services = (each for each in stored if isinstance(each, AppriseNotification))
        return next((each for each in services if each.id == one.id), None)
    # Positions in a shorter list do not match, because removing a notification moves others up.
    known = stored[number] if number < len(stored) <= len(sent) else None
    return known if isinstance(known, AppriseNotification) else None


def _path(number: int) -> str:
    return f"notifications.{number}.url"


def _reject(faults: Iterable[FieldFault]) -> None:
    if fields := list(faults):
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=fields)
