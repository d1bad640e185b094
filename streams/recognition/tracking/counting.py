"""Counts each camera's frames and vehicles by outcome, minute by minute. No I/O.

Records of the frames topic contain an ingest worker's counts since the worker took over the camera;
the difference from the previous record is added here. With each published minute, a mark with
the counts is stored. The next worker continues from this mark, and uses it to detect frames that
have expired on Kafka since. The sums of the current minute are only in memory: if a worker starts
or cameras are reassigned within a minute, the counts of that minute lack the frames analysed
earlier. Replays count nothing twice: repeated records are not counted again, and if a minute is
published twice, the more complete one counts.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import msgspec
from cachetools import LRUCache

from common.records.codec import Record, encode
from common.records.counts import CameraCounts, CaptureCounts, FrameCounts
from common.records.frames import FrameKind
from common.records.recognitions import FrameReadings
from streams.recognition.tracking.state import EndedTracks
from streams.runtime.tables import DurableTable

_MINUTE_MS: Final = 60_000
_MAX_CAMERAS: Final = 10_000
_CAPTURED: Final = ("decoded", "still", "failed", "slow", "unsent")
_GAP_MS: Final = 90_000
"""Marks are at most a minute old and records arrive every second, so a longer gap means a loss."""


PublishCounts = Callable[[bytes, CameraCounts], Awaitable[None]]
"""Publishes a camera's counts with a key. Returns once Kafka has stored the counts."""


class CountMark(Record, frozen=True, kw_only=True):
    """The counts of a camera's frames at the time when a minute was published.

    ``captured_ms`` (Unix ms, UTC) is the capture time of the last counted record.
    """

    captured_ms: int
    captured: CaptureCounts


class CountMarks:
    """Stores the marks of cameras in a table."""

    def __init__(self, table: DurableTable) -> None:
        self._table = table

    def get(self, key: bytes) -> CountMark | None:
        """Return the mark of a camera, or None if no mark is stored."""
        return self._table.read(CountMark, key)

    async def write(self, key: bytes, mark: CountMark) -> None:
        """Store a mark; return once Kafka has stored the mark."""
        await self._table.put(key, encode(mark))

    async def forget(self, key: bytes) -> None:
        """Delete the mark of a camera; return once Kafka has stored the deletion."""
        if self._table.get(key) is not None:
            await self._table.put(key, None)


@dataclass
class _Minute:
    """The counts of a camera's current minute, and the last record counted."""

    start_ms: int
    owner_id: UUID
    last: FrameReadings | None = None
    captured: CaptureCounts | None = None
    records: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    is_over: bool = False
    """Whether the late lane that counts this minute has passed the end of its gap."""

    def has(self, frame: FrameReadings) -> bool:
        """Return whether a record was counted, by offset and time, because either can go back."""
        return (
            self.last is not None
            and frame.frame.offset <= self.last.frame.offset
            and frame.captured_ms <= self.last.captured_ms
        )


class CameraCounter:
    """Counts the frames and vehicles of one worker's cameras. Not thread-safe."""

    def __init__(self) -> None:
        """Create a counter without cameras."""
        self._minutes: LRUCache[UUID, _Minute] = LRUCache(_MAX_CAMERAS)

    def finished(self, frame: FrameReadings) -> CameraCounts | None:
        """Return the counts of the minute that a record ends, or None if it ends no minute.

        The result stays the same until the record is added.
        """
        minute = self._minutes.get(frame.camera_id)
        if minute is None or minute.has(frame):
            return None
        if minute.start_ms == _start_ms(frame) and frame.kind is not FrameKind.END:
            return None
        return self.unfinished(frame.camera_id)

    def unfinished(self, camera_id: UUID) -> CameraCounts | None:
        """Return the counts of a camera's current minute so far, or None if nothing was counted."""
        minute = self._minutes.get(camera_id)
        if minute is None or not minute.counts.total():
            return None
        return CameraCounts(
            camera_id=camera_id,
            owner_id=minute.owner_id,
            minute_ms=minute.start_ms,
            records=minute.records,
            counts=FrameCounts(**minute.counts),
        )

    def mark(self, camera_id: UUID) -> CountMark | None:
        """Return the mark of a camera's counts, or None if no counts are known."""
        minute = self._minutes.get(camera_id)
        if minute is None or minute.last is None or minute.captured is None:
            return None
        return CountMark(captured_ms=minute.last.captured_ms, captured=minute.captured)

    def knows(self, camera_id: UUID) -> bool:
        """Return whether any record of the camera was counted."""
        return camera_id in self._minutes

    def continue_from(self, frame: FrameReadings, mark: CountMark) -> None:
        """Continue from another worker's mark of a camera, given the camera's next record."""
        minute = _Minute(_start_ms(frame), frame.owner_id, None, mark.captured)
        added = _captured_since(mark.captured, frame)
        if frame.captured_ms - mark.captured_ms <= _GAP_MS:
            # Another worker analysed the frames in between, and that worker's counts are unknown.
            added.pop("lost", None)
        minute.counts.update(added)
        minute.captured = frame.counts or mark.captured
        self._minutes[frame.camera_id] = minute

    def add(self, frame: FrameReadings, ended: EndedTracks) -> None:
        """Count a record once, together with the tracks that the record ended."""
        before = self._minutes.get(frame.camera_id)
        if before is not None and before.has(frame):
            return
        minute = self._minute_of(frame, before)
        minute.records += 1
        minute.counts.update(_captured_since(minute.captured, frame))
        minute.counts.update(_analysed(frame))
        minute.counts.update(_ended(ended))
        # Drop the data that only describes this frame.
        minute.last = msgspec.structs.replace(frame, readings=(), view=b"")
        minute.captured = frame.counts or minute.captured
        self._minutes[frame.camera_id] = minute

    def add_past_gap(self, frame: FrameReadings, ended: EndedTracks) -> None:
        """Count the frames and tracks of a late lane's gap that a record after the gap reports.

        This includes frames that were captured or lost before the first such record, and the tracks
        that end. The fresh lane counts the record itself.
        """
        minute = self._minutes.get(frame.camera_id)
        if minute is None or minute.has(frame):
            return
        if not minute.is_over:
            minute.counts.update(_captured_since(minute.captured, frame))
            minute.is_over = True
        minute.counts.update(_ended(ended))
        minute.last = msgspec.structs.replace(frame, readings=(), view=b"")

    def drop(self, camera_id: UUID) -> None:
        """Drop a camera, because another lane continues to count it."""
        self._minutes.pop(camera_id, None)

    def forget(self) -> None:
        """Drop all cameras, whose counts can be outdated after a rebalance."""
        self._minutes.clear()

    @staticmethod
    def _minute_of(frame: FrameReadings, before: _Minute | None) -> _Minute:
        start_ms = _start_ms(frame)
        if before is None:
            return _Minute(start_ms, frame.owner_id)
        if before.start_ms == start_ms:
            return before
        return _Minute(start_ms, frame.owner_id, before.last, before.captured)


def _start_ms(frame: FrameReadings) -> int:
    return frame.captured_ms - frame.captured_ms % _MINUTE_MS


def _captured_since(before: CaptureCounts | None, frame: FrameReadings) -> dict[str, int]:
    """Return the increase of the worker's counts, and the number of frames lost in transit.

    The result is empty for an unknown worker that did not start after the last known worker.
    """
    now = frame.counts
    if now is None or before is None:
        return {}
    if now.since_ms != before.since_ms:
        if now.since_ms < before.since_ms:
            return {}
        before = CaptureCounts(since_ms=now.since_ms)
    added = {name: max(0, getattr(now, name) - getattr(before, name)) for name in _CAPTURED}
    came = frame.kind is FrameKind.FRAME
    return {**added, "lost": max(0, now.sent - before.sent - came)}


def _analysed(frame: FrameReadings) -> dict[str, int]:
    if frame.kind is not FrameKind.FRAME:
        return {}
    if frame.stale:
        return {"surplus" if frame.over_share else "stale": 1}
    if frame.refused:
        return {"refused": 1}
    left = frame.plates_left
    return {
        "read": 1,
        "found": int(bool(frame.readings or frame.followed)),
        "readings": len(frame.readings),
        "small": left.small,
        "unread": left.unread,
        "outside": left.outside,
    }


def _ended(ended: EndedTracks) -> dict[str, int]:
    return {
        "reported": len(ended.passes),
        "repeated": ended.suppressed,
        "unsure": len(ended.missed),
        "fragments": ended.unsure - len(ended.missed),
    }
