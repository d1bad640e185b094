"""Stores tracker states by camera in a table. Nothing is stored for a deleted camera.

After a crash, records from before a camera's deletion may be read again although the camera's state
has already been deleted. These records would start tracks in mid-pass, with other ids. Therefore
the table has the position of the last deletion for each partition of the frames topic. For a camera
without a state, all records before this position count as processed.
"""

from typing import ClassVar

from common.records.codec import Record, encode
from common.records.frames import FrameGap
from common.records.recognitions import FrameReadings
from streams.recognition.tracking.state import TrackerState
from streams.runtime.tables import DurableTable


class DeletedUpTo(Record, frozen=True, kw_only=True):
    """The position of the last deletion in a partition of the frames topic, without personal data.

    ``captured_ms`` is the highest value of all deletions, because cameras' clocks differ.
    """

    VERSION: ClassVar[int] = 1
    offset: int
    captured_ms: int


class ClosedGap(Record, frozen=True, kw_only=True):
    """The last gap of a partition that was closed."""

    gap: FrameGap


class TrackerStateStore:
    """Reads and writes the table of tracker states with decoded values."""

    def __init__(self, table: DurableTable) -> None:
        self._table = table

    def get(self, key: bytes) -> TrackerState | None:
        """Return the state of a camera, or None if no state is stored."""
        if self._table.get(key) is None:
            return None
        # If another release wrote the state, open passes are lost, but the camera continues.
        return self._table.read(TrackerState, key) or TrackerState()

    async def write(self, key: bytes, state: TrackerState) -> None:
        """Store a state; return once Kafka has stored the state."""
        await self._table.put(key, encode(state))

    async def forget(self, key: bytes, end: FrameReadings) -> None:
        """Delete a camera's state and record the position of its last record, ``end``.

        Return once Kafka has stored both changes.
        """
        captured_ms = end.captured_ms
        before = self._deleted_up_to(end)
        # A recreated topic starts at offset 0 again, and the same end may be read twice.
        if before is not None and before.offset <= end.frame.offset:
            captured_ms = max(captured_ms, before.captured_ms)
        # A deletion that is read late may follow the deletion of another camera.
        if not self.was_deleted_after(end):
            position = DeletedUpTo(offset=end.frame.offset, captured_ms=captured_ms)
            await self._table.put(_deleted_key(end), encode(position))
        await self._table.put(key, None)

    def keys_under(self, prefix: bytes) -> list[bytes]:
        """Return the keys that start with a prefix."""
        return sorted(key for key, _ in self._table.items() if key.startswith(prefix))

    async def drop(self, key: bytes) -> None:
        """Delete a state that is no longer needed; return once Kafka has stored the deletion."""
        await self._table.put(key, None)

    def is_closed(self, partition: int, gap: FrameGap) -> bool:
        """Return whether a gap, or a later gap of the same partition, was closed."""
        closed = self._table.read(ClosedGap, _closed_key(partition))
        return closed is not None and gap.is_covered_by(closed.gap)

    async def mark_closed(self, partition: int, gap: FrameGap) -> None:
        """Record that a gap is closed; return once Kafka has stored the record."""
        await self._table.put(_closed_key(partition), encode(ClosedGap(gap=gap)))

    def was_deleted_after(self, frame: FrameReadings) -> bool:
        """Return whether a record without a state is from before a camera's deletion.

        Both offset and time must be old, because offsets can restart and clocks can go back.
        """
        position = self._deleted_up_to(frame)
        return (
            position is not None
            and frame.frame.offset <= position.offset
            and frame.captured_ms <= position.captured_ms
        )

    def _deleted_up_to(self, frame: FrameReadings) -> DeletedUpTo | None:
        return self._table.read(DeletedUpTo, _deleted_key(frame))


def _deleted_key(frame: FrameReadings) -> bytes:
    return b"deleted/%d" % frame.frame.partition


def _closed_key(partition: int) -> bytes:
    return b"closed/%d" % partition


def late_prefix(partition: int, gap: FrameGap) -> bytes:
    """Return the prefix of the keys of the cameras' states in the late lane of a gap."""
    return b"late/%d/%d/" % (partition, gap.end)


def late_key(partition: int, gap: FrameGap, camera: bytes) -> bytes:
    """Return the key of a camera's state in the late lane of a gap."""
    return late_prefix(partition, gap) + camera
