"""An alert's rule, as the stages evaluate it."""

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
    """The plates that an alert matches: any, those in its list, those that are not."""

    ANY = "any"
    SPECIFIC = "specific"
    ALLOWLIST = "allowlist"


class CameraScope(StrEnum):
    """The cameras that an alert looks at."""

    ALL = "all"
    SPECIFIC = "specific"


class CooldownScope(StrEnum):
    """The scope of a cooldown: the alert, its plate, or its plate at one camera."""

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
    """Sends an alert to e-mail addresses."""

    addresses: tuple[str, ...]


class WebhookNotification(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="webhook"
):
    """Sends an alert to a URL, whose path may hold a secret."""

    url: str

    def masked(self) -> "WebhookNotification":
        """Return it with scheme and host of the URL alone."""
        return msgspec.structs.replace(self, url=scheme_and_host(self.url))


class AppriseNotification(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="apprise"
):
    """Tells people by the service of an Apprise address, which holds its secrets.

    ``id`` tells it from the alert's others where the address is masked.
    """

    url: str
    id: str = ""

    def masked(self) -> "AppriseNotification":
        """Return it as it is shown: of the address, only the service."""
        scheme = self.url.partition("://")[0]
        return msgspec.structs.replace(self, url=f"{scheme}://{MASK}")


Notification = EmailNotification | WebhookNotification | AppriseNotification


class _OwnedAlert(Record, frozen=True, kw_only=True):
    alert_id: UUID
    owner_id: UUID


class AlertFields(_OwnedAlert, frozen=True, kw_only=True):
    """The fields of an alert that its owner decides and everyone with access is shown.

    The API's answers and the events have these very fields (:data:`ALERT_FIELDS`): what a client
    may not see belongs to :class:`AlertConfig`. ``plates`` are as the client wrote them: compare
    them after :func:`common.plates.normalise.normalise_plate`; ``*`` and ``?`` stand for any
    characters and for one. ``timezone`` is an IANA name and is always set; ``schedule`` counts
    only where ``schedule_enabled``. ``early``: may trigger before the pass is over.
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
"""The names and types of the public fields, in the order in which they are shown."""


class AlertConfig(AlertFields, frozen=True, kw_only=True):
    """On config-alerts (compacted, key = alert id; an empty value deletes the alert).

    ``notifications_encrypted`` opens with :class:`common.secrets.SecretBox` and holds a JSON array
    of :data:`Notification`; ``notification_secret_encrypted`` signs those that are webhooks.
    ``created_ms`` is Unix ms, UTC. ``plate_names`` are names of entries of ``plates``, as these are
    written.

    On other topics an alert is a reference (``is_reference``) to what is on config-alerts, see
    :func:`by_reference`.
    """

    notifications_encrypted: str
    notification_secret_encrypted: str
    revision: int
    created_ms: int
    plate_names: dict[str, str] = msgspec.field(default_factory=dict)
    is_reference: bool = False

    def plate_name(self, plate: str) -> str | None:
        """Return the name that the list has for a plate, if any."""
        return plate_name(plate, self.plates, self.plate_names, self.match_tolerance)


_REFERRED: Final = (
    "description",
    "plates",
    "camera_ids",
    "notifications_encrypted",
    "notification_secret_encrypted",
    "plate_names",
)
"""The fields that a reference leaves out: with them an alert may have half a megabyte."""


def by_reference(alert: AlertConfig) -> AlertConfig:
    """Return an alert without what may be long: who needs that looks it up by id and revision."""
    if alert.is_reference:
        return alert
    return msgspec.structs.replace(
        alert,
        description="",
        plates=(),
        camera_ids=(),
        notifications_encrypted="",
        notification_secret_encrypted="",
        plate_names={},
        is_reference=True,
    )


def with_content(reference: AlertConfig, content: AlertConfig) -> AlertConfig:
    """Return a reference as the alert that it stands for; ``content`` has what was left out."""
    fields = {name: getattr(content, name) for name in _REFERRED}
    name = reference.name or content.name
    return msgspec.structs.replace(reference, is_reference=False, name=name, **fields)


class TriggerPhase(StrEnum):
    """The phase of a trigger: provisional, or resolved in one way or another."""

    FINAL = "final"
    """It triggered when the pass was over, as without early alerts."""
    EARLY = "early"
    """Provisional: it triggered while the vehicle was still there."""
    CONFIRMED = "confirmed"
    """It triggered early, and the vehicle had that plate."""
    CORRECTED = "corrected"
    """It triggered early; the vehicle had another plate, which the alert matches just as well."""
    WITHDRAWN = "withdrawn"
    """It triggered early; the vehicle had a plate that it does not match, or none was accepted."""


class EarlyTrigger(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An early trigger: the plate, its capture and the decision (Unix ms, UTC)."""

    plate: str
    captured_ms: int
    decided_ms: int


class ProvisionalKind(StrEnum):
    """The kind of a report on a pass beside its recognition."""

    AGREED = "agreed"
    """Enough of its readings agree on a plate; the vehicle is still there."""
    RESOLVED = "resolved"
    """A pass that was reported as agreed is over and is no recognition of its own."""


class ProvisionalRecognition(Record, frozen=True, kw_only=True):
    """On sightings (key = camera id): a pass before it is over, for alerts that trigger early.

    ``recognition`` is what it would be were it over now: without images, under the id that it will
    have; its ``provisional_plates`` were reported before. For a resolved one there is no
    recognition of that id: ``final_recognition`` is the one that its vehicle is under another id,
    as it was published before, or None: no plate was accepted.
    """

    kind: ProvisionalKind
    recognition: Recognition
    final_recognition: Recognition | None = None


class CandidateKind(StrEnum):
    """The reason for which a rule is looked at."""

    FINAL = "final"
    """A recognition matches it."""
    EARLY = "early"
    """A pass that is not over matches it."""
    RESOLVED = "resolved"
    """A pass that had triggered it early is over, and is not a recognition that matches it now."""


class AlertCandidate(Record, frozen=True, kw_only=True):
    """On alert-candidates (key = alert id): a rule that a recognition matches.

    Its cooldown is applied next. ``alert`` is the rule as it was when it was evaluated, by
    reference;
    ``published_ms`` is when the recognition was put on its topic (Unix ms, UTC). ``may_be_early``:
    the rule is one that triggers early. Of a resolved pass ``final_recognition`` is the recognition
    that its vehicle is under another id, if any, and ``is_match`` says whether the rule matches
    what passed: it was changed since, or that recognition is another's.
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
        """The recognition of the pass, as far as it is known; resolving may have replaced it."""
        return self.recognition if self.final_recognition is None else self.final_recognition


class AlertTrigger(Record, frozen=True, kw_only=True):
    """On the alerts topic: a rule was triggered by a recognition (key = alert id).

    ``id`` is derived from both, so a replay says the same again. ``alert`` is the rule as it was
    when it was evaluated, by reference. ``is_late`` where the recognition came so long after its
    capture that the vehicle is surely gone. ``decided_ms`` is Unix ms, UTC.

    Where a rule triggers early there are two records with the same ``id``: first one of phase
    early, whose ``recognition`` is provisional (it has no images yet), then one that says what
    became of it; that one's ``early`` is the first.
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
        """Capture time of the plate that triggered it first (Unix ms, UTC); ``id`` begins so."""
        return self.recognition.captured_ms if self.early is None else self.early.captured_ms
