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
from collections.abc import Callable, Collection, Coroutine
from dataclasses import replace
from itertools import takewhile
from typing import Any

import structlog

from contracts.deliveries import AttemptOutcome, Delivery
from streams.common.app import Event
from streams.webhooks.attempts import attempt_of, log_attempt
from streams.webhooks.bounds import PendingCounts
from streams.webhooks.jobs import DispatchRules, Job, Send, Stage
from streams.webhooks.metrics import DeliveryMetrics
from streams.webhooks.pending import PendingDelivery, PendingTable, key_of
from streams.webhooks.queues import EndpointQueues
from streams.webhooks.recorder import Entry, Recorder, TellsAttempts
from streams.webhooks.schedule import SendKind, SendResult, judge

log = structlog.get_logger()

_TICK_SECONDS = 0.05
_DONE_REMEMBERED = 20_000
_FULL = SendResult(kind=SendKind.REFUSED, error="Too many deliveries wait already.")


class Dispatcher:
    """Lives on the stage's event loop."""

    def __init__(
        self,
        *,
        stage: Stage,
        table: PendingTable,
        tell: TellsAttempts,
        send: Send,
        rules: DispatchRules,
        metrics: DeliveryMetrics,
        now_ms: Callable[[], int],
    ) -> None:
        """Take the table and the neighbours."""
        self._stage = stage
        self._table = table
        self._send = send
        self._rules = rules
        self._metrics = metrics
        self._now_ms = now_ms
        self._queues = EndpointQueues(rules.queues)
        self._recorder = Recorder(stage=stage, table=table, tell=tell, books=self)
        # Deliveries whose message is not acknowledged yet, or that are under way.
        self._jobs: dict[bytes, Job] = {}
        self._due: list[tuple[int, bytes, str]] = []
        self._pending = PendingCounts(rules.pending)
        self._done: OrderedDict[bytes, None] = OrderedDict()
        self._partitions: frozenset[int] = frozenset()
        # Jobs whose place in the queues a rebalance took while they were on their way to the table.
        self._displaced: set[Job] = set()
        self._attempts: set[asyncio.Task[None]] = set()

    async def offer(self, delivery: Delivery, event: Event) -> None:
        """Take a delivery with its message, which is acknowledged once nothing can lose it.

        Returns as soon as the next one may come.
        """
        key = key_of(delivery)
        job = self._jobs.get(key)
        if job is not None:
            job.events.append(event)
        elif key in self._done or key in self._table:
            self._stage.release(event)
        else:
            await self._take(key, delivery, event)
        self._fill()

    def restore(self, partitions: Collection[int]) -> None:
        """Begin anew with what the table holds of the partitions that are this worker's now.

        What is under way goes on; what merely waited comes again as a message.
        """
        self._partitions = frozenset(partitions)
        self._queues.clear()
        self._due.clear()
        self._pending.clear()
        # What is on its way into the table is not in it yet: it goes on as well.
        self._jobs = {k: j for k, j in self._jobs.items() if j.is_under_way or j.is_being_put}
        for job in self._jobs.values():
            job.events.clear()
        self._displaced = {job for job in self._jobs.values() if not job.is_under_way}
        for key, head in self._table.keep_only(self._partitions):
            self._schedule(key, head.delivery.endpoint, head.due_ms)
        log.info(
            "deliveries_restored", pending=self._pending.total, partitions=sorted(self._partitions)
        )

    async def run(self) -> None:
        """Start what is due and write down what became of it, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(self._tick())

    async def fence(self) -> None:
        """Wait, before partitions go to another worker, until nothing more is written of them."""
        await self._recorder.fence()

    async def stop(self) -> None:
        """Give up what is under way: it is in the table, or comes again as a message."""
        for task in self._attempts:
            task.cancel()
        await asyncio.gather(*self._attempts, return_exceptions=True)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            try:
                self._start_due()
                self._fill()
                await self._keep_impatient()
            except Exception:
                # The edge of the loop: without it no retry would ever be made again.
                log.exception("dispatcher_tick_failed")
            self._metrics.show(pending=self._pending.total, waiting=len(self._queues))

    async def _take(self, key: bytes, delivery: Delivery, event: Event) -> None:
        job = Job(
            key,
            delivery,
            event.message.partition,
            taken_seconds=time.monotonic(),
            events=[event],
        )
        self._jobs[key] = job
        endpoint = delivery.endpoint
        is_failing = self._queues.is_failing(endpoint)
        if self._pending.has_most(endpoint) or (is_failing and self._pending.is_full_for(endpoint)):
            job.is_under_way = True
            self._settle(job, _FULL, self._now_ms(), 0)
            return
        self._queues.add(endpoint, delivery.occurred_ms, key)
        if is_failing or await self._is_too_much():
            await self._keep(job)

    async def _is_too_much(self) -> bool:
        """Tell whether to keep what comes now; wait while there is room for it nowhere."""
        while len(self._jobs) > self._rules.most_unkept:
            if not self._pending.is_full:
                return True
            if self._stage.is_leaving:
                return False
            await asyncio.sleep(_TICK_SECONDS)
        return False

    async def _keep(self, job: Job) -> None:
        """Have a job that waits for its turn put into the table, once there is room for it."""
        job.is_being_kept = True
        await self._recorder.has_room()
        self._recorder.add(Entry(job))

    async def _keep_impatient(self) -> None:
        patience = time.monotonic() - self._rules.patience_seconds
        waited = takewhile(lambda job: job.taken_seconds <= patience, self._jobs.values())
        for job in [job for job in waited if not (job.is_being_kept or job.is_under_way)]:
            if self._stage.is_leaving or self._pending.is_full:
                return
            await self._keep(job)

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
            self._spawn(self._attempt(job))

    def _kept_job(self, key: bytes) -> Job | None:
        pending = self._table.get(key)
        if pending is None:
            return None
        return Job(key, pending.delivery, pending.partition, pending.attempts, is_kept=True)

    async def _attempt(self, job: Job) -> None:
        started_ms, started = self._now_ms(), time.monotonic()
        result = await self._tried(job)
        self._queues.end(job.delivery.endpoint, is_failing=result.kind is SendKind.FAILED)
        self._fill()
        self._settle(job, result, started_ms, time.monotonic() - started)

    async def _tried(self, job: Job) -> SendResult:
        try:
            return await self._send(job.delivery, job.attempts + 1)
        except Exception:
            # The edge of an attempt: whatever it was, the delivery must not be lost for it.
            log.exception("attempt_failed", delivery_id=str(job.delivery.id))
            return SendResult(kind=SendKind.FAILED, error="The attempt failed inside the service.")

    def _settle(self, job: Job, result: SendResult, started_ms: int, seconds: float) -> None:
        job.attempts += 1
        now_ms = self._now_ms()
        is_new_failure = result.kind is SendKind.FAILED and not job.is_kept
        if is_new_failure and self._pending.is_full_for(job.delivery.endpoint):
            result = replace(result, kind=SendKind.REFUSED, error=f"{result.error} {_FULL.error}")
        verdict = judge(
            result,
            attempts=job.attempts,
            now_ms=now_ms,
            pauses_seconds=self._rules.pauses_seconds,
        )
        attempt = attempt_of(job.delivery, job.attempts, result, verdict, started_ms, seconds)
        self._metrics.attempted(job.delivery, verdict.outcome, seconds, now_ms)
        log_attempt(attempt)
        self._recorder.add(Entry(job, attempt))

    def owns(self, partition: int) -> bool:
        """Tell whether a partition is this worker's."""
        return partition in self._partitions

    def still_waits(self, job: Job) -> bool:
        """Tell whether a job is still here and not under way."""
        return not job.is_under_way and self._jobs.get(job.key) is job

    def waiting(self, job: Job) -> PendingDelivery:
        """Return a job as it waits for its turn."""
        return PendingDelivery(
            delivery=job.delivery,
            attempts=job.attempts,
            due_ms=self._now_ms(),
            partition=job.partition,
        )

    def wrote(self, entry: Entry, pending: PendingDelivery | None, *, is_stored: bool) -> None:
        """Let go of what is written; what is not stored comes again."""
        job = entry.job
        if is_stored:
            self._release(job)
        if entry.attempt is None:
            self._kept(job, pending)
        else:
            self._settled(job, entry.attempt.outcome, pending, is_stored=is_stored)

    def _kept(self, job: Job, pending: PendingDelivery | None) -> None:
        is_displaced = job in self._displaced
        self._displaced.discard(job)
        if pending is not None and self.owns(job.partition):
            job.is_kept = True
            if is_displaced and not job.is_under_way:
                self._schedule(job.key, job.delivery.endpoint, pending.due_ms)
            else:
                self._pending.change(job.delivery.endpoint, 1)
        if self.still_waits(job):
            # In the table, or its message comes again: to this worker or to another one.
            del self._jobs[job.key]

    def _settled(
        self,
        job: Job,
        outcome: AttemptOutcome,
        pending: PendingDelivery | None,
        *,
        is_stored: bool,
    ) -> None:
        if self._jobs.get(job.key) is job:
            del self._jobs[job.key]
        if not is_stored:
            return
        endpoint = job.delivery.endpoint
        if outcome is AttemptOutcome.RETRYING:
            if pending is not None and self.owns(job.partition):
                self._schedule(job.key, endpoint, pending.due_ms, is_new=not job.is_kept)
            return
        if job.is_kept:
            self._pending.change(endpoint, -1)
        self._done[job.key] = None
        if len(self._done) > _DONE_REMEMBERED:
            self._done.popitem(last=False)

    def _schedule(self, key: bytes, endpoint: str, due_ms: int, *, is_new: bool = True) -> None:
        if is_new:
            self._pending.change(endpoint, 1)
        heapq.heappush(self._due, (due_ms, key, endpoint))

    def _release(self, job: Job) -> None:
        for event in job.events:
            self._stage.release(event)
        job.events.clear()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._attempts.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._attempts.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery_task_failed", exc_info=error)
