"""Request and response bodies for alerts."""

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
        description="Display names for entries of `plates`, keyed by entry. Included in "
        "notifications.",
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
    Field(max_length=100, description="Empty: every day."),
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
    Field(ge=0, le=2, description="Number of look-alike or edit errors tolerated when matching."),
    BeforeValidator(json_number),
]


def _plate(text: str) -> str:
    """Return a list entry without surrounding spaces. Reject an entry that no plate can match."""
    list_entry(text)
    return text.strip()


def _no_more_than_allowed(plates: Any) -> Any:
    limit = PLATES_PER_ALERT
    if isinstance(plates, list) and len(plates) > limit:
        fault = FieldFault("plates", f"must have at most {limit} entries")
        raise ApiError(
            ErrorCode.LIMIT_REACHED, f"An alert can have at most {limit} plates.", fields=(fault,)
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
        description="Plates to match. `*` matches any number of characters, `?` exactly one. "
        "Case, spaces, dots and dashes are ignored. Letters are converted to A to Z "
        "(Ä to A). Any other character is rejected; the error contains its position.",
        examples=[["AB12CDE", "XY*"]],
    ),
]


class ScheduleBody(RequestModel):
    """A window of local time. If the end is before the start, the window runs overnight."""

    start_time: TimeOfDay = Field(default="00:00", description="Defaults to 00:00 in a new alert.")
    end_time: TimeOfDay = Field(default="23:59", description="Defaults to 23:59 in a new alert.")
    days_of_week: Days = Field(default_factory=list)


class AlertUpdate(RequestModel):
    """Alert fields to update. Omitted fields, including those of `schedule`, keep their values."""

    shown_only = frozenset({"id", "triggerCount", "lastTriggeredAt", "createdAt"})

    name: Name = Field(default="", description="Name of the alert.")
    description: Description = Field(
        default="", description="Free-text description.", examples=["From the police list"]
    )
    enabled: JsonBoolean = Field(default=True, description="Whether the alert is enabled.")
    plate_match_mode: PlateMatchMode = Field(
        default=PlateMatchMode.SPECIFIC,
        description="`any` plate, only plates in `plates` (`specific`), or only plates not "
        "in `plates` (`allowlist`).",
    )
    plates: Plates = Field(default_factory=list)
    plate_names: PlateNames = Field(default_factory=dict)
    camera_scope: CameraScope = Field(
        default=CameraScope.ALL, description="`all` cameras, or the `specific` ones in `cameraIds`."
    )
    camera_ids: CameraIds = Field(
        default_factory=list,
        description="IDs of the cameras. Used only if `cameraScope` is `specific`.",
    )
    schedule_enabled: JsonBoolean = Field(default=False, description="Whether `schedule` applies.")
    schedule: ScheduleBody = Field(
        default_factory=ScheduleBody, description="Time window in which the alert can trigger."
    )
    timezone: TimeZone | None = Field(
        default=None, description="IANA time zone of the schedule; null: the account's time zone."
    )
    min_confidence: Fraction = Field(
        default=0.5,
        description="Minimum confidence; less confident recognitions are ignored.",
        examples=[0.8],
    )
    cooldown_minutes: Minutes = Field(
        default=5,
        description="Minutes after a trigger during which the alert does not trigger again.",
        examples=[5],
    )
    cooldown_scope: CooldownScope = Field(
        default=CooldownScope.ALERT,
        description="Scope of the cooldown: the whole alert, each plate, or each plate per camera.",
    )
    match_tolerance: Tolerance = Field(default=0, examples=[0])
    early: JsonBoolean = Field(
        default=False,
        description="Trigger as soon as two readings agree, while the vehicle is still in view.",
    )
    notifications: Notifications = Field(default_factory=list)


class AlertCreate(AlertUpdate):
    """An alert to create."""

    name: Name = Field(description="Name of the alert.")


class ScheduleView(ResponseModel):
    """A window of local time. If the end is before the start, the window runs overnight."""

    start_time: str = Field(description="First minute of the window, HH:MM.", examples=["22:00"])
    end_time: str = Field(
        description="Last minute of the window, HH:MM. If earlier than `startTime`, the "
        "window runs overnight.",
        examples=["06:00"],
    )
    days_of_week: list[Weekday] = Field(description="Days on which the window starts; empty: all.")


# Response types of public fields whose type differs from the type in the record.
_SHOWN_AS: Mapping[str, Any] = {
    "schedule": ScheduleView,
    "min_confidence": Annotated[float, Field(ge=0, le=1)],
    "cooldown_minutes": Annotated[ShortNumber, Field(json_schema_extra={"minimum": 0})],
    "match_tolerance": Annotated[int, Field(ge=0, le=2)],
}


def _shown(name: str, kind: Any) -> Any:
    """Return the type of a field in responses, described as in :class:`AlertUpdate`."""
    sent = AlertUpdate.model_fields[name]
    described = Field(description=sent.description, examples=sent.examples)
    return Annotated[_SHOWN_AS.get(name, kind), described]


_AlertFields = create_model(
    "_AlertFields",
    __base__=ResponseModel,
    id=Annotated[UUID, Field(description="ID of the alert.")],
    **{name: _shown(name, kind) for name, kind in ALERT_FIELDS.items()},
)


class AlertBody(_AlertFields):  # type: ignore[misc, valid-type] # made from the record's fields
    """An alert."""

    timezone: str = Field(
        description="IANA time zone of the schedule. Defaults to the account's time zone.",
        examples=["Europe/Lisbon"],
    )
    early: bool = Field(
        description="Trigger as soon as two readings agree, while the vehicle is still in view."
    )
    plate_names: dict[str, str] = Field(
        description="Display names for entries of `plates`, keyed by entry.",
        examples=[{"AB12CDE": "Courier"}],
    )
    notifications: list[NotificationView] = Field(
        description="Notifications sent by the alert, independent of webhooks."
    )
    trigger_count: int = Field(ge=0, description="Number of triggers.", examples=[3])
    last_triggered_at: Timestamp | None = Field(
        description="Capture time of the last trigger; null: never."
    )
    created_at: Timestamp = Field(description="Creation time (UTC).")


class AlertAnswer(ResponseModel):
    """One alert."""

    alert: AlertBody = Field(description="The alert.")


class AlertList(ResponseModel):
    """The account's alerts, newest first."""

    alerts: list[AlertBody] = Field(description="The alerts.")
    next_key: str | None = next_key_field()
    counted_at: Timestamp | None = Field(
        description="Time of the trigger counts. Null: counts are currently unavailable and "
        "every `triggerCount` is 0."
    )
    sends_email: bool = Field(
        description="False: no SMTP server is configured (`PLATESTREAM_SMTP_HOST`), so email "
        "notifications are not sent."
    )
    notification_secret: str | None = Field(
        description="Secret that signs alert notifications sent to URLs. Generated with the "
        "first alert. Null without the scope `webhooks:read`.",
        examples=["whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE="],
    )
    previous_notification_secret_until: Timestamp | None = Field(
        exclude_if=is_absent, description="Until this time (UTC), the previous secret also signs."
    )


class NotificationSecretAnswer(ResponseModel):
    """The secret that signs alert notifications sent to URLs."""

    notification_secret: str = Field(
        description="The new secret.",
        examples=["whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE="],
    )
    previous_notification_secret_until: Timestamp | None = Field(
        description="Until this time (UTC), the previous secret also signs."
    )


def alert_body(row: AlertRow, *, shows_urls: bool) -> AlertBody:
    """Return the response body of an alert, with complete or reduced notification URLs."""
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
    """Return the response body of an account's alerts, or of a page of alerts."""
    return AlertList(
        next_key=next_key,
        alerts=[alert_body(row, shows_urls=shows_secrets) for row in listing.alerts],
        counted_at=listing.counted_at,
        sends_email=listing.sends_email,
        notification_secret=listing.notification_secret if shows_secrets else None,
        previous_notification_secret_until=future(listing.previous_secret_until),
    )
