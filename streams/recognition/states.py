"""What is remembered of each camera, in a table by camera; of a deleted one nothing.

A crash may bring records again that lie before the one that deleted a camera, when its state is
gone already: they would begin its tracks in the middle and give other ids. So a partition of the
frames topic remembers how far it has come with deleted cameras, and what lies before that is done
for every camera that nothing is remembered of.
"""

from typing import ClassVar, Protocol

import structlog

from contracts.errors import UnknownRecordVersionError
from contracts.readings import FrameReadings
from contracts.records import Record, decode, encode
from streams.recognition.camera import CameraTracks

log = structlog.get_logger()


class StateTable(Protocol):
    """Encoded records by key; within an event, of the event's partition."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return what lies under a key, None at first."""

    async def write(self, key: bytes, value: bytes, /) -> None:
        """Write what lies under a key; returns once Kafka has it."""

    async def delete(self, key: bytes, /) -> None:
        """Delete a key; returns once Kafka has it."""


class DeletedUpTo(Record, frozen=True, kw_only=True):
    """Where in a partition of the frames topic a camera was deleted last. No personal data.

    ``captured_ms`` is the highest of such places: cameras' clocks differ.
    """

    VERSION: ClassVar[int] = 1
    offset: int
    captured_ms: int


class CameraStates:
    """The table, decoded."""

    def __init__(self, table: StateTable) -> None:
        self._table = table

    def get(self, key: bytes) -> CameraTracks | None:
        """Return what is remembered of a camera, None for nothing."""
        data = self._table.get(key)
        if data is None:
            return None
        try:
            return decode(CameraTracks, data)
        except UnknownRecordVersionError:
            # Written by another release: its open passes are lost, the camera goes on.
            log.warning("camera_state_dropped", camera_id=key.decode(errors="replace"))
            return CameraTracks()

    async def write(self, key: bytes, state: CameraTracks) -> None:
        """Remember a state; returns once Kafka has it."""
        await self._table.write(key, encode(state))

    async def forget(self, key: bytes, end: FrameReadings) -> None:
        """Forget a camera that ``end`` tells the deletion of; returns once Kafka has done so."""
        captured_ms = end.captured_ms
        before = self._deleted_up_to(end)
        # A topic that was made anew begins anew; the same end may come twice.
        if before is not None and before.offset <= end.frame.offset:
            captured_ms = max(captured_ms, before.captured_ms)
        place = DeletedUpTo(offset=end.frame.offset, captured_ms=captured_ms)
        await self._table.write(_deleted_key(end), encode(place))
        await self._table.delete(key)

    def was_deleted_after(self, frame: FrameReadings) -> bool:
        """Return whether a record without a state is from before a camera was deleted.

        Both must be old: offsets begin anew when a topic is made anew, clocks are set back.
        """
        place = self._deleted_up_to(frame)
        return (
            place is not None
            and frame.frame.offset <= place.offset
            and frame.captured_ms <= place.captured_ms
        )

    def _deleted_up_to(self, frame: FrameReadings) -> DeletedUpTo | None:
        data = self._table.get(_deleted_key(frame))
        if data is None:
            return None
        try:
            return decode(DeletedUpTo, data)
        except UnknownRecordVersionError:
            return None


def _deleted_key(frame: FrameReadings) -> bytes:
    return b"deleted/%d" % frame.frame.partition
