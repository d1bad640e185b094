"""Schedules the attempts of deliveries, and ensures that no delivery is lost.

A delivery that succeeds at the first attempt is never written to the table: its message is
acknowledged once the attempt is on the attempts topic. A delivery that fails or waits too long is
stored in the table before its message is acknowledged, and a restart loads it from the table. An
attempt interrupted by a crash is repeated with the same ids. See :class:`DeliveryState` for states.
"""

import asyncio
import heapq
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile

import structlog
from cachetools import LRUCache

from common.records.deliveries import AttemptOutcome, Delivery
from streams.runtime.app import Event, StageApp
from streams.webhooks.delivery.job import DeliveryJob, DeliveryState, DispatchRules, SendDelivery
from streams.webhooks.delivery.metrics import DeliveryMetrics
from streams.webhooks.delivery.pending import (
    PendingCounts,
    PendingDelivery,
    PendingTable,
    pending_key,
)
from streams.webhooks.delivery.queues import EndpointQueues
from streams.webhooks.delivery.schedule import (
    SendKind,
    SendResult,
    attempt_record,
    decide,
    log_attempt,
)
from streams.webhooks.delivery.writer import (
    AttemptPublisher,
    DeliveryOutcome,
    OutcomeWriter,
    WriteResult,
)

log = structlog.get_logger()

# The maximum limits the delay after the machine was suspended or its clock was changed.
_TICK_SECONDS, _MAX_SECONDS = 0.05, 1.0
_STARTS_PER_TURN = 2
_DONE_REMEMBERED = 20_000
_FULL = SendResult(kind=SendKind.REFUSED, error="Too many deliveries are pending.")


class Dispatcher:
    """Manages all deliveries in progress. Use the dispatcher on the stage's event loop."""

    def __init__(
        self,
        *,
        stage: StageApp,
        table: PendingTable,
        publish: AttemptPublisher,
        send: SendDelivery,
        rules: DispatchRules,
        metrics: DeliveryMetrics,
        now_ms: Callable[[], int],
    ) -> None:
        self._stage = stage
        self._table = table
        self._send = send
        self._rules = rules
        self._metrics = metrics
        self._now_ms = now_ms
        self._queues = EndpointQueues(rules.queues)
        self._writer = OutcomeWriter(stage=stage, table=table, publish=publish)
        # Deliveries that are in progress or whose message is not acknowledged yet.
        self._jobs: dict[bytes, DeliveryJob] = {}
        self._due: list[tuple[int, bytes]] = []
        self._pending = PendingCounts(rules.pending)
        self._done: LRUCache[bytes, None] = LRUCache(_DONE_REMEMBERED)
        self._partitions: frozenset[int] = frozenset()
        self._attempts: set[asyncio.Task[None]] = set()
        self._has_news = asyncio.Event()
        self._next_beginning: asyncio.Handle | None = None

    async def offer(self, delivery: Delivery, event: Event) -> None:
        """Accept a delivery; return once the next delivery can be offered.

        ``event`` is acknowledged once the delivery is stored in the table or completed.
        """
        key = pending_key(delivery)
        job = self._jobs.get(key)
        if job is not None:
            job.events.append(event)
        elif key in self._done or key in self._table:
            self._stage.release(event)
        else:
            await self._accept(key, delivery, event)
        self._begin_attempts()

    def restore(self, partitions: Collection[int]) -> None:
        """Reload the table's entries of the partitions that now belong to this worker.

        Attempts in progress continue. Messages of waiting deliveries will be read again.
        """
        self._partitions = frozenset(partitions)
        self._writer.assign(self._partitions)
        self._queues.clear()
        self._due.clear()
        self._pending.clear()
        self._has_news.set()
        self._jobs = {key: job for key, job in self._jobs.items() if self._outlives_rebalance(job)}
        for key, head in self._table.retain_partitions(self._partitions):
            self._schedule(key, head.delivery.endpoint, head.due_ms)
        log.info(
            "deliveries_restored", pending=self._pending.total, partitions=sorted(self._partitions)
        )

    async def run(self) -> None:
        """Start due attempts and write outcomes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_outcomes())
            group.create_task(self._tick())

    async def fence(self) -> None:
        """Wait briefly until no write is in flight. Call this before partitions are reassigned."""
        await self._writer.fence()

    async def stop(self) -> None:
        """Cancel running attempts. Deliveries remain in the table, or their messages in Kafka."""
        if self._next_beginning is not None:
            self._next_beginning.cancel()
        for task in self._attempts:
            task.cancel()
        await asyncio.gather(*self._attempts, return_exceptions=True)

    async def _write_outcomes(self) -> None:
        while True:
            for result in await self._writer.write_next():
                try:
                    self._on_written(result)
                except Exception:
                    # Catch-all: the other results must be applied despite an error.
                    log.exception("delivery_results_not_applied")

    async def _tick(self) -> None:
        while True:
            await self._wait_for_work()
            try:
                self._queue_due()
                self._begin_attempts()
                await self._store_overdue()
            except Exception:
                # Catch-all: if this task ended, no delivery would ever be retried again.
                log.exception("dispatcher_tick_failed")
            self._metrics.show(pending=self._pending.total, waiting=len(self._queues))

    async def _wait_for_work(self) -> None:
        if self._jobs or len(self._queues):
            await asyncio.sleep(_TICK_SECONDS)
            return
        left_ms = self._due[0][0] - self._now_ms() if self._due else None
        seconds = None if left_ms is None else min(max(_TICK_SECONDS, left_ms / 1000), _MAX_SECONDS)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), seconds)
        self._has_news.clear()

    async def _accept(self, key: bytes, delivery: Delivery, event: Event) -> None:
        job = self._jobs[key] = DeliveryJob(
            key,
            delivery,
            event.message.partition,
            accepted_seconds=time.monotonic(),
            events=[event],
        )
        self._has_news.set()
        endpoint = delivery.endpoint
        is_failing = self._queues.is_failing(endpoint)
        if self._pending.is_at_endpoint_limit(endpoint) or (
            is_failing and self._pending.is_full_for(endpoint)
        ):
            self._record(job, _FULL, self._now_ms(), 0)
            return
        self._queues.add(delivery, key)
        if is_failing or await self._is_overloaded():
            await self._store(job)

    async def _is_overloaded(self) -> bool:
        """Return whether to store a new delivery. Wait while memory and table are both full."""
        while len(self._jobs) > self._rules.max_unstored:
            if not self._pending.is_full:
                return True
            if self._stage.is_leaving:
                return False
            await asyncio.sleep(_TICK_SECONDS)
        return False

    async def _store(self, job: DeliveryJob) -> None:
        """Write a waiting job to the table, once the writer has capacity."""
        if job.state is not DeliveryState.QUEUED:
            # The delivery is no longer waiting for its turn.
            return
        job.enter(DeliveryState.STORING)
        await self._writer.wait_for_capacity()
        self._writer.add(DeliveryOutcome(job, self._pending_of(job, self._now_ms())))

    async def _store_overdue(self) -> None:
        latest = time.monotonic() - self._rules.store_after_seconds
        waited = takewhile(lambda job: job.accepted_seconds <= latest, self._jobs.values())
        for job in [job for job in waited if job.state is DeliveryState.QUEUED]:
            if self._stage.is_leaving or self._pending.is_full:
                return
            await self._store(job)

    def _queue_due(self) -> None:
        now_ms = self._now_ms()
        while self._due and self._due[0][0] <= now_ms:
            _, key = heapq.heappop(self._due)
            pending = self._table.get(key)
            # If the delivery is not due, the heap has another entry with the later time.
            if pending is not None and pending.due_ms <= now_ms:
                self._queues.add(pending.delivery, key)

    def _begin_attempts(self) -> None:
        """Start attempts while there is capacity, a few in each turn of the event loop.

        If a hundred attempts started together, each would wait for all steps of the others.
        """
        if self._next_beginning is None:
            self._begin_some()

    def _begin_some(self) -> None:
        self._next_beginning = None
        for _ in range(_STARTS_PER_TURN):
            if self._stage.is_leaving or (turn := self._queues.begin()) is None:
                return
            self._begin(*turn)
        self._next_beginning = asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin(self, endpoint: str, key: bytes) -> None:
        job = self._jobs.get(key) or self._stored_job(key)
        if job is None or job.state.is_in_progress:
            self._queues.end(endpoint, is_failing=self._queues.is_failing(endpoint))
            return
        job.enter(DeliveryState.ATTEMPTING)
        self._jobs[key] = job
        task = asyncio.create_task(self._attempt(job))
        self._attempts.add(task)
        task.add_done_callback(self._on_ended)

    def _stored_job(self, key: bytes) -> DeliveryJob | None:
        pending = self._table.get(key)
        if pending is None:
            return None
        return DeliveryJob(
            key,
            pending.delivery,
            pending.partition,
            pending.attempts,
            state=DeliveryState.STORED,
            is_in_table=True,
        )

    async def _attempt(self, job: DeliveryJob) -> None:
        started_ms, started = self._now_ms(), time.monotonic()
        result = await self._sent(job)
        self._queues.end(job.delivery.endpoint, is_failing=result.kind is SendKind.FAILED)
        self._begin_attempts()
        self._record(job, result, started_ms, time.monotonic() - started)

    async def _sent(self, job: DeliveryJob) -> SendResult:
        try:
            return await self._send(job.delivery, job.attempts + 1)
        except Exception:
            # Catch-all: the delivery must not be lost, whatever the error.
            log.exception("delivery_attempt_crashed", delivery_id=str(job.delivery.id))
            return SendResult(kind=SendKind.FAILED, error="Internal error during the attempt.")

    def _record(
        self, job: DeliveryJob, result: SendResult, started_ms: int, seconds: float
    ) -> None:
        """Decide how a delivery continues after an attempt, and queue the outcome for writing."""
        job.enter(DeliveryState.RECORDING)
        job.attempts += 1
        now_ms = self._now_ms()
        is_new_failure = result.kind is SendKind.FAILED and not job.is_in_table
        if is_new_failure and self._pending.is_full_for(job.delivery.endpoint):
            result = replace(result, kind=SendKind.REFUSED, error=f"{result.error} {_FULL.error}")
        decision = decide(
            result,
            attempts=job.attempts,
            now_ms=now_ms,
            pauses_seconds=self._rules.pauses_seconds,
        )
        attempt = attempt_record(job.delivery, job.attempts, result, decision, started_ms, seconds)
        self._metrics.attempted(attempt, now_ms, is_held_back=result.is_held_back)
        log_attempt(attempt)
        next_ms = decision.next_attempt_ms
        pending = None if next_ms is None else self._pending_of(job, next_ms)
        self._writer.add(DeliveryOutcome(job, pending, attempt))

    def _pending_of(self, job: DeliveryJob, due_ms: int) -> PendingDelivery:
        return PendingDelivery(
            delivery=job.delivery, attempts=job.attempts, due_ms=due_ms, partition=job.partition
        )

    def _outlives_rebalance(self, job: DeliveryJob) -> bool:
        """Detach a job from its messages, which will be read again. Return whether it continues."""
        job.events.clear()
        if job.state.is_in_progress:
            return True
        if not self._writer.is_sending(job):
            job.enter(DeliveryState.LEFT_TO_REPLAY)
            return False
        if job.state is DeliveryState.STORING:
            job.enter(DeliveryState.DISPLACED)
        return True

    def _on_written(self, result: WriteResult) -> None:
        """Release the messages of an outcome if it is stored. Otherwise, they are read again."""
        job, attempt = result.outcome.job, result.outcome.attempt
        if result.is_stored:
            for event in job.events:
                self._stage.release(event)
            job.events.clear()
        if attempt is None:
            self._on_stored(job, result)
        else:
            self._on_recorded(job, attempt.outcome, result)

    def _on_stored(self, job: DeliveryJob, result: WriteResult) -> None:
        pending = result.outcome.pending if result.is_stored else None
        if pending is not None and job.partition in self._partitions:
            job.is_in_table = True
            if job.state is DeliveryState.DISPLACED:
                self._schedule(job.key, job.delivery.endpoint, pending.due_ms)
            else:
                self._pending.change(job.delivery.endpoint, 1)
        if job.state.is_to_be_stored:
            # If the delivery is not stored, this or another worker will read its message again.
            is_stored = result.is_stored
            job.enter(DeliveryState.STORED if is_stored else DeliveryState.LEFT_TO_REPLAY)
            del self._jobs[job.key]

    def _on_recorded(self, job: DeliveryJob, outcome: AttemptOutcome, result: WriteResult) -> None:
        del self._jobs[job.key]
        if not result.is_stored:
            job.enter(DeliveryState.LEFT_TO_REPLAY)
            return
        endpoint, pending = job.delivery.endpoint, result.outcome.pending
        if pending is not None:
            job.enter(DeliveryState.STORED)
            if job.partition in self._partitions:
                self._schedule(job.key, endpoint, pending.due_ms, is_new=not job.is_in_table)
            return
        job.enter(DeliveryState.DONE)
        if job.is_in_table:
            self._pending.change(endpoint, -1)
        self._done[job.key] = None

    def _schedule(self, key: bytes, endpoint: str, due_ms: int, *, is_new: bool = True) -> None:
        if is_new:
            self._pending.change(endpoint, 1)
        heapq.heappush(self._due, (due_ms, key))

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        self._attempts.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery_task_failed", exc_info=error)
