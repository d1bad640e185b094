"""An alert's rule, as the stages evaluate it."""

from enum import StrEnum
from uuid import UUID

import msgspec

from contracts.records import Record


class PlateMatchMode(StrEnum):
    """Which plates an alert fires for: any, those in its list, those that are not."""

    ANY = "any"
    SPECIFIC = "specific"
    ALLOWLIST = "allowlist"


class CameraScope(StrEnum):
    """Which cameras an alert looks at."""

    ALL = "all"
    SPECIFIC = "specific"


class CooldownScope(StrEnum):
    """What a cooldown holds back: the alert, its plate, or its plate at one camera."""

    ALERT = "alert"
    PLATE = "plate"
    PLATE_CAMERA = "plate_camera"


class Weekday(StrEnum):
    """Days as the interface names them."""

    MON = "mon"
    TUE = "tue"
    WED = "wed"
    THU = "thu"
    FRI = "fri"
    SAT = "sat"
    SUN = "sun"


class AlertSchedule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A window of local time, ``HH:mm``; no days means every day.

    An end before the start is an overnight window, which belongs to the day on which it starts;
    an end equal to the start is the whole day.
    """

    start_time: str = "00:00"
    end_time: str = "23:59"
    days_of_week: tuple[Weekday, ...] = ()


class EmailNotification(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="email"
):
    """Tell e-mail addresses of an alert."""

    addresses: tuple[str, ...]


class WebhookNotification(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="webhook"
):
    """Tell a URL of an alert."""

    url: str


Notification = EmailNotification | WebhookNotification


class AlertConfig(Record, frozen=True, kw_only=True):
    """On config-alerts (compacted, key = alert id; an empty value deletes the alert).

    ``plates`` are as the client wrote them: compare them after
    :func:`contracts.plates.normalise_plate`; ``*`` and ``?`` stand for any characters and for one.
    ``timezone`` is an IANA name and is always set; ``schedule`` counts only where
    ``schedule_enabled``. ``notifications_encrypted`` opens with
    :class:`contracts.secrets.SecretBox` and holds a JSON array of :data:`Notification`;
    ``notification_secret_encrypted`` signs those that are webhooks. ``created_ms`` is Unix ms, UTC.
    """

    alert_id: UUID
    owner_id: UUID
    name: str
    description: str
    enabled: bool
    plate_match_mode: PlateMatchMode
    plates: tuple[str, ...]
    camera_scope: CameraScope
    camera_ids: tuple[UUID, ...]
    schedule_enabled: bool
    schedule: AlertSchedule
    timezone: str
    min_confidence: float
    cooldown_minutes: float
    cooldown_scope: CooldownScope
    match_tolerance: int
    notifications_encrypted: str
    notification_secret_encrypted: str
    revision: int
    created_ms: int
