"""JSON of the alerts resource."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from api.alerts.fields import (
    CameraIds,
    Description,
    Fraction,
    Minutes,
    Name,
    Notifications,
    Plates,
    ScheduleBody,
    Tolerance,
)
from api.alerts.models import AlertBook, AlertRow
from api.schemas import JsonBoolean, RequestModel, ResponseModel, ShortNumber, Timestamp, TimeZone
from contracts.alerts import (
    CameraScope,
    CooldownScope,
    EmailNotification,
    Notification,
    PlateMatchMode,
    Weekday,
)


class AlertUpdate(RequestModel):
    """The fields of an alert to change; those left out stay, also within ``schedule``."""

    shown_only = frozenset({"id", "triggerCount", "lastTriggeredAt", "createdAt"})

    name: Name = ""
    description: Description = ""
    enabled: JsonBoolean = True
    plate_match_mode: PlateMatchMode = PlateMatchMode.SPECIFIC
    plates: Plates = Field(default_factory=list)
    camera_scope: CameraScope = CameraScope.ALL
    camera_ids: CameraIds = Field(default_factory=list)
    schedule_enabled: JsonBoolean = False
    schedule: ScheduleBody = Field(default_factory=ScheduleBody)
    timezone: TimeZone | None = None
    min_confidence: Fraction = 0.5
    cooldown_minutes: Minutes = 5
    cooldown_scope: CooldownScope = CooldownScope.ALERT
    match_tolerance: Tolerance = 0
    notifications: Notifications = Field(default_factory=list)


class AlertCreate(AlertUpdate):
    """An alert to make."""

    name: Name


class ScheduleView(ResponseModel):
    """A window of local time; an end before the start is overnight."""

    start_time: str
    end_time: str
    days_of_week: list[Weekday]


class EmailNotificationView(ResponseModel):
    """Write to e-mail addresses."""

    type: Literal["email"] = "email"
    addresses: list[str]


class WebhookNotificationView(ResponseModel):
    """Send to a URL."""

    type: Literal["webhook"] = "webhook"
    url: str


NotificationView = Annotated[
    EmailNotificationView | WebhookNotificationView, Field(discriminator="type")
]


class AlertBody(ResponseModel):
    """An alert as reads show it."""

    id: UUID
    name: str
    description: str
    enabled: bool
    plate_match_mode: PlateMatchMode
    plates: list[str]
    camera_scope: CameraScope
    camera_ids: list[UUID]
    schedule_enabled: bool
    schedule: ScheduleView
    timezone: str = Field(description="In which the schedule is read; the owner's by default.")
    min_confidence: float
    cooldown_minutes: ShortNumber
    cooldown_scope: CooldownScope
    match_tolerance: int
    notifications: list[NotificationView]
    trigger_count: int
    last_triggered_at: Timestamp | None
    created_at: Timestamp


class AlertAnswer(ResponseModel):
    """One alert."""

    alert: AlertBody


class AlertList(ResponseModel):
    """The caller's alerts, newest first."""

    alerts: list[AlertBody]
    counted_at: Timestamp | None = Field(
        description="When it was counted how often alerts fired; null: it is not known just now, "
        "and `triggerCount` is 0."
    )
    notification_secret: str | None = Field(
        description="Signs what alerts send to the URLs among their notifications; made with the "
        "first alert."
    )


def alert_body(row: AlertRow) -> AlertBody:
    """Return the JSON form of an alert."""
    values = row.values
    same: dict[str, Any] = {name: getattr(values, name) for name in _NAMED_ALIKE}
    return AlertBody(
        id=row.id,
        plates=list(values.plates),
        camera_ids=list(values.camera_ids),
        schedule=ScheduleView(
            start_time=values.schedule.start_time,
            end_time=values.schedule.end_time,
            days_of_week=list(values.schedule.days_of_week),
        ),
        timezone=values.timezone or row.owner_timezone,
        notifications=[_notification_view(notification) for notification in values.notifications],
        trigger_count=row.trigger_count,
        last_triggered_at=row.last_triggered_at,
        created_at=row.created_at,
        **same,
    )


def alert_list(book: AlertBook) -> AlertList:
    """Return the JSON form of an owner's alerts."""
    return AlertList(
        alerts=[alert_body(row) for row in book.alerts],
        counted_at=book.counted_at,
        notification_secret=book.notification_secret,
    )


def _notification_view(
    notification: Notification,
) -> EmailNotificationView | WebhookNotificationView:
    if isinstance(notification, EmailNotification):
        return EmailNotificationView(addresses=list(notification.addresses))
    return WebhookNotificationView(url=notification.url)


_NAMED_ALIKE = (
    "name",
    "description",
    "enabled",
    "plate_match_mode",
    "camera_scope",
    "schedule_enabled",
    "min_confidence",
    "cooldown_minutes",
    "cooldown_scope",
    "match_tolerance",
)
