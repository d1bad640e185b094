"""Writes the outcomes of deliveries: first attempts to their topic, then changes to the table.

The dispatcher releases the message after both writes. All outcomes that arrive while Kafka stores a
batch form the next batch, in order, because writing each outcome separately would be too slow.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import structlog

from common.records.deliveries import DeliveryAttempt
from common.retry import RetryPolicy
from streams.runtime.app import StageApp
from streams.runtime.sending import OutgoingMessage
from streams.webhooks.delivery.job import DeliveryJob
from streams.webhooks.delivery.pending import PendingDelivery, PendingTable

log = structlog.get_logger()

_MAX_BATCH = 2_000
_MAX_WAITING = 1_000
_FENCE_SECONDS = 5.0

AttemptPublisher = Callable[[Sequence[DeliveryAttempt]], Awaitable[Sequence[bool]]]
"""Publishes attempts. Returns for each attempt whether Kafka has stored it."""


@dataclass(eq=False)
class DeliveryOutcome:
    """A change of a job that must be written.

    If ``attempt`` is set, the attempt is written first, and then ``pending`` as the table's entry
    until the next attempt, or None after the last. Otherwise, ``pending`` stores a waiting job.
    """

    job: DeliveryJob
    pending: PendingDelivery | None
    attempt: DeliveryAttempt | None = None
    is_published: bool = False
    """Whether the attempt is on its topic, so that only the table must still be written."""

    @property
    def is_final(self) -> bool:
        """Whether this is the outcome of the last attempt."""
        return self.pending is None


@dataclass(frozen=True)
class WriteResult:
    """The result of a write. If it is not stored, its message or table entry is read again."""

    outcome: DeliveryOutcome
    is_stored: bool


class OutcomeWriter:
    """Writes outcomes in the order of :meth:`add`. Call :meth:`write_next` from one task."""

    def __init__(self, *, stage: StageApp, table: PendingTable, publish: AttemptPublisher) -> None:
        self._stage = stage
        self._table = table
        self._publish = publish
        self._partitions: frozenset[int] = frozenset()
        self._outcomes: list[DeliveryOutcome] = []
        self._sending: frozenset[DeliveryJob] = frozenset()
        self._has_work = asyncio.Event()
        self._has_capacity = asyncio.Event()
        self._has_capacity.set()
        self._writing = asyncio.Lock()
        self._retry = RetryPolicy(longest_pause_seconds=2.0)
        self._failures = 0

    def assign(self, partitions: Collection[int]) -> None:
        """Set the partitions whose table entries may be written from now on."""
        self._partitions = frozenset(partitions)

    def add(self, outcome: DeliveryOutcome) -> None:
        """Queue an outcome to be written."""
        self._outcomes.append(outcome)
        self._has_work.set()
        if len(self._outcomes) >= _MAX_WAITING:
            self._has_capacity.clear()

    async def wait_for_capacity(self) -> None:
        """Wait while too many outcomes are queued."""
        await self._has_capacity.wait()

    def is_sending(self, job: DeliveryJob) -> bool:
        """Return whether a waiting job is being written to the table at this moment."""
        return job in self._sending

    async def write_next(self) -> list[WriteResult]:
        """Wait for outcomes, write them, and return the results of completed writes.

        A write that Kafka did not acknowledge is retried by a later call, after a pause. The caller
        must process the results before the next await, so that the table and the jobs agree.
        """
        if self._failures:
            await asyncio.sleep(self._retry.pause_seconds(self._failures))
        await self._has_work.wait()
        outcomes = self._next_batch()
        async with self._writing:
            try:
                results, failed = await self._write(outcomes)
            except Exception:
                # Catch-all: if this task ended, no delivery would ever be completed again.
                log.exception("delivery_results_not_written")
                results, failed = [], outcomes
        self._failures = self._failures + 1 if failed else 0
        return [*results, *self._put_back(failed)]

    async def fence(self) -> None:
        """Wait until no write is in flight, but at most as long as a rebalance can wait.

        Later writes check whether the partitions still belong to this worker.
        """
        try:
            async with asyncio.timeout(_FENCE_SECONDS), self._writing:
                return
        except TimeoutError:
            log.warning("deliveries_in_flight_at_rebalance")

    def _next_batch(self) -> list[DeliveryOutcome]:
        batch, self._outcomes = self._outcomes[:_MAX_BATCH], self._outcomes[_MAX_BATCH:]
        if not self._outcomes:
            self._has_work.clear()
        if len(self._outcomes) < _MAX_WAITING:
            self._has_capacity.set()
        return batch

    def _put_back(self, failed: list[DeliveryOutcome]) -> list[WriteResult]:
        if not failed:
            return []
        log.warning("delivery_state_write_failed", failures=self._failures, count=len(failed))
        if self._stage.is_leaving:
            return [WriteResult(outcome, is_stored=False) for outcome in failed]
        self._outcomes[:0] = failed
        self._has_work.set()
        return []

    async def _write(
        self, outcomes: Sequence[DeliveryOutcome]
    ) -> tuple[list[WriteResult], list[DeliveryOutcome]]:
        """Publish attempts, then change the table; return results and unacknowledged outcomes.

        In the reverse order, a crash after the deletion of an entry would lose its attempt.
        """
        await self._publish_attempts(outcomes)
        results: list[WriteResult] = []
        failed: list[DeliveryOutcome] = []
        writes: list[tuple[DeliveryOutcome, OutgoingMessage | None]] = []
        for outcome in outcomes:
            if outcome.attempt is not None and not outcome.is_published:
                failed.append(outcome)
            elif outcome.attempt is None and not outcome.job.state.is_to_be_stored:
                # The job's turn came first, or a rebalance removed the job: nothing to write.
                continue
            elif outcome.is_final or self._may_store(outcome.job):
                writes.append((outcome, self._change(outcome)))
            else:
                results.append(WriteResult(outcome, is_stored=False))
        if results:
            # The caller drops these jobs before its next await. Otherwise, a reread message would
            # join a job that is about to be dropped, and would never be released.
            self._outcomes[:0] = [outcome for outcome, _ in writes]
            self._has_work.set()
            return results, failed
        for (outcome, _), is_stored in zip(writes, await self._apply(writes), strict=True):
            if is_stored:
                results.append(WriteResult(outcome, is_stored=True))
            else:
                failed.append(outcome)
        return results, failed

    async def _publish_attempts(self, outcomes: Sequence[DeliveryOutcome]) -> None:
        unpublished = [
            (outcome, outcome.attempt)
            for outcome in outcomes
            if outcome.attempt is not None and not outcome.is_published
        ]
        taken = await self._publish([attempt for _, attempt in unpublished])
        for (outcome, _), is_published in zip(unpublished, taken, strict=True):
            outcome.is_published = is_published

    async def _apply(
        self, writes: Sequence[tuple[DeliveryOutcome, OutgoingMessage | None]]
    ) -> list[bool]:
        """Change the table; return for each write whether the table is now correct."""
        self._sending = frozenset(o.job for o, _ in writes if o.attempt is None)
        try:
            taken = iter(await self._table.apply([c for _, c in writes if c is not None]))
        finally:
            self._sending = frozenset()
        return [change is None or next(taken) for _, change in writes]

    def _may_store(self, job: DeliveryJob) -> bool:
        # The next owner may have read the table already, and would not delete later entries.
        return not self._stage.is_leaving and job.partition in self._partitions

    def _change(self, outcome: DeliveryOutcome) -> OutgoingMessage | None:
        """Return the change of the table, or None if the table is already correct."""
        if outcome.pending is not None:
            return self._table.put_change(outcome.pending)
        # This is correct even if another worker owns the partition: this was the last attempt.
        return self._table.delete_change(outcome.job.key, partition=outcome.job.partition)
