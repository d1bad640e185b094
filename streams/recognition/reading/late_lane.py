"""The late lane: reads the gaps of one worker, in the time that fresh frames leave.

A gap is read from its beginning, in pieces, each record of it published as a late reading beside
the fresh ones of its partition; how far it is read is noted behind each piece. It begins once all
that was before it is published (its end is committed then), and goes on a little past its end, for
vehicles in view there. Then its end is published, and the gap forgotten. A piece that a crash cuts
off is read again; tracking passes over what it has seen.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, Protocol
from uuid import UUID

import msgspec
import structlog
from cachetools import LRUCache
from faust.types import TP
from mode import Service
from opentelemetry.trace import SpanKind

from common.errors import InvalidInputError, TransientError
from common.records.frames import FrameGap, FrameKind, FrameMeta, FrameReference, OpenGap
from common.records.recognitions import FrameReadings
from common.telemetry.tracing import TRACEPARENT, parse_traceparent, traced
from streams.recognition.late_key import late_key
from streams.recognition.metrics import FrameOutcome, RecognitionMetrics
from streams.recognition.reading.agent import FrameLook, FrameRecord, Publish, meta_of, readings_of
from streams.recognition.reading.frame_pieces import FramePiece
from streams.recognition.reading.gaps import GapBook, GapKeeper
from streams.recognition.reading.late_pace import LatePace
from streams.recognition.reading.look_plan import LookPlan

log = structlog.get_logger()

_PAUSE_SECONDS = 0.5
_ROOM_SECONDS = 0.02
_SHOW_MS = 1_000
_MAX_CAMERAS = 10_000
_NOBODY = UUID(int=0)
_IN_VIEW_MS = 2_500
_NOTHING_FOLLOWED: Final = LookPlan()
"""Many late frames are left out, so all plates in the others are read."""

Reject = Callable[[FrameRecord, InvalidInputError], Awaitable[None]]
"""Sets a record aside that can never be read; returns once Kafka has it."""


class LateStage(Protocol):
    """The part of the app that the late lane asks."""

    @property
    def is_leaving(self) -> bool:
        """True while nothing new should be begun."""

    async def committed_offset(self, tp: TP) -> int | None:
        """Return what Kafka has as committed of a partition, None for nothing."""


class LooksAtFrames(Protocol):
    """The reader of single frames, :class:`~streams.recognition.reading.agent.ReadingAgent`."""

    async def look(
        self, record: FrameRecord, meta: FrameMeta, plan: LookPlan, kept_as: bytes
    ) -> FrameLook:
        """Return what a frame shows."""

    def count(self, meta: FrameMeta, look: FrameLook, *, is_late: bool) -> None:
        """Count a record whose readings are published."""


class FetchesPieces(Protocol):
    """The source of frames, :class:`~streams.recognition.reading.frame_pieces.PieceFetcher`."""

    async def fetch(self, partition: int, offset: int) -> FramePiece:
        """Return the records from an offset on; raises TransientError."""

    async def close(self) -> None:
        """Disconnect, until the next piece."""


CountGone = Callable[[TP, int], None]
"""Counts records of a partition that retention took unread."""


class _LeavingError(Exception):
    """The stage stops or partitions move: what was not noted is read again."""


@dataclass(frozen=True)
class _LateRecord:
    record: FrameRecord
    meta: FrameMeta
    look: "asyncio.Task[FrameLook] | FrameLook"


class LateLane:
    """Reads the gaps of one worker. Lives on the stage's event loop."""

    def __init__(
        self,
        *,
        stage: LateStage,
        topic: str,
        keeper: GapKeeper,
        own_partitions: Callable[[], frozenset[int]],
        source: FetchesPieces,
        reading: LooksAtFrames,
        publish: Publish,
        reject: Reject,
        has_room: Callable[[], bool],
        metrics: RecognitionMetrics,
        count_gone: CountGone,
        past_end_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """``has_room`` tells whether a reader has nothing fresh to do; a gap is read on for
        ``past_end_ms`` after its end.
        """
        self._stage = stage
        self._topic = topic
        self._keeper = keeper
        self._own_partitions = own_partitions
        self._source = source
        self._reading = reading
        self._publish = publish
        self._reject = reject
        self._has_room = has_room
        self._metrics = metrics
        self._count_gone = count_gone
        self._past_end_ms = past_end_ms
        self._now_ms = now_ms
        self._pace = LatePace(0)
        self._begun: set[tuple[int, FrameGap]] = set()
        self._plates_ms: LRUCache[UUID, int] = LRUCache(_MAX_CAMERAS)
        self._shown_ms = 0

    async def run(self) -> None:
        """Read gaps, until cancelled."""
        while True:
            has_read = False
            try:
                self._show()
                if not self._keeper.has_gaps.is_set():
                    await self._source.close()
                    await self._keeper.has_gaps.wait()
                has_read = await self.read_piece()
            except (TransientError, _LeavingError) as error:
                log.warning("late_frames_wait", error=repr(error))
            except Exception:
                # The edge of the loop: what is not noted is read again.
                log.exception("late_frames_failed")
            if not has_read:
                await asyncio.sleep(_PAUSE_SECONDS)

    async def read_piece(self) -> bool:
        """Read a piece of the gap with the oldest record that can be read; False: there is none.

        Raises:
            TransientError: a dependency is unavailable; what is noted stands.
        """
        if self._stage.is_leaving:
            return False
        own = self._own_partitions()
        for gap in self._keeper.book.firsts():
            if gap.partition in own and await self._may_begin(gap) and await self._read_on(gap):
                return True
        return False

    def _show(self) -> None:
        self._shown_ms = self._now_ms()
        self._metrics.no_gaps()
        left = Counter[int]()
        for gap in self._keeper.book:
            left[gap.partition] += gap.left
        for gap in self._keeper.book.firsts():
            age_ms = self._now_ms() - gap.next_ms
            self._metrics.gap_left(gap.partition, frames=left[gap.partition], age_ms=age_ms)

    async def _may_begin(self, gap: OpenGap) -> bool:
        """Return whether all that came before a gap is published: its end is committed then."""
        place = (gap.partition, gap.gap)
        if place not in self._begun:
            book = self._keeper.book
            done = await self._stage.committed_offset(TP(self._topic, gap.partition))
            if done is None or done < gap.gap.end:
                await self._go_back(gap, book, done or 0)
                return False
            self._begun.add(place)
        return True

    async def _go_back(self, gap: OpenGap, book: GapBook, done: int) -> None:
        """Read what is committed no more again: the log lost its end, new records come there."""
        begin = max(gap.gap.begin, done)
        if begin < gap.next_offset:
            self._require(book)
            await self._keeper.note(msgspec.structs.replace(gap, next_offset=begin))

    async def _read_on(self, gap: OpenGap) -> bool:
        book = self._keeper.book
        piece = await self._source.fetch(gap.partition, gap.next_offset)
        self._require(book)
        until_ms = gap.gap.end_ms + self._past_end_ms
        is_at_end = max(gap.next_offset, piece.first) >= piece.end
        is_all = is_at_end and self._now_ms() > until_ms
        if not piece.records and not is_all:
            return False
        records = list(
            takewhile(lambda r: r.offset < gap.gap.end or r.written_ms <= until_ms, piece.records)
        )
        in_gap = [r.record for r in records if r.offset < gap.gap.end]
        await self._read(gap, book, in_gap)
        for stored in records[len(in_gap) :]:
            # What is looked at next depends on what this one shows.
            await self._read(gap, book, [stored.record])
        if len(records) < len(piece.records) or is_all:
            await self._close(gap, book)
        else:
            last = records[-1]
            self._require(book)
            await self._keeper.note(
                msgspec.structs.replace(gap, next_offset=last.offset + 1, next_ms=last.written_ms)
            )
        # Counted once, however often the piece is cut off.
        self._note_gone(gap, piece)
        return True

    def _require(self, book: GapBook) -> None:
        """Go on only while the gaps are this worker's, as they were when a piece was begun."""
        if self._stage.is_leaving or self._keeper.book is not book:
            raise _LeavingError("the partitions move")

    def _note_gone(self, gap: OpenGap, piece: FramePiece) -> None:
        gone = min(piece.first, gap.gap.end) - gap.next_offset
        if gone > 0:
            log.warning("unread_records_gone", partition=gap.partition, count=gone)
            self._count_gone(TP(self._topic, gap.partition), gone)

    async def _read(self, gap: OpenGap, book: GapBook, records: Sequence[FrameRecord]) -> None:
        """Look at frames as there is room, and publish what they show, in their order."""
        begun: list[_LateRecord] = []
        try:
            for record in records:
                try:
                    meta = meta_of(record)
                except InvalidInputError as error:
                    await self._reject(record, error)
                    continue
                look = await self._begin_look(gap, book, record, meta)
                begun.append(_LateRecord(record, meta, look))
            for late in begun:
                await self._tell(gap, book, late)
        finally:
            for late in begun:
                if isinstance(late.look, asyncio.Task):
                    late.look.cancel()

    async def _begin_look(
        self, gap: OpenGap, book: GapBook, record: FrameRecord, meta: FrameMeta
    ) -> "asyncio.Task[FrameLook] | FrameLook":
        if meta.kind is not FrameKind.FRAME:
            return FrameLook()
        if not self._is_wanted(gap, record, meta):
            return FrameLook(left_out=FrameOutcome.STALE)
        while not self._has_room():
            await asyncio.sleep(_ROOM_SECONDS)
            self._require(book)
            if abs(self._now_ms() - self._shown_ms) >= _SHOW_MS:
                self._show()
        key = late_key(gap.partition, gap.gap, record.key)
        task = asyncio.create_task(self._reading.look(record, meta, _NOTHING_FOLLOWED, key))
        # It is with a reader before the next one asks for room.
        await asyncio.sleep(0)
        return task

    def _is_wanted(self, gap: OpenGap, record: FrameRecord, meta: FrameMeta) -> bool:
        """Return whether a frame is read: after the gap's end all of cameras with a vehicle in
        view, as the fresh lane reads them all, before it some of each.
        """
        if record.reference.offset >= gap.gap.end:
            seen_ms = self._plates_ms.get(meta.camera_id, meta.captured_ms)
            return meta.captured_ms - seen_ms <= _IN_VIEW_MS
        age_ms = self._now_ms() - meta.captured_ms
        return self._pace.admits(meta.camera_id, meta.captured_ms, age_ms=age_ms)

    async def _tell(self, gap: OpenGap, book: GapBook, late: _LateRecord) -> None:
        """Publish what a record shows, once that is known."""
        look = late.look if isinstance(late.look, FrameLook) else await late.look
        self._require(book)
        if look.found is not None:
            self._note_plates(late.meta, bool(look.found.readings))
        readings = readings_of(
            late.record, late.meta, look, self._keeper.book.since(gap), is_late=True
        )
        trace = parse_traceparent(late.record.headers.get(TRACEPARENT))
        with traced(f"process {self._topic}", SpanKind.CONSUMER, parent=trace):
            await self._publish(late.record.key, readings)
        self._reading.count(late.meta, look, is_late=True)
        if look.poison is not None:
            await self._reject(late.record, look.poison)

    def _note_plates(self, meta: FrameMeta, has_plates: bool) -> None:
        before = self._plates_ms.get(meta.camera_id, 0)
        self._plates_ms[meta.camera_id] = meta.captured_ms if has_plates else before

    async def _close(self, gap: OpenGap, book: GapBook) -> None:
        end = FrameReadings(
            kind=FrameKind.GAP_END,
            camera_id=_NOBODY,
            owner_id=_NOBODY,
            camera_name="",
            captured_ms=gap.gap.end_ms,
            frame=FrameReference(partition=gap.partition, offset=gap.gap.end),
            late=True,
            gaps=self._keeper.book.since(gap),
        )
        self._require(book)
        await self._publish(b"gap", end)
        self._require(book)
        await self._keeper.close(gap)
        self._begun.discard((gap.partition, gap.gap))
        log.info("gap_closed", partition=gap.partition, end=gap.gap.end)


class LateLaneService(Service):
    """The late lane, for as long as the app runs."""

    def __init__(self, lane: LateLane, **options: Any) -> None:
        super().__init__(**options)
        self._lane = lane
        self._running: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        """Begin."""
        self._running = asyncio.create_task(self._lane.run())

    async def on_stop(self) -> None:
        """Give up what is under way: it is read again."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
