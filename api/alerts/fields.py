"""The fields of an alert, each with what it may be."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from api.email_addresses import check_email_address
from api.errors import VARIANT, ApiError, ErrorCode, FieldFault
from api.parameters import uuid_text
from api.schemas import (
    CleanText,
    FreeText,
    NameText,
    OutboundAddress,
    RequestModel,
    json_number,
    without_repeats,
)
from api.validation import validation_rules
from contracts.alerts import Weekday
from contracts.plates import MAX_PLATE_LENGTH, normalise_plate

_MAX_WRITTEN_PLATE = 64
_MAX_PATTERN = 2 * MAX_PLATE_LENGTH
_MAX_CAMERAS = 1000
_MAX_NOTIFICATIONS = 20
_MAX_ADDRESSES = 50
_MAX_DESTINATIONS = 100
"""Each firing is a delivery for each of them, which holds the whole alert."""
_MINUTES_OF_A_YEAR = 366 * 24 * 60
_KINDS = ("email", "webhook")


def _plate(text: str) -> str:
    """Return an entry of the list as it was written, once it is one that a plate can match."""
    normal = normalise_plate(text)
    letters = normal.replace("*", "").replace("?", "")
    if not normal or (letters and not letters.isalnum()):
        raise ValueError("must be letters and digits, * for any characters, ? for one")
    if len(normal.replace("*", "")) > MAX_PLATE_LENGTH or len(normal) > _MAX_PATTERN:
        raise ValueError(f"must have at most {MAX_PLATE_LENGTH} letters and digits")
    return text.strip()


def _no_more_than_allowed(plates: Any) -> Any:
    most = validation_rules().plates_per_alert
    if isinstance(plates, list) and len(plates) > most:
        fault = FieldFault("plates", f"may have at most {most} entries")
        raise ApiError(
            ErrorCode.LIMIT_REACHED, f"An alert has at most {most} plates.", fields=(fault,)
        )
    return plates


def _kind(notification: Any) -> str | None:
    kind = notification.get("type") if isinstance(notification, dict) else None
    return f"{VARIANT}{kind}" if kind in _KINDS else None


class EmailNotificationBody(RequestModel):
    """Write to e-mail addresses."""

    type: Annotated[str, Field(pattern="^email$")]
    addresses: Annotated[
        list[Annotated[str, AfterValidator(check_email_address)]],
        Field(min_length=1, max_length=_MAX_ADDRESSES, examples=[["guard@example.com"]]),
    ]


class WebhookNotificationBody(RequestModel):
    """Send to a URL."""

    type: Annotated[str, Field(pattern="^webhook$")]
    url: OutboundAddress


def _few_destinations(
    notifications: list[EmailNotificationBody | WebhookNotificationBody],
) -> list[EmailNotificationBody | WebhookNotificationBody]:
    counts = (
        len(one.addresses) if isinstance(one, EmailNotificationBody) else 1 for one in notifications
    )
    if sum(counts) > _MAX_DESTINATIONS:
        raise ValueError(f"may name at most {_MAX_DESTINATIONS} addresses and URLs together")
    return notifications


Name = Annotated[NameText, Field(min_length=1, max_length=200, examples=["Stolen cars"])]
Description = Annotated[FreeText, Field(max_length=2000)]
Plates = Annotated[
    list[
        Annotated[
            CleanText, Field(min_length=1, max_length=_MAX_WRITTEN_PLATE), AfterValidator(_plate)
        ]
    ],
    BeforeValidator(_no_more_than_allowed),
    Field(
        description="Plates; * stands for any characters, ? for one.",
        examples=[["AB12CDE", "XY*"]],
    ),
]
CameraIds = Annotated[
    list[Annotated[UUID, BeforeValidator(uuid_text)]],
    Field(max_length=_MAX_CAMERAS),
    AfterValidator(without_repeats),
]
TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["22:00"])]
Days = Annotated[
    list[Weekday],
    Field(max_length=100, description="Empty: all days."),
    AfterValidator(without_repeats),
]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(json_number)]
Minutes = Annotated[
    float,
    Field(ge=0, le=_MINUTES_OF_A_YEAR, allow_inf_nan=False),
    BeforeValidator(json_number),
]
Tolerance = Annotated[
    int,
    Field(ge=0, le=2, description="Look-alike and edit errors that are allowed."),
    BeforeValidator(json_number),
]
NotificationBody = Annotated[
    Annotated[EmailNotificationBody, Tag(f"{VARIANT}email")]
    | Annotated[WebhookNotificationBody, Tag(f"{VARIANT}webhook")],
    Discriminator(
        _kind,
        custom_error_type="notification_type",
        custom_error_message="must be an object with the type email or webhook",
    ),
]
Notifications = Annotated[
    list[NotificationBody],
    Field(
        max_length=_MAX_NOTIFICATIONS,
        description=f"At most {_MAX_DESTINATIONS} addresses and URLs together.",
    ),
    AfterValidator(_few_destinations),
]


class ScheduleBody(RequestModel):
    """A window of local time; an end before the start is overnight."""

    start_time: TimeOfDay = Field(default="00:00", description="00:00 in a new alert.")
    end_time: TimeOfDay = Field(default="23:59", description="23:59 in a new alert.")
    days_of_week: Days = Field(default_factory=list)
