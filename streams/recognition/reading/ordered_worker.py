"""Reads the frames of a partition concurrently, and publishes them in order."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import structlog
from mode import Service

from common.errors import EXIT_MISCONFIGURED, MisconfiguredError
from common.records.frames import FrameReference
from recognition.workers.pool import RecognizerPool
from streams.recognition.frame_store import FrameRecord
from streams.recognition.reading.agent import ReadingAgent
from streams.runtime.app import Event
from streams.runtime.process_exit import end_process
from streams.runtime.stage_runner import StageRunner

log = structlog.get_logger()

_MAX_WITHOUT_SLOT = 64
"""Maximum number of frames (0.3 MB each) that only wait for earlier frames."""


class QueuePosition:
    """A position in the queue of a partition. Leaving the ``async with`` block ends the turn."""

    def __init__(self, before: "QueuePosition | None") -> None:
        self._before = before
        self.holds_slot = True
        """Whether the task at this position occupies a slot of the pool."""
        self._ended = asyncio.Event()

    async def wait(self) -> None:
        """Wait until all earlier turns have ended."""
        if self._before is not None:
            await self._before._ended.wait()
            self._before = None

    async def __aenter__(self) -> Self:
        """Enter the block without waiting for earlier turns."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the turn once all earlier turns have ended, even after an error."""
        try:
            await self.wait()
        finally:
            self._ended.set()


Work = Callable[[QueuePosition], Awaitable[None]]


class OrderedTaskPool:
    """Runs at most ``size`` tasks at a time. Tasks of a partition take turns in submission order.

    A task that only waits for its turn can release its slot, and then no longer counts.
    """

    def __init__(self, size: int) -> None:
        self._without_slot = 0
        self._free = asyncio.Semaphore(size)
        self._last: dict[int, QueuePosition] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_full(self) -> bool:
        """Whether the next task must wait for a slot."""
        return self._free.locked()

    @property
    def running(self) -> int:
        """The number of unfinished tasks."""
        return len(self._tasks)

    async def submit(self, partition: int, work: Work) -> None:
        """Start a task once a slot is free; return when the task has started.

        ``work`` must not raise, and must await ``position.wait()`` before publishing its result.
        """
        await self._free.acquire()
        position = QueuePosition(self._last.get(partition))
        self._last[partition] = position
        task = asyncio.create_task(self._run(position, work))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._finished(done, position))

    def release(self, position: QueuePosition) -> None:
        """Release the slot of a waiting task, unless too many tasks already wait without a slot."""
        if position.holds_slot and self._without_slot < _MAX_WITHOUT_SLOT:
            position.holds_slot = False
            self._without_slot += 1
            self._free.release()

    async def close(self) -> None:
        """Cancel all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, position: QueuePosition, work: Work) -> None:
        async with position:
            await work(position)

    def _finished(self, task: "asyncio.Task[None]", position: QueuePosition) -> None:
        self._tasks.discard(task)
        if position.holds_slot:
            self._free.release()
        else:
            self._without_slot -= 1


class OrderedFrameWorker:
    """Passes frames to the agent. If a frame is abandoned, so are the partition's later frames."""

    def __init__(
        self, task_pool: OrderedTaskPool, runner: StageRunner, reading: ReadingAgent
    ) -> None:
        self._task_pool = task_pool
        self._runner = runner
        self._reading = reading

    async def submit(self, event: Event) -> None:
        """Start processing a frame once a slot is free; return when processing has started."""

        async def work(position: QueuePosition) -> None:
            await self._runner.run(event, lambda e: self._handle(e, position))

        await self._task_pool.submit(event.message.partition, work)

    async def _handle(self, event: Event, position: QueuePosition) -> None:
        async def wait_order() -> None:
            await position.wait()
            # The turn of an earlier frame also ends if that frame was abandoned.
            self._runner.require_next(event)

        await self._reading.handle(
            _frame_record(event), wait_order, lambda: self._task_pool.release(position)
        )


def _frame_record(event: Event) -> FrameRecord:
    message = event.message
    return FrameRecord(
        key=message.key or b"",
        value=message.value or b"",
        headers=dict(message.headers or {}),
        reference=FrameReference(partition=message.partition, offset=message.offset),
    )


class RecognizerService(Service):
    """Runs the inference workers while the app runs."""

    def __init__(self, pool: RecognizerPool, task_pool: OrderedTaskPool, **options: Any) -> None:
        super().__init__(**options)
        self._pool = pool
        self._task_pool = task_pool

    async def on_start(self) -> None:
        """Load the models. A worker without models must not be assigned partitions."""
        try:
            await self._pool.start()
        except MisconfiguredError as error:
            log.error("recognizer_misconfigured", error=str(error))
            end_process(EXIT_MISCONFIGURED)

    async def on_stop(self) -> None:
        """Stop the inference workers. Frames in progress will be read again."""
        await self._task_pool.close()
        await self._pool.stop()
