"""The records on the topics: frozen, versioned, one codec (JSON).

Every record carries ``version``. A reader accepts exactly the version it was built for; any other
is an :class:`~contracts.errors.UnknownRecordVersionError`, which a stage answers with its
dead-letter topic. New optional fields do not raise the version: readers ignore unknown fields.
"""

from enum import StrEnum
from typing import ClassVar, TypeVar
from uuid import UUID

import msgspec

from contracts.early import EarlyFiring, SightedPlate, TriggerPhase
from contracts.errors import InvalidInputError, UnknownRecordVersionError


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what travels on a topic. Subclasses set ``VERSION``."""

    VERSION: ClassVar[int] = 1
    version: int = 1


class FrameKind(StrEnum):
    """What a record on the frames topic (and its follower on readings) stands for."""

    FRAME = "frame"
    TICK = "tick"
    """No picture: only tells that the camera's clock has moved on."""
    END = "end"
    """No picture: the camera was deleted or switched off, what it sees is over."""


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """An axis-aligned box in pixels of the frame as captured; ``x``, ``y`` is the top left."""

    x: float
    y: float
    width: float
    height: float


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A point in fractions (0..1) of the frame's width and height, from the top left."""

    x: float
    y: float


class ZoneKind(StrEnum):
    """Whether plates are read only inside a zone or never inside it."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


class Zone(msgspec.Struct, frozen=True, kw_only=True):
    """A polygon of at least three points in which plates are read, or are not."""

    kind: ZoneKind
    points: tuple[Point, ...]


class FrameMeta(Record, frozen=True, kw_only=True):
    """Travels in the header ``FRAME_META_HEADER`` of each record on the frames topic.

    The record's value is one JPEG (``kind`` frame) or empty (the others). ``captured_ms`` is Unix
    time in ms, UTC, and never falls for one camera and one ingest worker.
    """

    kind: FrameKind
    camera_id: UUID
    owner_id: UUID
    camera_name: str
    captured_ms: int
    width_px: int = 0
    height_px: int = 0
    min_plate_width_px: int = 0
    zones: tuple[Zone, ...] = ()


FRAME_META_HEADER = "platestream-frame"


class CharacterOption(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One possible character at a position, with its probability (0..1)."""

    character: str
    probability: float


class PlateReading(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one frame says about one plate.

    ``text`` is A-Z0-9 (rows of a two-row plate joined). ``positions`` holds for each character of
    ``text`` the likeliest options, best first. ``confidence`` is 0..1 and calibrated;
    ``detection_confidence`` is the detector's own score, 0..1.
    """

    text: str
    confidence: float
    detection_confidence: float
    box: Box
    positions: tuple[tuple[CharacterOption, ...], ...]
    region: str | None = None
    plate_type: str = "car"


class FrameReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a frame's JPEG lies on the frames topic (as long as its retention lasts)."""

    partition: int
    offset: int


class FrameReadings(Record, frozen=True, kw_only=True):
    """On the readings topic: one for each record of the frames topic, in its order.

    ``stale`` frames were older than their deadline and were not looked at.
    """

    kind: FrameKind
    camera_id: UUID
    owner_id: UUID
    camera_name: str
    captured_ms: int
    frame: FrameReference
    width_px: int = 0
    height_px: int = 0
    stale: bool = False
    readings: tuple[PlateReading, ...] = ()


class RecognitionSource(StrEnum):
    """How a recognition came about."""

    CAMERA = "camera"
    API = "api"


class Recognition(Record, frozen=True, kw_only=True):
    """On the recognitions topic: one pass of one vehicle, accepted.

    Times are Unix ms, UTC. ``captured_ms`` is that of the frame whose reading won; ``box`` is in
    that frame's pixels. ``confidence`` is the mean of ``character_confidences`` (0..1, one for each
    character of ``plate``). A key is absent where no image could be kept. ``id`` is
    the pass's from its first frame on; ``sighted`` are the plates that it was told of as before it
    was over (see :class:`contracts.alert_records.AlertSighting`).
    """

    id: UUID
    owner_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    character_confidences: tuple[float, ...]
    captured_ms: int
    first_seen_ms: int
    last_seen_ms: int
    readings_count: int
    box: Box | None = None
    photo_key: str | None = None
    crop_key: str | None = None
    region: str | None = None
    plate_type: str = "car"
    source: RecognitionSource = RecognitionSource.CAMERA
    sighted: tuple[SightedPlate, ...] = ()


class PassOutcome(Record, frozen=True, kw_only=True):
    """On the outcomes topic: a vehicle's pass without an accepted reading, or an image call.

    A pass that was accepted is not told of here: it is a :class:`Recognition`. Of image calls all
    that were answered are; their ``camera_id`` is the nil UUID. ``id`` is derived from what it
    tells of and begins with ``at_ms`` (Unix ms, UTC).
    """

    id: UUID
    owner_id: UUID
    camera_id: UUID
    source: RecognitionSource
    at_ms: int
    accepted: bool


class CameraConfig(Record, frozen=True, kw_only=True):
    """On config-cameras (compacted, key = camera id; an empty value deletes the camera).

    ``stream_url_encrypted`` opens with :func:`contracts.secrets.decrypt`. ``revision`` grows with
    each change of the camera. ``timezone`` is an IANA name, None where the owner's counts;
    ``created_ms`` is Unix ms, UTC.
    """

    camera_id: UUID
    owner_id: UUID
    name: str
    stream_url_encrypted: str
    enabled: bool
    revision: int
    sample_fps: float | None = None
    min_plate_width_px: int = 0
    zones: tuple[Zone, ...] = ()
    identifier: str = ""
    location: str = ""
    timezone: str | None = None
    created_ms: int = 0


class CameraState(StrEnum):
    """What a camera's status can be."""

    CONNECTING = "connecting"
    ONLINE = "online"
    OFFLINE = "offline"
    DISABLED = "disabled"


class CameraStatus(Record, frozen=True, kw_only=True):
    """On camera-status (compacted, key = camera id): sent at each change and each few seconds.

    ``revision`` is that of the configuration the worker acts on. ``last_error`` is a sentence for
    a person, without passwords. Times are Unix ms, UTC.
    """

    camera_id: UUID
    owner_id: UUID
    state: CameraState
    revision: int
    worker: str
    at_ms: int
    last_seen_ms: int | None = None
    last_error: str | None = None
    frame_width_px: int | None = None
    frame_height_px: int | None = None


class EventName(StrEnum):
    """The events that webhooks can be told of."""

    RECOGNITION_CREATED = "recognition.created"
    ALERT_TRIGGERED = "alert.triggered"
    ALERT_CONFIRMED = "alert.confirmed"
    ALERT_CORRECTED = "alert.corrected"
    """Goes to whom alert.triggered goes, and is not subscribed to by itself."""
    CAMERA_ONLINE = "camera.online"
    CAMERA_OFFLINE = "camera.offline"


class WebhookConfig(Record, frozen=True, kw_only=True):
    """On config-webhooks (compacted, key = webhook id; an empty value deletes the webhook).

    The encrypted fields open with :class:`contracts.secrets.SecretBox`; that of ``headers``
    holds a JSON object of strings. ``revision`` grows with each change. The previous secret signs
    beside the new one until ``previous_secret_until_ms``. Events from before ``created_ms`` are not
    meant for this webhook. Times are Unix ms, UTC.
    """

    webhook_id: UUID
    owner_id: UUID
    name: str
    url_encrypted: str
    secret_encrypted: str
    headers_encrypted: str
    events: tuple[EventName, ...]
    enabled: bool
    revision: int
    created_ms: int = 0
    previous_secret_encrypted: str | None = None
    previous_secret_until_ms: int | None = None


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


class AlertTrigger(Record, frozen=True, kw_only=True):
    """On the alerts topic: a rule fired for a recognition (key = alert id).

    ``id`` is derived from both, so a replay says the same again. ``alert`` is the rule as it was
    when it was evaluated. ``is_late`` where the recognition came so long after its capture that the
    vehicle is surely gone. ``decided_ms`` is Unix ms, UTC.

    Where a rule fires early there are two records with the same ``id``: first one of phase early,
    whose ``recognition`` is provisional (it has no images yet), then one that says
    what became of it; that one's ``early`` is what had been told.
    """

    id: UUID
    owner_id: UUID
    alert: AlertConfig
    recognition: Recognition
    decided_ms: int
    is_late: bool = False
    phase: TriggerPhase = TriggerPhase.FINAL
    early: EarlyFiring | None = None

    @property
    def fired_ms(self) -> int:
        """When the plate was captured that it fired for first (Unix ms, UTC); ``id`` begins so."""
        return self.recognition.captured_ms if self.early is None else self.early.captured_ms


class DeadLetter(Record, frozen=True, kw_only=True):
    """On the dead-letter topic: a message that a stage can never handle, whole, with the reason."""

    stage: str
    topic: str
    partition: int
    offset: int
    code: str
    reason: str
    at_ms: int
    key: bytes | None = None
    value: bytes | None = None


class _Versioned(msgspec.Struct):
    version: int


_R = TypeVar("_R", bound=Record)
_encoder = msgspec.json.Encoder()
_version_decoder = msgspec.json.Decoder(_Versioned)
_decoders: dict[type[Record], msgspec.json.Decoder[Record]] = {}


def encode(record: Record) -> bytes:
    """Return the record as it travels on its topic (UTF-8 JSON)."""
    return _encoder.encode(record)


def decode(record_type: type[_R], data: bytes) -> _R:
    """Return the record that ``data`` holds.

    Raises:
        UnknownRecordVersionError: the version is missing or is not the one this release reads.
        InvalidInputError: not JSON, or not this record.
    """
    _check_version(record_type, data)
    decoder = _decoders.setdefault(record_type, msgspec.json.Decoder(record_type))
    try:
        record = decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise InvalidInputError(
            f"not a {record_type.__name__}: {error}", code="unreadable_record"
        ) from error
    assert isinstance(record, record_type)
    return record


def _check_version(record_type: type[Record], data: bytes) -> None:
    try:
        version = _version_decoder.decode(data).version
    except msgspec.ValidationError as error:
        raise UnknownRecordVersionError(
            f"{record_type.__name__} without a version: {error}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"not JSON: {error}", code="unreadable_record") from error
    if version != record_type.VERSION:
        raise UnknownRecordVersionError(
            f"{record_type.__name__} version {version}, this release reads {record_type.VERSION}"
        )
