"""A dispatcher with scripted dependencies."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence

from common.records.codec import decode, encode
from common.records.deliveries import AttemptOutcome, Delivery, DeliveryAttempt
from streams.runtime.app import Event
from streams.runtime.sending import OutgoingMessage
from streams.webhooks.delivery.dispatcher import Dispatcher
from streams.webhooks.delivery.job import DispatchRules
from streams.webhooks.delivery.metrics import DeliveryMetrics
from streams.webhooks.delivery.pending import (
    PendingDelivery,
    PendingHead,
    PendingLimits,
    PendingTable,
)
from streams.webhooks.delivery.queues import QueueRules
from streams.webhooks.delivery.schedule import SendKind, SendResult
from tests.unit.streams.runtime.fakes import FakeApp, event

ACCEPTED = SendResult(kind=SendKind.ACCEPTED, status=200)
FAILED = SendResult(kind=SendKind.FAILED, status=503, error="Received status 503.")
REFUSED = SendResult(kind=SendKind.REFUSED, status=410, error="Received status 410.")
PARTITION = 3


class FakeTable(PendingTable):
    """A table without Kafka that can be unavailable."""

    def __init__(self) -> None:
        self.kept: dict[bytes, PendingDelivery] = {}
        self.is_unavailable = False
        self.tries = 0
        self.is_asked = asyncio.Event()
        self.may_write = asyncio.Event()
        self.may_write.set()

    def get(self, key: bytes) -> PendingDelivery | None:
        return self.kept.get(key)

    def __contains__(self, key: bytes) -> bool:
        return key in self.kept

    async def apply(self, changes: Sequence[OutgoingMessage]) -> list[bool]:
        if changes:
            self.tries += 1
            self.is_asked.set()
            await self.may_write.wait()
        if self.is_unavailable:
            return [False] * len(changes)
        for change in changes:
            if change.value is None:
                self.kept.pop(change.key, None)
            else:
                self.kept[change.key] = decode(PendingDelivery, change.value)
        return [True] * len(changes)

    def retain_partitions(self, partitions: Collection[int]) -> list[tuple[bytes, PendingHead]]:
        kept = [(key, decode(PendingHead, encode(each))) for key, each in self.kept.items()]
        return [(key, head) for key, head in kept if head.partition in partitions]


class CountingMetrics(DeliveryMetrics):
    """Counts the rounds in which the dispatcher has processed its queue."""

    def __init__(self) -> None:
        super().__init__()
        self.rounds = 0
        self.pending = 0

    def show(self, *, pending: int, waiting: int) -> None:
        """Count a round of the dispatcher."""
        self.rounds += 1
        self.pending = pending


class Bench:
    def __init__(self) -> None:
        self.app = FakeApp()
        self.table = FakeTable()
        self.published: list[DeliveryAttempt] = []
        self.sent: list[Delivery] = []
        self.answers: defaultdict[str, SendResult] = defaultdict(lambda: ACCEPTED)
        self.hanging: set[str] = set()
        self.may_answer = asyncio.Event()
        self.are_attempts_unavailable = False
        self.publications = 0
        self.metrics = CountingMetrics()
        self.now_ms = 1_000_000
        self._offset = 0
        self.new()

    def new(self, **rules: object) -> None:
        """Create a new dispatcher, as a restarted process does."""
        given: dict[str, object] = {
            "queues": QueueRules(max_attempts=64, max_per_endpoint=4, backlog_per_attempt=8),
            "pending": PendingLimits(max_total=100_000, max_per_endpoint=100_000),
            "pauses_seconds": (5, 30),
        }
        self.dispatcher = Dispatcher(
            stage=self.app.as_app(),
            table=self.table,
            publish=self.publish,
            send=self.send,
            rules=DispatchRules(**(given | rules)),  # type: ignore[arg-type]
            metrics=self.metrics,
            now_ms=lambda: self.now_ms,
        )
        self.dispatcher.restore({PARTITION})
        self._running = asyncio.create_task(self.dispatcher.run())

    async def crash(self) -> None:
        """Stop the dispatcher without cleaning up."""
        self._running.cancel()
        await self.dispatcher.stop()

    async def send(self, sent: Delivery, number: int) -> SendResult:
        self.sent.append(sent)
        if sent.endpoint in self.hanging:
            await self.may_answer.wait()
        await asyncio.sleep(0)
        return self.answers[sent.endpoint]

    async def publish(self, attempts: Sequence[DeliveryAttempt]) -> list[bool]:
        self.publications += bool(attempts)
        await asyncio.sleep(0)
        if not self.are_attempts_unavailable:
            self.published += attempts
        return [not self.are_attempts_unavailable] * len(attempts)

    async def offer(self, *deliveries: Delivery) -> list[Event]:
        """Deliver messages to the dispatcher, and return their events."""
        events = []
        for each in deliveries:
            self._offset += 1
            message = event(self._offset, partition=PARTITION)
            self.app.deliver(message)
            events.append(message)
            await self.dispatcher.offer(each, message)
        return events

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, and fail after a timeout."""
        async with asyncio.timeout(5):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.005)

    def advance(self, milliseconds: int) -> None:
        """Move the clock forward. The dispatcher notices at once, and not within a second."""
        self.now_ms += milliseconds
        self.dispatcher._has_news.set()

    async def rounds(self, count: int = 3) -> None:
        """Let the dispatcher run this many rounds, even if it waits for work."""
        wanted = self.metrics.rounds + count
        async with asyncio.timeout(5):
            while self.metrics.rounds < wanted:
                self.advance(0)
                await asyncio.sleep(0.005)

    def outcomes(self) -> Counter[AttemptOutcome]:
        return Counter(attempt.outcome for attempt in self.published)
