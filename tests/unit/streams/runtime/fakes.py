"""A stage without Kafka: the parts of an app and of its events that the guard uses."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import faust
from aiokafka.producer.message_accumulator import BatchBuilder

from common.retry import RetryPolicy
from streams.runtime.app import Event, StageApp, StageMetrics
from streams.runtime.progress import PartitionProgress
from streams.runtime.stage_runner import DeadLetterSender, StageRunner


class FakeApp:
    """The parts of an app that the guard uses. Released events are recorded."""

    def __init__(self) -> None:
        self.conf = SimpleNamespace(id="platestream-testing")
        self.is_leaving = False
        self.is_waiting = False
        self.metrics = StageMetrics()
        self.released: list[int] = []
        self._progress: defaultdict[int, PartitionProgress] = defaultdict(PartitionProgress)

    def deliver(self, *events: Event) -> None:
        """Record that the stage gets the events."""
        for each in events:
            self._progress[each.message.partition].delivered(each.message.offset)

    def release(self, event: Event) -> None:
        """Record that the event was released."""
        self.released.append(event.message.offset)
        self._progress[event.message.partition].done(event.message.offset)

    def is_next(self, event: Event) -> bool:
        """Return whether everything delivered before the event has been released."""
        return self._progress[event.message.partition].is_next(event.message.offset)

    def as_app(self) -> StageApp:
        return cast(StageApp, self)


async def no_letter(key: bytes | None, value: bytes) -> None:
    """Fail, because no message may become a dead letter."""
    raise AssertionError(f"a dead letter: {value!r}")


def guard_of(app: FakeApp, send: DeadLetterSender = no_letter) -> StageRunner:
    """Return a guard that retries immediately. Without ``send``, dead letters fail the test."""
    return StageRunner(
        app.as_app(),
        stage="testing",
        send_dead_letter=send,
        retry=RetryPolicy(first_pause_seconds=0.001, longest_pause_seconds=0.001),
        dead_letters_per_minute=100,
        max_dead_letter_bytes=100_000,
    )


@dataclass(eq=False)
class FakeEvent:
    message: SimpleNamespace
    value: bytes | None = field(default=None)


def event(
    offset: int,
    value: bytes | None = b"value",
    key: bytes | None = b"key",
    headers: Mapping[str, bytes] | None = None,
    partition: int = 3,
) -> Event:
    """Return an event of the topic ``things``."""
    message = SimpleNamespace(
        topic="things", partition=partition, offset=offset, key=key, value=value, headers=headers
    )
    return cast(Event, FakeEvent(message, value))


class FakeBatch:
    """aiokafka's own batch, with its messages."""

    def __init__(self, batch_bytes: int) -> None:
        self._batch = BatchBuilder(batch_bytes, 0)
        self.messages: list[tuple[bytes, bytes | None]] = []
        self.headers: list[dict[str, bytes]] = []

    def append(
        self, *, timestamp: None, key: bytes, value: bytes | None, headers: list[tuple[str, bytes]]
    ) -> Any:
        """Add a message, or return None if the batch is full."""
        added = self._batch.append(timestamp=timestamp, key=key, value=value, headers=headers)
        if added is not None:
            self.messages.append((key, value))
            self.headers.append(dict(headers))
        return added

    def close(self) -> None:
        self._batch.close()


class FakeTopic:
    """A topic of eight partitions, its app and its producer. ``faults`` has errors by partition."""

    def __init__(self, batch_bytes: int = 4096) -> None:
        self.sent: list[tuple[int, bytes, bytes | None]] = []
        self.headers: list[dict[str, bytes]] = []
        self.batches = 0
        self.faults: dict[int, Exception] = {}
        self.app = self
        self._batch_bytes = batch_bytes

    def as_topic(self) -> faust.TopicT:
        return cast(faust.TopicT, self)

    def get_topic_name(self) -> str:
        return "things"

    async def batch_producer(self) -> "FakeTopic":
        """Return this fake, which is its own producer."""
        return self

    async def partitions_for(self, topic: str) -> set[int]:
        return set(range(8))

    def create_batch(self) -> FakeBatch:
        return FakeBatch(self._batch_bytes)

    async def send_batch(
        self, batch: FakeBatch, topic: str, *, partition: int
    ) -> asyncio.Future[None]:
        """Return the future of a batch. The first batch is accepted after a short delay."""
        for _ in range(0 if self.sent else 5):
            await asyncio.sleep(0)
        promise: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if partition in self.faults:
            promise.set_exception(self.faults[partition])
            return promise
        self.batches += 1
        self.sent += [(partition, key, value) for key, value in batch.messages]
        self.headers += batch.headers
        promise.set_result(None)
        return promise
