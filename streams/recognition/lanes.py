"""The way of a frame through the reading agent: read at once, out in its partition's order."""

from contracts.frames import FrameReference
from streams.common.app import Event
from streams.common.guard import Guard
from streams.recognition.ordered_window import OrderedWindow, Turn
from streams.recognition.reading import FrameRecord, Reading


class ReadingLanes:
    """One lane a partition. What one of its frames could not do, none after it does either."""

    def __init__(self, window: OrderedWindow, guard: Guard, reading: Reading) -> None:
        """Take what orders, what guards and what reads."""
        self._window = window
        self._guard = guard
        self._reading = reading

    async def submit(self, event: Event) -> None:
        """Begin a frame as soon as there is room; returns when it has begun."""

        async def work(turn: Turn) -> None:
            await self._guard.run(event, lambda e: self._handle(e, turn))

        await self._window.submit(event.message.partition, work)

    async def _handle(self, event: Event, turn: Turn) -> None:
        async def await_turn() -> None:
            await turn.come()
            # An earlier frame's turn is over too when it was given up.
            self._guard.require_next(event)

        await self._reading.handle(_frame_record(event), await_turn)


def _frame_record(event: Event) -> FrameRecord:
    message = event.message
    return FrameRecord(
        key=message.key or b"",
        value=message.value or b"",
        headers=dict(message.headers or {}),
        reference=FrameReference(partition=message.partition, offset=message.offset),
    )
