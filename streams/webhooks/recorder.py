"""Writes down what became of deliveries: attempts on their topic, then the table, then the message.

Everything that came about while Kafka took the last of it goes in one piece, in its order: one
after the other would cost more than the deliveries themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from contracts.deliveries import DeliveryAttempt
from streams.common.retry import RetryPolicy
from streams.common.sending import Outgoing
from streams.webhooks.jobs import Job, Stage
from streams.webhooks.pending import PendingDelivery, PendingTable

log = structlog.get_logger()

_MOST_AT_ONCE = 2_000
_ROOM_FOR = 1_000
_FENCE_SECONDS = 5.0

TellsAttempts = Callable[[Sequence[DeliveryAttempt]], Awaitable[Sequence[bool]]]
"""Publishes attempts, and returns for each whether Kafka has it."""


@dataclass(frozen=True)
class Entry:
    """What is to be written of a job: its attempt, or without one that it waits."""

    job: Job
    attempt: DeliveryAttempt | None = None


class Books(Protocol):
    """Whose deliveries they are."""

    def owns(self, partition: int) -> bool:
        """Tell whether a partition is this worker's."""

    def still_waits(self, job: Job) -> bool:
        """Tell whether a job that was to be kept still is to be."""

    def waiting(self, job: Job) -> PendingDelivery:
        """Return a job as it is to be kept until its turn."""

    def wrote(self, entry: Entry, pending: PendingDelivery | None, *, is_stored: bool) -> None:
        """Hear what became of an entry, and of what was put into the table.

        Where it is not stored, it comes again: as a message, or from the table.
        """


@dataclass(frozen=True)
class _Write:
    """An entry with what it changes in the table; ``change`` is None where it changes nothing."""

    entry: Entry
    pending: PendingDelivery | None = None
    change: Outgoing | None = None


class Recorder:
    """Writes in the order of :meth:`add`. Lives on the stage's event loop."""

    def __init__(
        self, *, stage: Stage, table: PendingTable, tell: TellsAttempts, books: Books
    ) -> None:
        """Take where to write."""
        self._stage = stage
        self._table = table
        self._tell = tell
        self._books = books
        self._entries: list[Entry] = []
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._writing = asyncio.Lock()
        self._back_off = RetryPolicy(longest_pause_seconds=2.0)

    def add(self, entry: Entry) -> None:
        """Have something written."""
        self._entries.append(entry)
        self._news.set()
        if len(self._entries) >= _ROOM_FOR:
            self._room.clear()

    async def has_room(self) -> None:
        """Wait until what is to be written is not too much."""
        await self._room.wait()

    async def run(self) -> None:
        """Write, until cancelled."""
        failures = 0
        while True:
            await self._news.wait()
            again = await self._write_next()
            failures = failures + 1 if again else 0
            if again:
                await self._put_off(again, failures)

    async def fence(self) -> None:
        """Wait until nothing is on its way to Kafka, for as long as a rebalance may wait.

        What is begun later knows that the partitions may be another worker's.
        """
        try:
            async with asyncio.timeout(_FENCE_SECONDS), self._writing:
                return
        except TimeoutError:
            log.warning("deliveries_under_way_at_rebalance")

    async def _write_next(self) -> Sequence[Entry]:
        """Write what is there; return what must be tried again."""
        entries, self._entries = self._entries[:_MOST_AT_ONCE], self._entries[_MOST_AT_ONCE:]
        if not self._entries:
            self._news.clear()
        if len(self._entries) < _ROOM_FOR:
            self._room.set()
        async with self._writing:
            try:
                return await self._write(entries)
            except Exception:
                # The edge of the loop: without it no delivery would ever be done again.
                log.exception("deliveries_not_recorded")
                return entries

    async def _put_off(self, entries: Sequence[Entry], failures: int) -> None:
        log.warning("delivery_state_not_stored", failures=failures, count=len(entries))
        if self._stage.is_leaving:
            for entry in entries:
                self._books.wrote(entry, None, is_stored=False)
            return
        self._entries[:0] = entries
        self._news.set()
        await asyncio.sleep(self._back_off.pause_seconds(failures))

    async def _write(self, entries: Sequence[Entry]) -> list[Entry]:
        """Tell of attempts, once, then keep or clear the deliveries. Repeatable.

        In this order: what is cleared first and then cut off would never be told.
        """
        await self._tell_of([entry for entry in entries if not entry.job.is_told])
        again = [entry for entry in entries if entry.attempt and not entry.job.is_told]
        writes = [
            write
            for entry in entries
            if not (entry.attempt and not entry.job.is_told)
            and (write := self._planned(entry)) is not None
        ]
        for write in writes:
            write.entry.job.is_being_put = write.entry.attempt is None
        changes = [write.change for write in writes if write.change is not None]
        taken = iter(await self._table.change(changes))
        for write in writes:
            write.entry.job.is_being_put = False
            if write.change is None or next(taken):
                self._books.wrote(write.entry, write.pending, is_stored=True)
            else:
                again.append(write.entry)
        return again

    async def _tell_of(self, entries: Sequence[Entry]) -> None:
        untold = [(each.job, each.attempt) for each in entries if each.attempt is not None]
        taken = await self._tell([attempt for _, attempt in untold])
        for (job, _), is_told in zip(untold, taken, strict=True):
            job.is_told = is_told

    def _planned(self, entry: Entry) -> _Write | None:
        """Return what an entry changes; None where it is dealt with."""
        job, attempt = entry.job, entry.attempt
        if attempt is not None and attempt.next_attempt_ms is None:
            # Right whoever has the partition now: it was the last attempt.
            return _Write(entry, change=self._table.removal(job.key, partition=job.partition))
        if attempt is None and not self._books.still_waits(job):
            return None
        if self._stage.is_leaving or not self._books.owns(job.partition):
            # Its next owner may have read the table already, and would not clear what comes after.
            self._books.wrote(entry, None, is_stored=False)
            return None
        pending = self._books.waiting(job) if attempt is None else _retried(job, attempt)
        return _Write(entry, pending, self._table.addition(pending))


def _retried(job: Job, attempt: DeliveryAttempt) -> PendingDelivery:
    assert attempt.next_attempt_ms is not None
    return PendingDelivery(
        delivery=job.delivery,
        attempts=job.attempts,
        due_ms=attempt.next_attempt_ms,
        partition=job.partition,
    )
