"""Records of the results of a vehicle's pass, or of an image call."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from common.records.codec import Record
from common.records.counts import CaptureCounts, PlatesLeft
from common.records.frames import Box, FrameGap, FrameKind, FrameReference

_MIN_ALTERNATIVE: Final = 0.02
_MAX_ALTERNATIVES: Final = 2


class ProvisionalPlate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plate that was reported before the pass ended, as known at that time.

    ``captured_ms`` (Unix ms, UTC) is the time of the best frame so far. ``confidence`` is 0 to 1.
    """

    plate: str
    confidence: float
    captured_ms: int


class RecognitionSource(StrEnum):
    """Source of a recognition."""

    CAMERA = "camera"
    API = "api"


class Direction(StrEnum):
    """Direction of travel, as seen by the camera."""

    TOWARDS = "towards"
    AWAY = "away"
    LEFT = "left"
    RIGHT = "right"


class CharacterAlternative(msgspec.Struct, frozen=True, array_like=True):
    """A likely alternative character at a position (from 0) of a plate, with its probability."""

    position: int
    character: str
    confidence: float


class Recognition(Record, frozen=True, kw_only=True):
    """Record on the recognitions topic: one accepted pass of one vehicle.

    Times are Unix ms, UTC. ``captured_ms`` is the time of the frame whose reading won; ``box`` is
    in that frame's pixels. ``confidence`` is the mean of ``character_confidences`` (0 to 1, one per
    character of ``plate``); ``alternatives`` are the most likely other characters. An image key is
    absent if no image could be stored. ``id`` is known from the first frame of the pass;
    ``provisional_plates`` were reported before the pass ended
    (see :class:`common.records.alerts.ProvisionalRecognition`). ``region_confidence`` is 0 to 1, or
    None if unknown; ``direction`` is None if unclear.
    """

    id: UUID
    owner_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    character_confidences: tuple[float, ...]
    alternatives: tuple[CharacterAlternative, ...] = ()
    captured_ms: int
    first_seen_ms: int
    last_seen_ms: int
    readings_count: int
    box: Box | None = None
    photo_key: str | None = None
    crop_key: str | None = None
    region: str | None = None
    region_confidence: float | None = None
    plate_type: str = "car"
    source: RecognitionSource = RecognitionSource.CAMERA
    direction: Direction | None = None
    provisional_plates: tuple[ProvisionalPlate, ...] = ()


class PassOutcome(Record, frozen=True, kw_only=True):
    """Record on the outcomes topic: a vehicle's pass without an accepted reading, or an image call.

    An accepted pass is a :class:`Recognition` instead. Every image call with a response has an
    outcome, whose ``camera_id`` is the nil UUID. ``id`` is derived from the pass or call and begins
    with ``at_ms`` (Unix ms, UTC).
    """

    id: UUID
    owner_id: UUID
    camera_id: UUID
    source: RecognitionSource
    at_ms: int
    accepted: bool


class CharacterOption(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One possible character at a position, with its probability (0 to 1)."""

    character: str
    probability: float


class PlateReading(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The reading of one plate in one frame.

    ``text`` is A-Z0-9 (rows of a two-row plate are joined). ``positions`` contains the most likely
    options for each character of ``text``, best first. ``confidence`` is 0 to 1 and calibrated;
    ``detection_confidence`` is the detector's own score, 0 to 1.
    """

    text: str
    confidence: float
    detection_confidence: float
    box: Box
    positions: tuple[tuple[CharacterOption, ...], ...]
    region: str | None = None
    region_confidence: float | None = None
    plate_type: str = "car"


class FollowedPlate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plate that was found at a track's expected position, and was not read again."""

    track: str
    box: Box


class FrameReadings(Record, frozen=True, kw_only=True):
    """Record on the readings topic: one per record on the frames topic, in order unless late.

    ``stale`` frames were skipped because they were late, or because the account exceeded its share
    (``over_share``). ``deleted``, ``still`` and ``counts`` are copied from the record on the frames
    topic. ``view`` describes the frame in a few numbers (see :func:`recognition.scene.scene_view`),
    and is empty if the frame was not analysed. ``refused`` frames cannot be decoded.
    ``plates_left`` have no reading. ``followed`` plates are known from earlier frames. ``late``
    frames belong to the first of ``gaps``; the rest of ``gaps`` are later. For all other frames,
    ``gaps`` are the open gaps before the frame. ``trace`` is the message's ``traceparent``, if
    traced, and not part of the record.
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
    deleted: bool = False
    still: bool = False
    view: bytes = b""
    over_share: bool = False
    refused: bool = False
    plates_left: PlatesLeft = PlatesLeft()
    counts: CaptureCounts | None = None
    followed: tuple[FollowedPlate, ...] = ()
    late: bool = False
    gaps: tuple[FrameGap, ...] = ()
    trace: str | UnsetType = UNSET


def alternatives_of(
    plate: str, positions: Iterable[Iterable[tuple[str, float]]]
) -> tuple[CharacterAlternative, ...]:
    """Return the alternative characters of a plate by position, the most likely characters first.

    ``positions`` are the possible characters, including the plate's, with probabilities (0 to 1).
    """
    return tuple(
        CharacterAlternative(position, character, round(chance, 3))
        for position, (own, options) in enumerate(zip(plate, positions, strict=False))
        for character, chance in _likeliest_others(own, options)
    )


def _likeliest_others(own: str, options: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    others = [each for each in options if each[0] != own and each[1] >= _MIN_ALTERNATIVE]
    return sorted(others, key=lambda each: (-each[1], each[0]))[:_MAX_ALTERNATIVES]
