"""Records of ingest workers: a camera's frames, and the progress of the camera's clock."""

from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from common.records.codec import Record
from common.records.counts import CaptureCounts


class FrameKind(StrEnum):
    """The kind of a record on the frames topic, and of its counterpart on the readings topic."""

    FRAME = "frame"
    TICK = "tick"
    """A record without a frame that only reports the camera's current time."""
    END = "end"
    """A record without a frame: the camera was deleted or disabled, so its passes end."""
    GAP_END = "gap_end"
    """A record without a camera, only on the readings topic: a gap was read or has expired."""


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """An axis-aligned box in pixels of the captured frame. ``x``, ``y`` is the top-left corner."""

    x: float
    y: float
    width: float
    height: float


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A point in fractions (0 to 1) of the frame's width and height, from the top-left corner."""

    x: float
    y: float


class ZoneKind(StrEnum):
    """Effect of a zone: read plates only inside it, or ignore plates inside it."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


class Zone(msgspec.Struct, frozen=True, kw_only=True):
    """A polygon of at least three points in which plates are read or ignored."""

    kind: ZoneKind
    points: tuple[Point, ...]


class FrameMeta(Record, frozen=True, kw_only=True):
    """Metadata in the header ``FRAME_META_HEADER`` of each record on the frames topic.

    The record's value is one JPEG (``kind`` frame) or empty. ``captured_ms`` is Unix time in ms,
    UTC, and never decreases for one camera and one ingest worker. ``deleted``: the camera was
    deleted, so its state can be dropped. ``still``: the record is a tick while the camera's frames
    are analysed and show no motion. ``counts`` are the counts up to and including this record.
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
    """The position of a frame's JPEG on the frames topic until the JPEG expires."""

    partition: int
    offset: int


class FrameGap(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Records of a partition that were too old when their turn came, and are read later.

    The gap consists of the offsets from ``begin`` up to but excluding ``end``. Its records were
    written before ``end_ms`` (Unix ms, UTC). Records after the gap are read in time.
    """

    begin: int
    end: int
    end_ms: int

    def is_covered_by(self, other: "FrameGap | None") -> bool:
        """Return whether another gap is the same gap, or a later gap of the same partition.

        Both end offset and end time are compared, because a recreated topic restarts offsets.
        """
        return other is not None and self.end <= other.end and self.end_ms <= other.end_ms


class OpenGap(Record, frozen=True, kw_only=True):
    """A gap that has not been read completely. ``next_offset`` is the offset of the next record.

    ``next_ms`` (Unix ms, UTC) is a lower bound of the time at which that record was written.
    """

    partition: int
    gap: FrameGap
    next_offset: int
    next_ms: int

    @property
    def left(self) -> int:
        """Number of records that are not read yet."""
        return max(0, self.gap.end - self.next_offset)


MAX_PIXELS: Final = 40_000_000
MAX_SIDE_PX: Final = 10_000
"""An image may have twice the pixels of the largest cameras. Decoding it takes 120 MB."""


def is_too_large(width_px: int, height_px: int) -> bool:
    """Return whether an image of this size is too large to be analysed."""
    return width_px * height_px > MAX_PIXELS or max(width_px, height_px) > MAX_SIDE_PX
