"""Extends Faust's Kafka consumer with a commit rule that never skips an unprocessed record.

faust-streaming 0.15.3 can commit past a record in four ways: it mistakes a gap of exactly one
record at the head for a hole in the log (faust-streaming issue 606); an exception raised by an
agent acknowledges the record (issue 527); a record that a rebalance skips is acknowledged; and
records that are fetched before a seek but delivered after it open a gap that then counts as
processed (issue 596). This consumer commits an offset once the stage has released all earlier
records (:mod:`streams.runtime.progress`), and accepts a jump in offsets only after a second fetch.

A broker that loses power can lose the end of a log that was read and committed. aiokafka then reads
the whole log again, and Faust drops all records below the committed offset, including new ones.
This consumer resumes a little before the end of the log, and commits the lower offset.

A worker that was frozen or disconnected from Kafka for longer than its session does not know that
its partitions were reassigned. The worker sends nothing until it hears from its group again: its
copy of a table is outdated, and would override the new owner's records at a restart.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import structlog
from aiokafka.errors import IllegalStateError, KafkaTimeoutError
from faust.transport.consumer import RecordMap
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, Message
from faust.types.transports import ConsumerCallback, TPorTopicSet

from common.errors import EXIT_TEMPORARY_FAILURE
from common.kafka.workarounds.offset_fetch import raise_offset_fetch_errors
from streams.runtime.backlog import OffsetSkipper
from streams.runtime.fetch_wait import FetchWaitTuner
from streams.runtime.process_exit import end_process
from streams.runtime.progress import PartitionProgress, Position
from streams.runtime.sending import StageProducer

log = structlog.get_logger()
raise_offset_fetch_errors()

_NOTHING_WANTED_PAUSE_SECONDS = 0.05
_READ_AGAIN_SECONDS = 600.0
# If a log lost its end, it is unknown what has been written to the log since. Records read before
# the loss are read again with the same ids; records written after the loss must not be skipped. A
# broker that checks its logs and a stage that starts each take minutes.


def _seconds() -> float:
    """Return a time in seconds that also advances while the process or the machine is frozen."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class StageConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread that communicates with Kafka and fetches new records without delay.

    ``pace`` is set once the thread has started. ``heard_seconds`` is the time at which the last
    heartbeat answered by the group's coordinator was sent.
    """

    heard_seconds: float | None = None
    pace: FetchWaitTuner | None = None

    async def on_start(self) -> None:
        """Start the consumer, and record the results of its heartbeats."""
        await super().on_start()
        consumer = self._ensure_consumer()
        self.pace = FetchWaitTuner(consumer._fetcher)
        coordinator = consumer._coordinator
        beat = coordinator._do_heartbeat

        async def noted_beat() -> bool:
            sent = _seconds()
            is_member = bool(await beat())
            if is_member:
                self.heard_seconds = sent
            return is_member

        coordinator._do_heartbeat = noted_beat

    def _verify_aiokafka_event_path(self, now: float, tp: TP) -> bool:
        """Return False (no fault), because Faust would report changelogs that are read late."""
        return False

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        """Return the offset of the first record since ``unix_ms``, or None if there is none."""
        found = await self.call_thread(self._ensure_consumer().offsets_for_times, {tp: unix_ms})
        return None if found[tp] is None else int(found[tp].offset)

    async def committed(self, tp: TP) -> int | None:
        """Return the offset that is committed in Kafka, or None if there is none."""
        found: int | None = await self.call_thread(self._ensure_consumer().committed, tp)
        return found


class StageConsumer(driver.Consumer):
    """Commits only records that the stage has released."""

    # The app is a StageApp, whose module imports this module.
    app: Any
    _thread: StageConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._progress: defaultdict[TP, PartitionProgress] = defaultdict(PartitionProgress)
        self._starts: dict[TP, int] = {}
        self._unread: set[TP] = set()
        self._confirmed_gaps: dict[TP, int] = {}
        self._skipper = OffsetSkipper(self.app, self._progress)
        self._deliver = self.callback
        self.callback: ConsumerCallback = self._on_delivery

    @property
    def member_seconds(self) -> float:
        """Seconds for which the group considers this worker alive without another heartbeat."""
        heard = self._thread.heard_seconds
        session: float = self.app.conf.broker_session_timeout
        return session if heard is None else max(0.0, heard + session - _seconds())

    def release(self, message: Message) -> None:
        """Release a message that is completely processed, so that its offset may be committed."""
        progress = self._progress.get(message.tp)
        if progress is not None and message.generation_id == self.app.consumer_generation_id:
            progress.done(message.offset)

    def is_next(self, message: Message) -> bool:
        """Return whether the message is still ours and all earlier messages are released."""
        progress = self._progress.get(message.tp)
        is_ours = message.generation_id == self.app.consumer_generation_id
        return is_ours and progress is not None and progress.is_next(message.offset)

    async def positions(self) -> dict[TP, Position]:
        """Return the committed position and the end of each partition, as reported by Kafka."""
        starts = dict(self._starts)
        if not starts:
            return {}
        firsts = await self.earliest_offsets(*starts)
        ends = await self.highwaters(*starts)
        return {
            tp: Position(done=self._done(tp, start, firsts[tp]), end=ends[tp])
            for tp, start in starts.items()
            if tp in firsts and tp in ends
        }

    def _done(self, tp: TP, start: int, first: int) -> int:
        """Return the offset up to which a partition is processed.

        Expired records count as processed, unless records are in flight.
        """
        done = max(start, self._committed_offset[tp] or 0)
        is_idle = tp not in self._progress or not self._progress[tp].in_flight
        return max(done, first) if is_idle else done

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        """Return the offset of the first record since ``unix_ms``, or None if there is none."""
        return await self._thread.offset_since(tp, unix_ms)

    async def committed_at_kafka(self, tp: TP) -> int | None:
        """Return the offset that is committed in Kafka, or None if there is none."""
        return await self._thread.committed(tp)

    async def _on_delivery(self, message: Message) -> None:
        if self.app.topics.acks_enabled_for(message.topic):
            self._progress[message.tp].delivered(message.offset)
        await self._deliver(message)

    async def verify_all_partitions_active(self) -> None:
        """Do nothing: the watchdog (:mod:`streams.runtime.worker`) detects a stalled stage.

        The watchdog checks lag and progress. Faust checks when the last message arrived, and so
        logs errors in a healthy stage: while the first message in minutes is in transit, and for
        changelogs. Its loop over all partitions was also a third of an idle stage's CPU time.
        """

    def _new_consumer_thread(self) -> StageConsumerThread:
        return StageConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def _filter_tps_with_pending_acks(self, topics: TPorTopicSet | None = None) -> Iterator[TP]:
        return (
            tp
            for tp in list(self._progress)
            if topics is None or tp in topics or tp.topic in topics
        )

    def _new_offset(self, tp: TP) -> int | None:
        offset = self._progress[tp].pop_committable()
        if offset is not None:
            # Faust's own lists of acknowledged offsets are unused here, and would grow forever.
            self._acked[tp] = []
            self._acked_index[tp] = {o for o in self._acked_index[tp] if o >= offset}
            self._gap.pop(tp, None)
        return offset

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Let Faust finish and commit records in flight, then drop the partitions."""
        await self._skipper.wait_until_stored()
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self._progress.pop(tp, None)
            self._confirmed_gaps.pop(tp, None)
            self._starts.pop(tp, None)
            self._unread.discard(tp)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Start reading partitions that the group has just assigned."""
        self._thread.heard_seconds = _seconds()
        await super().on_partitions_assigned(assigned, generation_id)

    async def perform_seek(self) -> None:
        """Seek to the committed offsets, or to the beginning of partitions without an offset."""
        await super().perform_seek()
        starts = await self._find_starts([tp for tp in self.assignment() if self._is_ours(tp)])
        for tp, start in starts.items():
            self._progress[tp].rewind(start)
            if start > (self._committed_offset.get(tp) or 0):
                # Commit this offset even if nothing follows the expired records.
                self._progress[tp].pass_over(start)
            self._starts[tp] = start
        # aiokafka seeks neither in partitions without a committed offset nor to offset zero.
        await self.seek_wait(starts)

    async def _find_starts(self, partitions: Collection[TP]) -> dict[TP, int]:
        if not partitions:
            return {}
        firsts = await self.earliest_offsets(*partitions)
        ends = await self.highwaters(*partitions)
        return {tp: await self._start(tp, firsts[tp], ends[tp]) for tp in partitions}

    async def _start(self, tp: TP, first: int, end: int) -> int:
        committed = self._committed_offset.get(tp)
        if committed is None:
            return first
        if committed > end:
            return await self._resume_after_loss(tp, committed, end)
        if committed < first:
            log.warning("unread_records_expired", partition=str(tp), count=first - committed)
            self.app.metrics.messages_lost(tp, first - committed)
        return max(committed, first)

    async def _resume_after_loss(self, tp: TP, expected: int, end: int) -> int:
        """Commit and return the offset at which to resume in a log that lost its end."""
        since_ms = round((time.time() - _READ_AGAIN_SECONDS) * 1000)
        found = await self._thread.offset_since(tp, since_ms)
        start = end if found is None else found
        log.error("partition_truncated", partition=str(tp), expected=expected, end=end, start=start)
        # Faust commits no offset below the last committed offset that it knows. Without this reset,
        # the next start would skip records.
        self._committed_offset[tp] = None
        if await self._commit({tp: start}):
            self._committed_offset[tp] = start
        return start

    def _is_ours(self, tp: TP) -> bool:
        return not self._is_changelog_tp(tp)

    async def _getmany(
        self,
        active_partitions: set[TP] | None,
        timeout: float,  # noqa: ASYNC109 - Faust's signature
    ) -> RecordMap:
        wanted = set(active_partitions or ())
        if self.app.rebalancing:
            # When the rebalance ends, the queues are cleared, including a record delivered now.
            wanted = {tp for tp in wanted if not self._is_ours(tp)}
        elif self._unread:
            await self._read_again()
        if not self.app.rebalancing:
            await self._skip_gaps(self._skipper.ends(wanted))
        wanted -= self._unread
        if not wanted:
            # For aiokafka, an empty list means all partitions.
            await asyncio.sleep(_NOTHING_WANTED_PAUSE_SECONDS)
            return {}
        if self._thread.pace is not None:
            self._thread.pace.set_wanted(wanted)
        generation_id = self.app.consumer_generation_id
        records = await super()._getmany(wanted, timeout)
        if generation_id == self.app.consumer_generation_id and not self.app.rebalancing:
            await self._exit_if_log_is_shorter(records)
            records, in_gaps = await self._skipper.deliverable(records)
            self._unread |= in_gaps
        self._unread |= self._unwanted(records)
        return {tp: found for tp, found in records.items() if tp not in self._unread}

    async def _skip_gaps(self, ends: dict[TP, int]) -> None:
        """Skip the gaps that begin at the current positions of partitions."""
        if not ends:
            return
        generation_id = self.app.consumer_generation_id
        try:
            # After a seek past the end of a log, aiokafka reads the log from the beginning.
            ends = self._skipper.within(ends, await self.highwaters(*ends))
            await self.seek_wait(ends)
        except (IllegalStateError, KafkaTimeoutError, TimeoutError):
            log.info("seek_interrupted", partitions=[str(tp) for tp in ends])
            self._unread.update(ends)
        else:
            # If a rebalance has begun, the rebalance sets the right position.
            if generation_id == self.app.consumer_generation_id and not self.app.rebalancing:
                self._skipper.pass_over(ends)

    async def _exit_if_log_is_shorter(self, records: Mapping[TP, list[Any]]) -> None:
        """Exit the process if a log is read from an earlier position than requested.

        This means that the log lost its end while it was being read. A record in flight may have
        the same offset as a new record; only a restart can distinguish the two.
        """
        lost = {
            tp: expected
            for tp, found in records.items()
            if found and (expected := self._skipper.expected(tp)) and found[0].offset < expected
        }
        for tp, expected in lost.items():
            await self._resume_after_loss(tp, expected, (await self.highwaters(tp))[tp])
        if lost:
            end_process(EXIT_TEMPORARY_FAILURE)

    def _unwanted(self, records: Mapping[TP, list[Any]]) -> set[TP]:
        if self.app.rebalancing:
            return {tp for tp in records if self._is_ours(tp)}
        return {tp for tp, found in records.items() if found and self._jumps(tp, found[0].offset)}

    def _jumps(self, tp: TP, offset: int) -> bool:
        """Return whether records before ``offset`` seem to be missing after only one fetch."""
        expected = self._skipper.expected(tp)
        if expected is None or offset <= expected or self._confirmed_gaps.get(tp) == expected:
            return False
        log.warning("offsets_jumped_ahead", partition=str(tp), expected=expected, found=offset)
        self._confirmed_gaps[tp] = expected
        return True

    async def _read_again(self) -> None:
        self._unread &= self.assignment()
        positions = {tp: self._progress[tp].expected_offset for tp in self._unread}
        known = {tp: offset for tp, offset in positions.items() if offset is not None}
        try:
            await self.seek_wait(known)
        except (IllegalStateError, TimeoutError):
            # A rebalance has begun, and will set the right position.
            log.info("seek_interrupted", partitions=[str(tp) for tp in known])
            return
        self._unread.difference_update(positions)


class StageTransport(driver.Transport):
    """Faust's aiokafka transport with our consumer and producer."""

    Consumer = StageConsumer
    Producer = StageProducer
