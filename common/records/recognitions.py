"""The results of a vehicle's pass, or of an image call."""

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
    """A plate that was reported of a pass before it was over, as it was known then.

    ``captured_ms`` (Unix ms, UTC) is that of the best frame up to then; ``confidence`` is 0..1.
    """

    plate: str
    confidence: float
    captured_ms: int


class RecognitionSource(StrEnum):
    """The source of a recognition."""

    CAMERA = "camera"
    API = "api"


class Direction(StrEnum):
    """The way of a vehicle, as its camera sees it."""

    TOWARDS = "towards"
    AWAY = "away"
    LEFT = "left"
    RIGHT = "right"


class CharacterAlternative(msgspec.Struct, frozen=True, array_like=True):
    """A character that may stand at a position of a plate instead (from 0), with its chance."""

    position: int
    character: str
    confidence: float


class Recognition(Record, frozen=True, kw_only=True):
    """On the recognitions topic: one pass of one vehicle, accepted.

    Times are Unix ms, UTC. ``captured_ms`` is that of the frame whose reading won; ``box`` is in
    that frame's pixels. ``confidence`` is the mean of ``character_confidences`` (0..1, one for each
    character of ``plate``); ``alternatives`` are the likeliest other characters. A key is absent
    where no image could be kept. ``id`` is the pass's from its first frame on;
    ``provisional_plates`` were reported before it was over
    (see :class:`common.records.alerts.ProvisionalRecognition`). ``region_confidence`` is 0..1,
    None where none was told; ``direction`` is None where it is not clear.
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
    """On the outcomes topic: a vehicle's pass without an accepted reading, or an image call.

    A pass that was accepted is not here: it is a :class:`Recognition`. Of image calls all
    that were answered are; their ``camera_id`` is the nil UUID. ``id`` is derived from what it
    stands for and begins with ``at_ms`` (Unix ms, UTC).
    """

    id: UUID
    owner_id: UUID
    camera_id: UUID
    source: RecognitionSource
    at_ms: int
    accepted: bool


class CharacterOption(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One possible character at a position, with its probability (0..1)."""

    character: str
    probability: float


class PlateReading(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The reading of one plate in one frame.

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
    region_confidence: float | None = None
    plate_type: str = "car"


class FollowedPlate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plate in a frame that was found where a track expects it, and not read once more."""

    track: str
    box: Box


class FrameReadings(Record, frozen=True, kw_only=True):
    """On the readings topic: one for each record of the frames topic; fresh ones in its order.

    ``stale`` frames were left out between others that were late, or beyond their owner's share, and
    were not looked at. ``deleted``, ``still`` and ``counts`` are those of the record on the frames
    topic. ``view`` is the frame as a few numbers (see :func:`recognition.scene.scene_view`), empty
    where it was not looked at. Those ``over_share`` are ``stale``, too; ``refused`` frames cannot
    be decoded. ``plates_left`` gave no reading. ``followed`` plates are known by earlier ones.
    ``late`` ones are read for the first of ``gaps``, the others of which are later; of all others
    ``gaps`` are those before them that are still open. ``trace`` is the ``traceparent`` that came
    with the message, where a trace is made; not in the record itself.
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
    """Return what may stand in a plate instead, by position, the likeliest first.

    ``positions`` are the characters that each may be and their chances (0..1), also its own.
    """
    return tuple(
        CharacterAlternative(position, character, round(chance, 3))
        for position, (own, options) in enumerate(zip(plate, positions, strict=False))
        for character, chance in _likeliest_others(own, options)
    )


def _likeliest_others(own: str, options: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    others = [each for each in options if each[0] != own and each[1] >= _MIN_ALTERNATIVE]
    return sorted(others, key=lambda each: (-each[1], each[0]))[:_MAX_ALTERNATIVES]
