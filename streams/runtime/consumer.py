"""Faust's Kafka consumer with a commit rule that never passes a record that is not done.

faust-streaming 0.15.3 can commit past a record in four ways: a head gap of exactly one is taken
for a hole in the log (its issue 606); an exception out of an agent acknowledges (527); a record
that a rebalance skips is acknowledged all the same; and records fetched before a seek and delivered
after it open a gap that is then counted as done (596). Here an offset is committed only when the
stage has released it and everything delivered before it, see :mod:`streams.runtime.progress`; and a
jump ahead in a partition's offsets is fetched once more before it is believed.

A broker that loses power may lose the end of a log that was read and committed. aiokafka then reads
the whole log again, and Faust drops what is below the committed offset, new records among it. Here
reading goes on a little before the end, and the lower offset is committed.

A worker that was frozen, or cut off from Kafka, for longer than its session does not know that its
partitions are others' now: until it hears of its group again, or is told, it sends nothing. What it
has of a table is from before; written behind what the others wrote it would stand after a restart.
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
# Where a log lost its end nobody knows what was written to it since. Records read before the loss
# come again with the same ids; those after it must not be skipped. A broker that checks its logs,
# and a stage that starts, take minutes.


def _seconds() -> float:
    """Return seconds that pass while the process, or the machine, is frozen too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class StageConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread that talks to Kafka; new records are fetched without delay.

    ``pace`` is there once it has started. ``heard_seconds`` is when the last heartbeat was sent
    that the group's coordinator answered.
    """

    heard_seconds: float | None = None
    pace: FetchWaitTuner | None = None

    async def on_start(self) -> None:
        """Start the consumer, and note what becomes of its heartbeats."""
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
        """Find no fault while tables are read, for the reason of
        :meth:`StageConsumer.verify_event_path`: counted from the start of the process, each
        changelog that is read after a later rebalance would be one.
        """
        return False

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        """Return the offset of the first record written since then, None where there is none."""
        found = await self.call_thread(self._ensure_consumer().offsets_for_times, {tp: unix_ms})
        return None if found[tp] is None else int(found[tp].offset)

    async def committed(self, tp: TP) -> int | None:
        """Return what Kafka has as committed, None for nothing."""
        found: int | None = await self.call_thread(self._ensure_consumer().committed, tp)
        return found


class StageConsumer(driver.Consumer):
    """Commits what the stage released, and nothing past it."""

    # A StageApp, which imports this module.
    app: Any
    _thread: StageConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._progress: defaultdict[TP, PartitionProgress] = defaultdict(PartitionProgress)
        self._starts: dict[TP, int] = {}
        self._unread: set[TP] = set()
        self._confirmed_gaps: dict[TP, int] = {}
        self._passage = OffsetSkipper(self.app, self._progress)
        self._deliver = self.callback
        self.callback: ConsumerCallback = self._on_delivery

    @property
    def member_seconds(self) -> float:
        """For how long the group still takes this worker for alive, if it hears of it no more."""
        heard = self._thread.heard_seconds
        session: float = self.app.conf.broker_session_timeout
        return session if heard is None else max(0.0, heard + session - _seconds())

    def release(self, message: Message) -> None:
        """Release a message that is done for good: its offset may be committed."""
        progress = self._progress.get(message.tp)
        if progress is not None and message.generation_id == self.app.consumer_generation_id:
            progress.done(message.offset)

    def is_next(self, message: Message) -> bool:
        """Return whether the message is still ours and all delivered before it are released."""
        progress = self._progress.get(message.tp)
        is_ours = message.generation_id == self.app.consumer_generation_id
        return is_ours and progress is not None and progress.is_next(message.offset)

    async def positions(self) -> dict[TP, Position]:
        """Return for each partition how far it is committed and where it ends, asking Kafka."""
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
        """Return how far a partition is done; what retention took unread is never delivered.

        Records in flight are there to be done even where retention has taken them.
        """
        done = max(start, self._committed_offset[tp] or 0)
        is_idle = tp not in self._progress or not self._progress[tp].in_flight
        return max(done, first) if is_idle else done

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        """Return the offset of the first record written since then, None where there is none."""
        return await self._thread.offset_since(tp, unix_ms)

    async def committed_at_kafka(self, tp: TP) -> int | None:
        """Return what Kafka has as committed, None for nothing."""
        return await self._thread.committed(tp)

    async def _on_delivery(self, message: Message) -> None:
        if self.app.topics.acks_enabled_for(message.topic):
            self._progress[message.tp].delivered(message.offset)
        await self._deliver(message)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Judge nothing: the watchdog (:mod:`streams.runtime.worker`) finds what stands still.

        It goes by lag and by what is done. Faust goes by when something last came, and so takes
        for stuck, as errors in the log of a sound stage, a partition's first message in minutes
        while it is on its way, and changelogs, which are not read once their table is there.
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
            # Faust's own lists of acknowledged offsets are not used, and would grow for ever.
            self._acked[tp] = []
            self._acked_index[tp] = {o for o in self._acked_index[tp] if o >= offset}
            self._gap.pop(tp, None)
        return offset

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Finish and commit what is in flight (Faust does), then forget the partitions."""
        self._on_busy()
        await self._passage.wait_until_stored()
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self._progress.pop(tp, None)
            self._confirmed_gaps.pop(tp, None)
            self._starts.pop(tp, None)
            self._unread.discard(tp)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin with partitions that the group has just given."""
        self._thread.heard_seconds = _seconds()
        self._on_busy()
        await super().on_partitions_assigned(assigned, generation_id)

    async def perform_seek(self) -> None:
        """Read again from the committed offsets; where there is none, from the beginning."""
        await super().perform_seek()
        starts = await self._find_starts([tp for tp in self.assignment() if self._is_ours(tp)])
        for tp, start in starts.items():
            self._progress[tp].rewind(start)
            if start > (self._committed_offset.get(tp) or 0):
                # It is committed even where nothing comes after what retention took.
                self._progress[tp].pass_over(start)
            self._starts[tp] = start
        # aiokafka seeks neither where nothing is committed nor to offset zero.
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
            return await self._go_back(tp, committed, end)
        if committed < first:
            log.warning("unread_records_expired", partition=str(tp), count=first - committed)
            self.app.metrics.messages_lost(tp, first - committed)
        return max(committed, first)

    async def _go_back(self, tp: TP, expected: int, end: int) -> int:
        """Return where to read on in a log that lost its end, once that is committed."""
        since_ms = round((time.time() - _READ_AGAIN_SECONDS) * 1000)
        found = await self._thread.offset_since(tp, since_ms)
        start = end if found is None else found
        log.error("partition_truncated", partition=str(tp), expected=expected, end=end, start=start)
        # Faust commits nothing below what it knows; and records before the first commit of a
        # start like this one would be skipped by the next.
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
            # What would be delivered now is cleared from the queues when the rebalance ends.
            wanted = {tp for tp in wanted if not self._is_ours(tp)}
        elif self._unread:
            await self._read_again()
        if not self.app.rebalancing:
            await self._go_past_gaps(self._passage.ends(wanted))
        wanted -= self._unread
        if not wanted:
            # To aiokafka no partitions means all of them.
            await asyncio.sleep(_NOTHING_WANTED_PAUSE_SECONDS)
            return {}
        if self._thread.pace is not None:
            self._thread.pace.set_wanted(wanted)
        generation_id = self.app.consumer_generation_id
        records = await super()._getmany(wanted, timeout)
        if records:
            self._on_busy()
        if generation_id == self.app.consumer_generation_id and not self.app.rebalancing:
            await self._leave_where_log_is_shorter(records)
            records, in_gaps = await self._passage.deliverable(records)
            self._unread |= in_gaps
        self._unread |= self._unwanted(records)
        return {tp: found for tp, found in records.items() if tp not in self._unread}

    async def _go_past_gaps(self, ends: dict[TP, int]) -> None:
        """Go on at the ends of the gaps that begin where partitions are."""
        if not ends:
            return
        generation_id = self.app.consumer_generation_id
        try:
            # A log that lost its end is read from its beginning where one seeks past it.
            ends = self._passage.within(ends, await self.highwaters(*ends))
            await self.seek_wait(ends)
        except (IllegalStateError, KafkaTimeoutError, TimeoutError):
            log.info("seek_interrupted", partitions=[str(tp) for tp in ends])
            self._unread.update(ends)
        else:
            # A rebalance meanwhile has sought by itself.
            if generation_id == self.app.consumer_generation_id and not self.app.rebalancing:
                self._passage.pass_over(ends)

    def _on_busy(self) -> None:
        if self._thread.pace is not None:
            self._thread.pace.on_busy()

    async def _leave_where_log_is_shorter(self, records: Mapping[TP, list[Any]]) -> None:
        """End the process where a log is read from an earlier place than was asked for.

        It lost its end while it was read. A record in flight may have the offset of a new one, so
        only a start sorts them out.
        """
        lost = {
            tp: expected
            for tp, found in records.items()
            if found and (expected := self._passage.expected(tp)) and found[0].offset < expected
        }
        for tp, expected in lost.items():
            await self._go_back(tp, expected, (await self.highwaters(tp))[tp])
        if lost:
            end_process(EXIT_TEMPORARY_FAILURE)

    def _unwanted(self, records: Mapping[TP, list[Any]]) -> set[TP]:
        if self.app.rebalancing:
            return {tp for tp in records if self._is_ours(tp)}
        return {tp for tp, found in records.items() if found and self._jumps(tp, found[0].offset)}

    def _jumps(self, tp: TP, offset: int) -> bool:
        """Return whether records seem to be missing before ``offset``, asked for only once yet."""
        expected = self._passage.expected(tp)
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
            # A rebalance has begun meanwhile; it ends with a seek of its own.
            log.info("seek_interrupted", partitions=[str(tp) for tp in known])
            return
        self._unread.difference_update(positions)


class StageTransport(driver.Transport):
    """Faust's aiokafka transport with consumer and producer of our own."""

    Consumer = StageConsumer
    Producer = StageProducer
