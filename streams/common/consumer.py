"""Faust's Kafka consumer with a commit rule that never passes a record that is not done.

faust-streaming 0.15.3 can commit past a record in four ways: a head gap of exactly one is taken
for a hole in the log (its issue 606); an exception out of an agent acknowledges (527); a record
that a rebalance skips is acknowledged all the same; and records fetched before a seek and delivered
after it open a gap that is then counted as done (596). Here an offset is committed only when the
stage has released it and everything delivered before it, see :mod:`streams.common.offsets`; and a
jump ahead in a partition's offsets is fetched once more before it is believed.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import structlog
from aiokafka.errors import IllegalStateError
from faust.transport.consumer import RecordMap
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, Message
from faust.types.transports import ConsumerCallback, TPorTopicSet

from contracts.errors import MisconfiguredError
from streams.common.liveness import Position
from streams.common.offsets import PartitionProgress

log = structlog.get_logger()

CHECKED_VERSIONS = frozenset({"0.15.3"})
"""Releases of faust-streaming whose consumer was read and tested with this module."""

_NOTHING_WANTED_PAUSE_SECONDS = 0.05
_FETCH_MAX_WAIT_MS = 100
# Faust asks the broker to hold a fetch for 1.5 s. One fetch is open at a time for each broker, and
# a partition with records in the buffer is not in it, so its next record would wait that long.


def check_version() -> None:
    """Make sure that this module knows the installed faust-streaming.

    Raises:
        MisconfiguredError: it was not read with this release, so what it overrides may have moved.
    """
    installed = version("faust-streaming")
    if installed not in CHECKED_VERSIONS:
        raise MisconfiguredError(
            f"faust-streaming {installed} was not checked with streams/common/consumer.py, "
            f"which knows {', '.join(sorted(CHECKED_VERSIONS))}"
        )


class StageConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread that talks to Kafka; answers new records at once."""

    def _create_worker_consumer(self, transport: driver.Transport) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = _FETCH_MAX_WAIT_MS
        return consumer


class StageConsumer(driver.Consumer):
    """Commits what the stage released, and nothing past it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._progress: defaultdict[TP, PartitionProgress] = defaultdict(PartitionProgress)
        self._starts: dict[TP, int] = {}
        self._unread: set[TP] = set()
        self._confirmed_gaps: dict[TP, int] = {}
        self._deliver = self.callback
        self.callback: ConsumerCallback = self._on_delivery

    def release(self, message: Message) -> None:
        """Say that a message is done for good: its offset may be committed."""
        progress = self._progress.get(message.tp)
        if progress is not None and message.generation_id == self.app.consumer_generation_id:
            progress.done(message.offset)

    def is_next(self, message: Message) -> bool:
        """Return whether the message is still ours and all delivered before it is released."""
        progress = self._progress.get(message.tp)
        is_ours = message.generation_id == self.app.consumer_generation_id
        return is_ours and progress is not None and progress.is_next(message.offset)

    async def positions(self) -> dict[TP, Position]:
        """Return for each partition how far it is committed and where it ends, asking Kafka."""
        starts = dict(self._starts)
        if not starts:
            return {}
        ends = await self.highwaters(*starts)
        return {
            tp: Position(done=max(start, self._committed_offset[tp] or 0), end=ends[tp])
            for tp, start in starts.items()
            if tp in ends
        }

    async def _on_delivery(self, message: Message) -> None:
        if self.app.topics.acks_enabled_for(message.topic):
            self._progress[message.tp].delivered(message.offset)
        await self._deliver(message)

    def _new_consumer_thread(self) -> StageConsumerThread:
        return StageConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def _filter_tps_with_pending_acks(self, topics: TPorTopicSet | None = None) -> Iterator[TP]:
        return (
            tp
            for tp in list(self._progress)
            if topics is None or tp in topics or tp.topic in topics
        )

    def _new_offset(self, tp: TP) -> int | None:
        offset = self._progress[tp].take_committable()
        if offset is not None:
            # Faust's own books are not used, and would grow for ever.
            self._acked[tp] = []
            self._acked_index[tp] = {o for o in self._acked_index[tp] if o >= offset}
            self._gap.pop(tp, None)
        return offset

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Finish and commit what is in flight (Faust does), then forget the partitions."""
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self._progress.pop(tp, None)
            self._confirmed_gaps.pop(tp, None)
            self._starts.pop(tp, None)
            self._unread.discard(tp)

    async def perform_seek(self) -> None:
        """Read again from the committed offsets; where there is none, from the beginning."""
        await super().perform_seek()
        starts = {tp: await self._start(tp) for tp in self.assignment() if self._is_ours(tp)}
        for tp, start in starts.items():
            self._progress[tp].rewind(start)
            self._starts[tp] = start
        # aiokafka seeks neither where nothing is committed nor to offset zero.
        await self.seek_wait(starts)

    async def _start(self, tp: TP) -> int:
        committed = self._committed_offset.get(tp)
        if committed is not None:
            return committed
        return (await self.earliest_offsets(tp))[tp]

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
            wanted -= self._unread
        if not wanted:
            # To aiokafka no partitions means all of them.
            await asyncio.sleep(_NOTHING_WANTED_PAUSE_SECONDS)
            return {}
        records = await super()._getmany(wanted, timeout)
        self._unread |= self._unwanted(records)
        return {tp: found for tp, found in records.items() if tp not in self._unread}

    def _unwanted(self, records: Mapping[TP, list[Any]]) -> set[TP]:
        if self.app.rebalancing:
            return {tp for tp in records if self._is_ours(tp)}
        return {tp for tp, found in records.items() if found and self._jumps(tp, found[0].offset)}

    def _jumps(self, tp: TP, offset: int) -> bool:
        """Return whether records seem to be missing before ``offset``, asked for only once yet."""
        expected = self._progress[tp].expected_offset if tp in self._progress else None
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
            log.info("seek_cut_off", partitions=[str(tp) for tp in known])
            return
        self._unread.difference_update(positions)


class StageTransport(driver.Transport):
    """Faust's aiokafka transport with :class:`StageConsumer`."""

    Consumer = StageConsumer
