"""The tracker states in a table by camera; of a deleted camera nothing is kept.

A crash may replay records from before a camera's deletion when its state is gone already: they
would start its tracks in the middle and give other ids. So the table holds for each partition of
the frames topic the place of its last deletion; for a camera without a state everything before that
place is done.
"""

from typing import ClassVar

from common.records.codec import Record, encode
from common.records.frames import FrameGap
from common.records.recognitions import FrameReadings
from streams.recognition.tracking.state import TrackerState
from streams.runtime.tables import DurableTable


class DeletedUpTo(Record, frozen=True, kw_only=True):
    """The place of the last deletion in a partition of the frames topic. No personal data.

    ``captured_ms`` is the highest of such places: cameras' clocks differ.
    """

    VERSION: ClassVar[int] = 1
    offset: int
    captured_ms: int


class ClosedGap(Record, frozen=True, kw_only=True):
    """The last gap of a partition that was closed."""

    gap: FrameGap


class TrackerStateStore:
    """The table, with decoded values."""

    def __init__(self, table: DurableTable) -> None:
        self._table = table

    def get(self, key: bytes) -> TrackerState | None:
        """Return a camera's state, None where there is none."""
        if self._table.get(key) is None:
            return None
        # Written by another release: its open passes are lost, the camera goes on.
        return self._table.read(TrackerState, key) or TrackerState()

    async def write(self, key: bytes, state: TrackerState) -> None:
        """Store a state; returns once Kafka has it."""
        await self._table.put(key, encode(state))

    async def forget(self, key: bytes, end: FrameReadings) -> None:
        """Delete the state of a camera whose last record is ``end``; returns once Kafka has it."""
        captured_ms = end.captured_ms
        before = self._deleted_up_to(end)
        # A recreated topic starts at offset 0 again; the same end may come twice.
        if before is not None and before.offset <= end.frame.offset:
            captured_ms = max(captured_ms, before.captured_ms)
        # One that is read late may come after that of another camera.
        if not self.was_deleted_after(end):
            place = DeletedUpTo(offset=end.frame.offset, captured_ms=captured_ms)
            await self._table.put(_deleted_key(end), encode(place))
        await self._table.put(key, None)

    def keys_under(self, prefix: bytes) -> list[bytes]:
        """Return the keys that begin so."""
        return sorted(key for key, _ in self._table.items() if key.startswith(prefix))

    async def drop(self, key: bytes) -> None:
        """Delete a state that is needed no more; returns once Kafka has it."""
        await self._table.put(key, None)

    def is_closed(self, partition: int, gap: FrameGap) -> bool:
        """Return whether a gap, or a later one of its partition, was closed."""
        closed = self._table.read(ClosedGap, _closed_key(partition))
        return closed is not None and gap.is_covered_by(closed.gap)

    async def mark_closed(self, partition: int, gap: FrameGap) -> None:
        """Note that a gap is closed; returns once Kafka has it."""
        await self._table.put(_closed_key(partition), encode(ClosedGap(gap=gap)))

    def was_deleted_after(self, frame: FrameReadings) -> bool:
        """Return whether a record without a state is from before a camera was deleted.

        Both must be old: offsets start again when a topic is recreated, clocks are set back.
        """
        place = self._deleted_up_to(frame)
        return (
            place is not None
            and frame.frame.offset <= place.offset
            and frame.captured_ms <= place.captured_ms
        )

    def _deleted_up_to(self, frame: FrameReadings) -> DeletedUpTo | None:
        return self._table.read(DeletedUpTo, _deleted_key(frame))


def _deleted_key(frame: FrameReadings) -> bytes:
    return b"deleted/%d" % frame.frame.partition


def _closed_key(partition: int) -> bytes:
    return b"closed/%d" % partition


def late_prefix(partition: int, gap: FrameGap) -> bytes:
    """Return the prefix of the keys under which the late lane of a gap has its cameras' states."""
    return b"late/%d/%d/" % (partition, gap.end)


def late_key(partition: int, gap: FrameGap, camera: bytes) -> bytes:
    """Return the key of a camera's state in the late lane of a gap."""
    return late_prefix(partition, gap) + camera
