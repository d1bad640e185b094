"""Records of alerts as evaluated by the stages, and of their candidates and triggers."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import msgspec

from common.plates.names import plate_name
from common.records.codec import Record
from common.records.recognitions import Recognition
from common.urls.outbound import scheme_and_host
from common.urls.streams import MASK


class PlateMatchMode(StrEnum):
    """Which plates an alert matches: any, those in its list, or those not in its list."""

    ANY = "any"
    SPECIFIC = "specific"
    ALLOWLIST = "allowlist"


class CameraScope(StrEnum):
    """Which cameras an alert covers."""

    ALL = "all"
    SPECIFIC = "specific"


class CooldownScope(StrEnum):
    """Scope of a cooldown: the whole alert, each plate, or each plate per camera."""

    ALERT = "alert"
    PLATE = "plate"
    PLATE_CAMERA = "plate_camera"


class Weekday(StrEnum):
    """Day of the week."""

    MON = "mon"
    TUE = "tue"
    WED = "wed"
    THU = "thu"
    FRI = "fri"
    SAT = "sat"
    SUN = "sun"


class AlertSchedule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A window of local time, `HH:mm`. An empty list of days means every day.

    If the end is before the start, the window runs overnight and belongs to the day on which it
    starts. If start and end are equal, the window is the whole day.
    """

    start_time: str = "00:00"
    end_time: str = "23:59"
    days_of_week: tuple[Weekday, ...] = ()


class EmailNotification(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="email"
):
    """Sends alerts by email."""

    addresses: tuple[str, ...]


class WebhookNotification(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="webhook"
):
    """Sends alerts to a URL, whose path may contain a secret."""

    url: str

    def masked(self) -> "WebhookNotification":
        """Return a copy whose URL only contains the scheme and host."""
        return msgspec.structs.replace(self, url=scheme_and_host(self.url))


class AppriseNotification(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="apprise"
):
    """Sends alerts through an Apprise notification service. The URL contains credentials.

    `id` identifies the notification within the alert when its URL is masked.
    """

    url: str
    id: str = ""

    def masked(self) -> "AppriseNotification":
        """Return a copy for clients, whose URL only contains the service."""
        scheme = self.url.partition("://")[0]
        return msgspec.structs.replace(self, url=f"{scheme}://{MASK}")


Notification = EmailNotification | WebhookNotification | AppriseNotification


class _OwnedAlert(Record, frozen=True, kw_only=True):
    alert_id: UUID
    owner_id: UUID


class AlertFields(_OwnedAlert, frozen=True, kw_only=True):
    """The fields of an alert that clients set and everyone with access can read.

    API responses and events have exactly these fields (:data:`ALERT_FIELDS`); fields that a client
    must not see belong to :class:`AlertConfig`. ``plates`` are entries as the client wrote them, so
    apply :func:`common.plates.normalise.normalise_plate` before comparing. ``*`` and ``?`` match
    any characters and any one character. ``timezone`` is an IANA name and always set. ``schedule``
    only applies if ``schedule_enabled``. ``early``: the alert can trigger before the pass ends.
    """

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
    early: bool = False


ALERT_FIELDS: Final[Mapping[str, Any]] = {
    field.name: field.type
    for field in msgspec.structs.fields(AlertFields)
    if field.name not in _OwnedAlert.__struct_fields__
}
"""The names and types of the public fields, in the order in which they are listed."""


class AlertConfig(AlertFields, frozen=True, kw_only=True):
    """Record on config-alerts (compacted, key = alert ID; an empty value deletes the alert).

    ``notifications_encrypted`` is decrypted by :class:`common.secrets.SecretBox` and contains a
    JSON array of :data:`Notification`. ``notification_secret_encrypted`` signs webhooks.
    ``created_ms`` is Unix ms, UTC. ``plate_names`` is keyed by entries of ``plates``, as written.

    On other topics, an alert is a reference (``is_reference``) to the record on config-alerts, see
    :func:`by_reference`.
    """

    notifications_encrypted: str
    notification_secret_encrypted: str
    revision: int
    created_ms: int
    plate_names: dict[str, str] = msgspec.field(default_factory=dict)
    is_reference: bool = False

    def plate_name(self, plate: str) -> str | None:
        """Return the name of a plate in the list, or None."""
        return plate_name(plate, self.plates, self.plate_names, self.match_tolerance)


_REFERRED: Final[Mapping[str, Any]] = {
    "description": "",
    "plates": (),
    "camera_ids": (),
    "notifications_encrypted": "",
    "notification_secret_encrypted": "",
    "plate_names": {},
}
"""Empty values of the long fields, which references omit because an alert can have 0.5 MB."""


def by_reference(alert: AlertConfig) -> AlertConfig:
    """Return an alert without its long fields, which readers look up by ID and revision."""
    if alert.is_reference:
        return alert
    return msgspec.structs.replace(alert, is_reference=True, **_REFERRED)


def with_content(reference: AlertConfig, content: AlertConfig) -> AlertConfig:
    """Return the full alert of a reference. ``content`` has the omitted fields."""
    fields = {name: getattr(content, name) for name in _REFERRED}
    name = reference.name or content.name
    return msgspec.structs.replace(reference, is_reference=False, name=name, **fields)


class TriggerPhase(StrEnum):
    """Phase of a trigger."""

    FINAL = "final"
    """The alert triggered after the pass ended."""
    EARLY = "early"
    """Provisional: the alert triggered while the vehicle was still in view."""
    CONFIRMED = "confirmed"
    """The alert triggered early, and the final plate is the same plate."""
    CORRECTED = "corrected"
    """The alert triggered early, but the final plate is another plate, which also matches."""
    WITHDRAWN = "withdrawn"
    """The alert triggered early, but does not match the final plate, or no plate was accepted."""


class EarlyTrigger(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An early trigger: the plate, its capture time and the decision time (Unix ms, UTC)."""

    plate: str
    captured_ms: int
    decided_ms: int


class ProvisionalKind(StrEnum):
    """The kind of a report on a pass before or in addition to the pass's recognition."""

    AGREED = "agreed"
    """Enough readings of the pass agree on a plate while the vehicle is still in view."""
    RESOLVED = "resolved"
    """A pass that was reported as agreed ended without a recognition with its ID."""


class ProvisionalRecognition(Record, frozen=True, kw_only=True):
    """Record on sightings (key = camera ID): a pass that has not ended, for early triggers.

    ``recognition`` would be the result if the pass ended now, without images, but with its future
    ID and the ``provisional_plates`` reported before. For a resolved pass, there is no recognition
    with that ID: ``final_recognition`` is the vehicle's published recognition under another ID, or
    None if no plate was accepted.
    """

    kind: ProvisionalKind
    recognition: Recognition
    final_recognition: Recognition | None = None


class CandidateKind(StrEnum):
    """Why an alert is evaluated."""

    FINAL = "final"
    """The alert matches a recognition."""
    EARLY = "early"
    """The alert matches a pass that has not ended."""
    RESOLVED = "resolved"
    """A pass that triggered the alert early ended without a recognition that the alert matches."""


class AlertCandidate(Record, frozen=True, kw_only=True):
    """Record on alert-candidates (key = alert ID): an alert that matches, before its cooldown.

    ``alert`` is the alert at the time of evaluation, by reference. ``published_ms`` is when the
    recognition was published (Unix ms, UTC). ``may_be_early``: the alert can trigger early. For a
    resolved pass, ``final_recognition`` is the vehicle's recognition under another ID, if any, and
    ``is_match`` says whether the alert matches the final plate after all, because the alert was
    changed or that recognition belongs to another pass.
    """

    alert: AlertConfig
    recognition: Recognition
    published_ms: int
    kind: CandidateKind = CandidateKind.FINAL
    may_be_early: bool = False
    final_recognition: Recognition | None = None
    is_match: bool = False

    @property
    def passed(self) -> Recognition:
        """The known recognition of the pass. ``final_recognition`` takes precedence."""
        return self.recognition if self.final_recognition is None else self.final_recognition


class AlertTrigger(Record, frozen=True, kw_only=True):
    """Record on the alerts topic (key = alert ID): a recognition triggered an alert.

    ``id`` is derived from the alert and the recognition, so a replay gives the same ID. ``alert``
    is the alert at the time of evaluation, by reference. ``is_late``: when the recognition arrived,
    the vehicle had certainly left. ``decided_ms`` is Unix ms, UTC.

    If an alert triggers early, there are two records with the same ``id``: the first has phase
    early and a provisional ``recognition`` without images. The second record reports how the
    trigger was resolved, and its ``early`` describes the first record.
    """

    id: UUID
    owner_id: UUID
    alert: AlertConfig
    recognition: Recognition
    decided_ms: int
    is_late: bool = False
    phase: TriggerPhase = TriggerPhase.FINAL
    early: EarlyTrigger | None = None

    @property
    def triggered_ms(self) -> int:
        """Capture time (Unix ms, UTC) of the plate that triggered first; ``id`` begins with it."""
        return self.recognition.captured_ms if self.early is None else self.early.captured_ms
