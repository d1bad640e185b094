"""The records of ingest workers: a camera's frames, and that its clock moved on or stopped."""

from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from common.records.codec import Record
from common.records.counts import CaptureCounts


class FrameKind(StrEnum):
    """The kind of a record on the frames topic, and of the one that follows from it on readings."""

    FRAME = "frame"
    TICK = "tick"
    """No frame: only says that the camera's clock has moved on."""
    END = "end"
    """No frame: the camera was deleted or switched off, what it sees is over."""
    GAP_END = "gap_end"
    """On readings only, and of no camera: the records of a gap were read, or are gone."""


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
    """The effect of a zone: plates are read only inside, or never inside."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


class Zone(msgspec.Struct, frozen=True, kw_only=True):
    """A polygon of at least three points in which plates are read, or are not."""

    kind: ZoneKind
    points: tuple[Point, ...]


class FrameMeta(Record, frozen=True, kw_only=True):
    """Travels in the header ``FRAME_META_HEADER`` of each record on the frames topic.

    The record's value is one JPEG (``kind`` frame) or empty (the others). ``captured_ms`` is Unix
    time in ms, UTC, and never falls for one camera and one ingest worker. ``deleted``: an end after
    which the camera never comes back, so that nothing of it need be remembered. ``still``: a tick
    while the camera's frames are looked at, and nothing moves in them. ``counts`` are those up to
    this record, itself included.
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
    deleted: bool = False
    still: bool = False
    counts: CaptureCounts | None = None


FRAME_META_HEADER = "platestream-frame"


class FrameReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The place of a frame's JPEG on the frames topic (as long as its retention lasts)."""

    partition: int
    offset: int


class FrameGap(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Records of a partition that were too old when their turn came, and are read late.

    They are those from offset ``begin`` up to ``end``, without it; all of them were written before
    ``end_ms`` (Unix ms, UTC), and those that are read in time after it.
    """

    begin: int
    end: int
    end_ms: int

    def is_covered_by(self, other: "FrameGap | None") -> bool:
        """Return whether another gap is this one, or a later one of its partition.

        Both its end and its time must be: offsets start again when a topic is recreated.
        """
        return other is not None and self.end <= other.end and self.end_ms <= other.end_ms


class OpenGap(Record, frozen=True, kw_only=True):
    """A gap that is not closed, and how far it is read: ``next_offset`` is the next record's.

    ``next_ms`` (Unix ms, UTC) is when that was written, or before.
    """

    partition: int
    gap: FrameGap
    next_offset: int
    next_ms: int

    @property
    def left(self) -> int:
        """Records that are not read yet."""
        return max(0, self.gap.end - self.next_offset)


MAX_PIXELS: Final = 40_000_000
MAX_SIDE_PX: Final = 10_000
"""Twice the pixels of the largest cameras; decoded, such an image takes 120 MB."""


def is_too_large(width_px: int, height_px: int) -> bool:
    """Return whether an image of this size is looked at by nobody."""
    return width_px * height_px > MAX_PIXELS or max(width_px, height_px) > MAX_SIDE_PX
