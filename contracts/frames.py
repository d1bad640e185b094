"""What ingest workers publish: a camera's pictures, and that its clock moved on or stopped."""

from enum import StrEnum
from uuid import UUID

import msgspec

from contracts.records import Record


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
    time in ms, UTC, and never falls for one camera and one ingest worker. ``deleted``: an end after
    which the camera never comes back, so that nothing of it need be remembered.
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


FRAME_META_HEADER = "platestream-frame"


class FrameReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a frame's JPEG lies on the frames topic (as long as its retention lasts)."""

    partition: int
    offset: int
