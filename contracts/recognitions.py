"""What a vehicle's pass, or an image call, comes to."""

from enum import StrEnum
from uuid import UUID

from contracts.early import SightedPlate
from contracts.frames import Box
from contracts.records import Record


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
