"""Takes deliveries, has them tried, and sees to it that none is forgotten.

A delivery that goes well at the first try never touches the table: its message is acknowledged when
the attempt is on its topic. What fails, or waits for longer than a moment, is kept in the table;
then its message is acknowledged, and a restart finds it there. What a crash cuts off is tried
again, with the same ids.
"""

import asyncio
import heapq
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from contracts.deliveries import AttemptOutcome, Delivery, DeliveryAttempt
from contracts.errors import TransientError
from streams.common.app import Event
from streams.common.retry import RetryPolicy
from streams.webhooks.attempts import Attempts, attempt_of, log_attempt
from streams.webhooks.metrics import DeliveryMetrics
from streams.webhooks.pending import PendingDelivery, PendingTable, key_of
from streams.webhooks.queues import EndpointQueues, QueueRules
from streams.webhooks.schedule import SendKind, SendResult, judge

log = structlog.get_logger()

Send = Callable[[Delivery, int], Awaitable[SendResult]]
"""Tries a delivery, given the number of the attempt; never raises for what a receiver does."""

_TICK_SECONDS = 0.05
_DONE_REMEMBERED = 20_000
_KEEPING_AT_ONCE = 1_000


class Stage(Protocol):
    """What the dispatcher needs of the app."""

    @property
    def is_leaving(self) -> bool:
        """Whether nothing new should be begun."""

    def release(self, event: Event) -> None:
        """Acknowledge a message."""


@dataclass(frozen=True, kw_only=True)
class DispatchRules:
    """``pauses_seconds`` lie between the attempts of a delivery.

    A delivery that waits for its turn longer than ``patience_seconds`` goes to the table, as does
    each one beyond ``most_unkept`` at once. Of more than ``most_pending_per_endpoint`` that wait
    for one endpoint, the next ones are given up at once.
    """

    queues: QueueRules
    pauses_seconds: tuple[float, ...]
    # Writing to the table costs more than waiting: a burst must not pay it for all that it brings.
    patience_seconds: float = 15.0
    most_unkept: int = 5_000
    most_pending_per_endpoint: int = 100_000


@dataclass
class _Job:
    """A delivery in hand, for one attempt. ``events`` are its messages, not yet acknowledged."""

    delivery: Delivery
    partition: int
    attempts: int = 0
    taken_seconds: float = 0.0
    events: list[Event] = field(default_factory=list)
    is_under_way: bool = False
    is_being_kept: bool = False
    is_being_put: bool = False
    is_kept: bool = False
    is_told: bool = False
    # What is written of a delivery is written in the order in which it came about.
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Dispatcher:
    """Lives on the stage's event loop."""

    def __init__(
        self,
        *,
        stage: Stage,
        table: PendingTable,
        attempts: Attempts,
        send: Send,
        rules: DispatchRules,
        metrics: DeliveryMetrics,
        now_ms: Callable[[], int],
    ) -> None:
        """Take the table and the neighbours."""
        self._stage = stage
        self._table = table
        self._attempts = attempts
        self._send = send
        self._rules = rules
        self._metrics = metrics
        self._now_ms = now_ms
        self._queues = EndpointQueues(rules.queues)
        # Deliveries whose message is not acknowledged yet, or that are under way.
        self._jobs: dict[bytes, _Job] = {}
        self._due: list[tuple[int, bytes, str]] = []
        self._pending_of: dict[str, int] = {}
        self._done: OrderedDict[bytes, None] = OrderedDict()
        self._partitions: frozenset[int] = frozenset()
        self._restored = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._keeping = asyncio.Semaphore(_KEEPING_AT_ONCE)
        self._back_off = RetryPolicy(longest_pause_seconds=2.0)

    async def offer(self, delivery: Delivery, event: Event) -> None:
        """Take a delivery with its message, which is acknowledged once nothing can lose it.

        Returns as soon as the next one may come.
        """
        key = key_of(delivery)
        job = self._jobs.get(key)
        if job is not None:
            job.events.append(event)
        elif key in self._done or self._table.get(key) is not None:
            self._stage.release(event)
        else:
            await self._take(key, delivery, event)
        self._fill()

    def restore(self, partitions: Collection[int]) -> None:
        """Begin anew with what the table holds of the partitions that are this worker's now.

        What is under way goes on; what merely waited comes again as a message.
        """
        self._restored += 1
        self._partitions = frozenset(partitions)
        self._queues.clear()
        self._due.clear()
        self._pending_of.clear()
        # What is on its way into the table is not in it yet: it goes on as well.
        self._jobs = {k: j for k, j in self._jobs.items() if j.is_under_way or j.is_being_put}
        for job in self._jobs.values():
            job.events.clear()
        count = 0
        for key, pending in self._table.keep_only(self._partitions):
            count += 1
            self._schedule(key, pending)
        log.info("deliveries_restored", pending=count, partitions=sorted(self._partitions))

    async def run(self) -> None:
        """Start what is due, until cancelled."""
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            try:
                self._start_due()
                self._fill()
                await self._keep_impatient()
            except Exception:
                # The edge of the loop: without it no retry would ever be made again.
                log.exception("dispatcher_tick_failed")
            self._metrics.show(pending=len(self._due), waiting=len(self._queues))

    async def stop(self) -> None:
        """Give up what is under way: it is in the table, or comes again as a message."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, key: bytes, delivery: Delivery, event: Event) -> None:
        job = _Job(
            delivery,
            event.message.partition,
            taken_seconds=time.monotonic(),
            events=[event],
        )
        self._jobs[key] = job
        if self._pending_of.get(delivery.endpoint, 0) >= self._rules.most_pending_per_endpoint:
            full = SendResult(kind=SendKind.REFUSED, error="Too many deliveries wait already.")
            job.is_under_way = True
            self._spawn(self._settle(key, job, full, self._now_ms(), 0))
            return
        self._queues.add(delivery.endpoint, delivery.occurred_ms, key)
        is_much = len(self._jobs) > self._rules.most_unkept
        if is_much or self._queues.is_failing(delivery.endpoint):
            await self._keep(key, job)

    async def _keep(self, key: bytes, job: _Job) -> None:
        """Begin to put a job that waits for its turn into the table, once there is room for it."""
        job.is_being_kept = True
        await self._keeping.acquire()
        self._spawn(self._keep_acquired(key, job))

    async def _keep_acquired(self, key: bytes, job: _Job) -> None:
        try:
            async with job.writing:
                await self._keep_now(key, job)
        finally:
            self._keeping.release()

    async def _keep_now(self, key: bytes, job: _Job) -> None:
        if job.is_under_way or self._jobs.get(key) is not job:
            return
        pending = PendingDelivery(
            delivery=job.delivery,
            attempts=job.attempts,
            due_ms=self._now_ms(),
            partition=job.partition,
        )
        restored, job.is_being_put = self._restored, True
        is_stored = await self._store(lambda: self._put(pending))
        job.is_being_put = False
        if is_stored:
            self._note_kept(key, job, pending, is_waiting=self._restored == restored)
        if not job.is_under_way and self._jobs.get(key) is job:
            # Not stored: its message comes again, to this worker or to another one.
            del self._jobs[key]

    def _note_kept(
        self, key: bytes, job: _Job, pending: PendingDelivery, *, is_waiting: bool
    ) -> None:
        """Let go of a job's message; ``is_waiting``: its place in the queues is still there."""
        self._release(job)
        if job.partition not in self._partitions:
            return
        job.is_kept = True
        if is_waiting or job.is_under_way:
            self._count(job.delivery.endpoint, 1)
        else:
            self._schedule(key, pending)

    async def _put(self, pending: PendingDelivery) -> bool:
        """Keep a delivery, unless its partition is another worker's, or may soon be.

        Its next owner may have read the table already, and would not clear what comes after.
        """
        if self._stage.is_leaving or pending.partition not in self._partitions:
            return False
        await self._table.put(pending)
        return True

    async def _keep_impatient(self) -> None:
        if self._stage.is_leaving:
            return
        patience = time.monotonic() - self._rules.patience_seconds
        for key, job in list(self._jobs.items()):
            if job.taken_seconds > patience:
                break
            if not (job.is_being_kept or job.is_under_way):
                await self._keep(key, job)

    def _start_due(self) -> None:
        now_ms = self._now_ms()
        while self._due and self._due[0][0] <= now_ms:
            _, key, endpoint = heapq.heappop(self._due)
            pending = self._table.get(key)
            # Where it is not due, it is so again later by another entry.
            if pending is not None and pending.due_ms <= now_ms:
                self._queues.add(endpoint, pending.delivery.occurred_ms, key)

    def _fill(self) -> None:
        """Begin attempts while there is room."""
        while not self._stage.is_leaving and (turn := self._queues.begin()) is not None:
            endpoint, key = turn
            job = self._jobs.get(key) or self._kept_job(key)
            if job is None or job.is_under_way:
                self._queues.end(endpoint, is_failing=self._queues.is_failing(endpoint))
                continue
            job.is_under_way = True
            self._jobs[key] = job
            self._spawn(self._attempt(key, job))

    def _kept_job(self, key: bytes) -> _Job | None:
        pending = self._table.get(key)
        if pending is None:
            return None
        return _Job(pending.delivery, pending.partition, pending.attempts, is_kept=True)

    async def _attempt(self, key: bytes, job: _Job) -> None:
        started_ms, started = self._now_ms(), time.monotonic()
        result = await self._tried(job)
        self._queues.end(job.delivery.endpoint, is_failing=result.kind is SendKind.FAILED)
        self._fill()
        await self._settle(key, job, result, started_ms, time.monotonic() - started)

    async def _tried(self, job: _Job) -> SendResult:
        try:
            return await self._send(job.delivery, job.attempts + 1)
        except Exception:
            # The edge of an attempt: whatever it was, the delivery must not be lost for it.
            log.exception("attempt_failed", delivery_id=str(job.delivery.id))
            return SendResult(kind=SendKind.FAILED, error="The attempt failed inside the service.")

    async def _settle(
        self, key: bytes, job: _Job, result: SendResult, started_ms: int, seconds: float
    ) -> None:
        job.attempts += 1
        verdict = judge(
            result,
            attempts=job.attempts,
            now_ms=self._now_ms(),
            pauses_seconds=self._rules.pauses_seconds,
        )
        attempt = attempt_of(job.delivery, job.attempts, result, verdict, started_ms, seconds)
        self._metrics.attempted(job.delivery, verdict.outcome, seconds, self._now_ms())
        log_attempt(attempt)
        async with job.writing:
            is_stored = await self._store(lambda: self._record(key, job, attempt))
        if is_stored:
            self._release(job)
        self._forget(key, job, attempt, is_stored=is_stored)

    async def _record(self, key: bytes, job: _Job, attempt: DeliveryAttempt) -> bool:
        """Tell of the attempt, once, and keep or clear the delivery. Repeatable.

        In this order: what is cleared first and then cut off would never be told.
        """
        if not job.is_told:
            await self._attempts.publish(attempt)
            job.is_told = True
        return await self._update_table(key, job, attempt)

    async def _update_table(self, key: bytes, job: _Job, attempt: DeliveryAttempt) -> bool:
        if attempt.next_attempt_ms is None:
            # Right whoever has the partition now: it was the last attempt.
            await self._table.remove(key, partition=job.partition)
            return True
        return await self._put(
            PendingDelivery(
                delivery=job.delivery,
                attempts=job.attempts,
                due_ms=attempt.next_attempt_ms,
                partition=job.partition,
            )
        )

    def _forget(self, key: bytes, job: _Job, attempt: DeliveryAttempt, *, is_stored: bool) -> None:
        if self._jobs.get(key) is job:
            del self._jobs[key]
        if not is_stored:
            # It comes again, as a message or from the table.
            return
        if attempt.outcome is AttemptOutcome.RETRYING:
            pending = self._table.get(key)
            if pending is not None and job.partition in self._partitions:
                self._schedule(key, pending, is_new=not job.is_kept)
            return
        if job.is_kept:
            self._count(job.delivery.endpoint, -1)
        self._done[key] = None
        if len(self._done) > _DONE_REMEMBERED:
            self._done.popitem(last=False)

    def _schedule(self, key: bytes, pending: PendingDelivery, *, is_new: bool = True) -> None:
        endpoint = pending.delivery.endpoint
        if is_new:
            self._count(endpoint, 1)
        heapq.heappush(self._due, (pending.due_ms, key, endpoint))

    def _count(self, endpoint: str, change: int) -> None:
        count = self._pending_of.get(endpoint, 0) + change
        if count > 0:
            self._pending_of[endpoint] = count
        else:
            self._pending_of.pop(endpoint, None)

    def _release(self, job: _Job) -> None:
        for event in job.events:
            self._stage.release(event)
        job.events.clear()

    async def _store(self, write: Callable[[], Awaitable[bool]]) -> bool:
        """Write until it went well; False when it was not to be, or the stage leaves before."""
        failures = 0
        while True:
            try:
                return await write()
            except TransientError as error:
                failures += 1
                log.warning("delivery_state_not_stored", failures=failures, error=str(error))
                if self._stage.is_leaving:
                    return False
                await asyncio.sleep(self._back_off.pause_seconds(failures))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery_task_failed", exc_info=error)
