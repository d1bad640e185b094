"""JSON of the alerts resource."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, create_model

from api.alerts.notifications import Notifications, NotificationView, notification_views
from api.alerts.repository import AlertListing, AlertRow
from api.errors import ApiError, ErrorCode, FieldFault
from api.paging.lists import next_key_field
from api.schemas import (
    CleanText,
    FreeText,
    JsonBoolean,
    NameText,
    RequestModel,
    ResponseModel,
    ShortNumber,
    Timestamp,
    TimeZone,
    is_absent,
    json_number,
    without_repeats,
)
from api.validation.fields import PLATES_PER_ALERT, field_check, future, uuid_text
from common.plates.normalise import list_entry
from common.records.alerts import (
    ALERT_FIELDS,
    CameraScope,
    CooldownScope,
    PlateMatchMode,
    Weekday,
)

MAX_WRITTEN_PLATE = 64
MAX_PLATE_NAME = 100
_MAX_CAMERAS = 1000
_MINUTES_OF_A_YEAR = 366 * 24 * 60

Name = Annotated[NameText, Field(min_length=1, max_length=200, examples=["Stolen cars"])]
Description = Annotated[FreeText, Field(max_length=2000)]
PlateNames = Annotated[
    dict[
        CleanText,
        Annotated[NameText, Field(min_length=1, max_length=MAX_PLATE_NAME)],
    ],
    Field(
        description="Names of entries of `plates`, by entry; told with the alert.",
        examples=[{"AB12CDE": "Courier"}],
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


def _plate(text: str) -> str:
    """Return an entry of the list as it was written, if a plate can match it."""
    list_entry(text)
    return text.strip()


def _no_more_than_allowed(plates: Any) -> Any:
    limit = PLATES_PER_ALERT
    if isinstance(plates, list) and len(plates) > limit:
        fault = FieldFault("plates", f"may have at most {limit} entries")
        raise ApiError(
            ErrorCode.LIMIT_REACHED, f"An alert has at most {limit} plates.", fields=(fault,)
        )
    return plates


Plates = Annotated[
    list[
        Annotated[
            CleanText,
            Field(min_length=1, max_length=MAX_WRITTEN_PLATE),
            AfterValidator(field_check(_plate)),
        ]
    ],
    BeforeValidator(_no_more_than_allowed),
    Field(
        description="Plates; * stands for any characters, ? for one. Case, spaces, dots and dashes"
        " do not matter, and letters fold to what cameras read (Ä is A). A character that cannot be"
        " folded is refused with its position.",
        examples=[["AB12CDE", "XY*"]],
    ),
]


class ScheduleBody(RequestModel):
    """A window of local time; an end before the start is overnight."""

    start_time: TimeOfDay = Field(default="00:00", description="00:00 in a new alert.")
    end_time: TimeOfDay = Field(default="23:59", description="23:59 in a new alert.")
    days_of_week: Days = Field(default_factory=list)


class AlertUpdate(RequestModel):
    """The fields of an alert to change; those left out stay, also within ``schedule``."""

    shown_only = frozenset({"id", "triggerCount", "lastTriggeredAt", "createdAt"})

    name: Name = Field(default="", description="Its name.")
    description: Description = Field(
        default="", description="A text for people.", examples=["From the police list"]
    )
    enabled: JsonBoolean = Field(default=True, description="False: switched off.")
    plate_match_mode: PlateMatchMode = Field(
        default=PlateMatchMode.SPECIFIC,
        description="Any plate, those of `plates`, or all but those.",
    )
    plates: Plates = Field(default_factory=list)
    plate_names: PlateNames = Field(default_factory=dict)
    camera_scope: CameraScope = Field(
        default=CameraScope.ALL, description="All cameras, or those of `cameraIds`."
    )
    camera_ids: CameraIds = Field(
        default_factory=list, description="The cameras, where `cameraScope` is `specific`."
    )
    schedule_enabled: JsonBoolean = Field(
        default=False, description="False: it may fire at any time."
    )
    schedule: ScheduleBody = Field(
        default_factory=ScheduleBody, description="The window of time in which it may fire."
    )
    timezone: TimeZone | None = Field(
        default=None, description="IANA name; in which the schedule is read. Null: the account's."
    )
    min_confidence: Fraction = Field(
        default=0.5, description="Less sure recognitions do not count.", examples=[0.8]
    )
    cooldown_minutes: Minutes = Field(
        default=5, description="Minutes after firing in which it does not fire again.", examples=[5]
    )
    cooldown_scope: CooldownScope = Field(
        default=CooldownScope.ALERT,
        description="What the cooldown holds back: the whole alert, its plate, or that plate at "
        "that camera.",
    )
    match_tolerance: Tolerance = Field(default=0, examples=[0])
    early: JsonBoolean = Field(
        default=False,
        description="Trigger as soon as two readings agree, before the vehicle is gone.",
    )
    notifications: Notifications = Field(default_factory=list)


class AlertCreate(AlertUpdate):
    """An alert to make."""

    name: Name = Field(description="Its name.")


class ScheduleView(ResponseModel):
    """A window of local time; an end before the start is overnight."""

    start_time: str = Field(
        description="The first minute of the window, HH:MM.", examples=["22:00"]
    )
    end_time: str = Field(
        description="The last minute of the window, HH:MM; before the start: overnight.",
        examples=["06:00"],
    )
    days_of_week: list[Weekday] = Field(
        description="The days on which the window begins; empty: all."
    )


# The record's public fields, under their own types but for these.
_SHOWN_AS: Mapping[str, Any] = {
    "schedule": ScheduleView,
    "min_confidence": Annotated[float, Field(ge=0, le=1)],
    "cooldown_minutes": Annotated[ShortNumber, Field(json_schema_extra={"minimum": 0})],
    "match_tolerance": Annotated[int, Field(ge=0, le=2)],
}


def _shown(name: str, kind: Any) -> Any:
    """Return the type of a field in answers, described as in :class:`AlertUpdate`."""
    sent = AlertUpdate.model_fields[name]
    described = Field(description=sent.description, examples=sent.examples)
    return Annotated[_SHOWN_AS.get(name, kind), described]


_AlertFields = create_model(
    "_AlertFields",
    __base__=ResponseModel,
    id=Annotated[UUID, Field(description="Id of the alert.")],
    **{name: _shown(name, kind) for name, kind in ALERT_FIELDS.items()},
)


class AlertBody(_AlertFields):  # type: ignore[misc, valid-type] # made from the record's fields
    """An alert as reads show it."""

    timezone: str = Field(
        description="In which the schedule is read; the owner's by default.",
        examples=["Europe/Lisbon"],
    )
    early: bool = Field(
        description="Triggers as soon as two readings agree, before the vehicle has left."
    )
    plate_names: dict[str, str] = Field(
        description="Names of entries of `plates`, by entry.", examples=[{"AB12CDE": "Courier"}]
    )
    notifications: list[NotificationView] = Field(description="Who is told besides webhooks.")
    trigger_count: int = Field(ge=0, description="How often it fired.", examples=[3])
    last_triggered_at: Timestamp | None = Field(
        description="When it last fired, capture time; UTC. Null: never."
    )
    created_at: Timestamp = Field(description="When it was made; UTC.")


class AlertAnswer(ResponseModel):
    """One alert."""

    alert: AlertBody = Field(description="The alert.")


class AlertList(ResponseModel):
    """The caller's alerts, newest first."""

    alerts: list[AlertBody] = Field(description="The alerts.")
    next_key: str | None = next_key_field()
    counted_at: Timestamp | None = Field(
        description="When it was counted how often alerts fired; null: it is not known just now, "
        "and `triggerCount` is 0."
    )
    sends_email: bool = Field(
        description="False: no SMTP server is in the API's settings (`PLATESTREAM_SMTP_HOST`), and "
        "e-mail addresses among the notifications get nothing."
    )
    notification_secret: str | None = Field(
        description="Signs what alerts send to the URLs among their notifications; made with the "
        "first alert. Null where the key may not read webhooks.",
        examples=["whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE="],
    )
    previous_notification_secret_until: Timestamp | None = Field(
        exclude_if=is_absent,
        description="Until then the secret before the last rotation signs as well.",
    )


class NotificationSecretAnswer(ResponseModel):
    """The secret that signs what alerts send to URLs."""

    notification_secret: str = Field(
        description="The secret.", examples=["whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE="]
    )
    previous_notification_secret_until: Timestamp | None = Field(
        description="Until then the secret before this one signs as well."
    )


def alert_body(row: AlertRow, *, shows_urls: bool) -> AlertBody:
    """Return the JSON form of an alert, with the URLs of its notifications whole or reduced."""
    shown: AlertBody = AlertBody.model_validate(
        {
            "id": row.id,
            **{name: getattr(row.config, name) for name in ALERT_FIELDS},
            "plate_names": row.config.plate_names,
            "notifications": notification_views(row.notifications, shows_urls=shows_urls),
            "trigger_count": row.trigger_count,
            "last_triggered_at": row.last_triggered_at,
            "created_at": row.created_at,
        },
        from_attributes=True,
    )
    return shown


def alert_list(listing: AlertListing, next_key: str | None, *, shows_secrets: bool) -> AlertList:
    """Return the JSON form of an owner's alerts, or of a page of them."""
    return AlertList(
        next_key=next_key,
        alerts=[alert_body(row, shows_urls=shows_secrets) for row in listing.alerts],
        counted_at=listing.counted_at,
        sends_email=listing.sends_email,
        notification_secret=listing.notification_secret if shows_secrets else None,
        previous_notification_secret_until=future(listing.previous_secret_until),
    )
