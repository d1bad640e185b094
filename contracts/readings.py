"""What the recogniser says of a frame."""

from uuid import UUID

import msgspec

from contracts.frames import Box, FrameKind, FrameReference
from contracts.records import Record


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


class FrameReadings(Record, frozen=True, kw_only=True):
    """On the readings topic: one for each record of the frames topic, in its order.

    ``stale`` frames were older than their deadline and were not looked at. ``deleted`` is that of
    the record on the frames topic.
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
