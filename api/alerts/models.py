"""Alerts as the rest of the service sees them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from contracts.alerts import AlertSchedule, CameraScope, CooldownScope, Notification, PlateMatchMode


@dataclass(frozen=True)
class AlertValues:
    """What a client decides of an alert. ``timezone`` None: that of the owner."""

    name: str
    description: str
    enabled: bool
    plate_match_mode: PlateMatchMode
    plates: tuple[str, ...]
    camera_scope: CameraScope
    camera_ids: tuple[UUID, ...]
    schedule_enabled: bool
    schedule: AlertSchedule
    timezone: str | None
    min_confidence: float
    cooldown_minutes: float
    cooldown_scope: CooldownScope
    match_tolerance: int
    notifications: tuple[Notification, ...]


@dataclass(frozen=True)
class AlertRow:
    """An alert as it is stored. ``owner_timezone`` counts where the alert has none."""

    id: UUID
    owner_id: UUID
    owner_timezone: str
    revision: int
    values: AlertValues
    trigger_count: int
    last_triggered_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, repr=False)
class AlertBook:
    """All alerts of an owner, and the secret that signs their notifications to URLs.

    ``counted_at`` is when it was counted how often they fired; None: it is not known just now.
    """

    alerts: tuple[AlertRow, ...]
    notification_secret: str | None
    counted_at: datetime | None = None
