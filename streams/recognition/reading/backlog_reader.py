"""Reads the gaps of one worker (the late lane) while fresh frames leave capacity.

A gap is read in chunks from the beginning. Each record is published as a late reading on the same
topic as fresh readings, and the position is stored after each chunk. A gap is read once its end is
committed, because then all earlier records are published. Reading continues a little past the end
to follow vehicles in view. Then the end of the gap is published, and the gap is deleted. A chunk
interrupted by a crash is read again; tracking ignores known records.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile
from typing import Final
from uuid import UUID

import faust
import msgspec
import structlog
from faust.types import TP
from opentelemetry.trace import SpanKind

from common.errors import InvalidInputError, TransientError
from common.records.frames import FrameGap, FrameKind, FrameMeta, FrameReference, OpenGap
from common.records.recognitions import FrameReadings
from common.telemetry.tracing import TRACEPARENT, parse_traceparent, traced
from streams.recognition.frame_store import FrameLog, FrameRecord
from streams.recognition.metrics import FrameOutcome, RecognitionMetrics
from streams.recognition.reading.agent import (
    FrameResult,
    Publish,
    ReadingAgent,
    meta_of,
    readings_of,
)
from streams.recognition.reading.analysis_plan import AnalysisPlan
from streams.recognition.reading.late_pace import LatePace
from streams.recognition.tracking.state_store import late_key
from streams.runtime.app import StageApp
from streams.runtime.backlog import Backlog

log = structlog.get_logger()

_PAUSE_SECONDS = 0.5
_CAPACITY_SECONDS = 0.02
_SHOW_MS = 1_000
_NO_ID = UUID(int=0)
_NOTHING_FOLLOWED: Final = AnalysisPlan()
"""Many late frames are skipped, so all plates in the remaining frames are read."""

Reject = Callable[[FrameRecord, InvalidInputError], Awaitable[None]]
"""Dead-letters a record that can never be read. Returns once Kafka has stored the dead letter."""


class _StageStoppingError(Exception):
    """The stage stops or its partitions are reassigned, so the current chunk is interrupted."""


class BacklogReader:
    """Reads the gaps of one worker. Use the reader on the stage's event loop."""

    def __init__(
        self,
        *,
        app: StageApp,
        topic: faust.TopicT,
        gaps: Backlog,
        frames: FrameLog,
        reading: ReadingAgent,
        publish: Publish,
        reject: Reject,
        has_capacity: Callable[[], bool],
        metrics: RecognitionMetrics,
        past_end_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """``has_capacity`` returns whether an inference worker has no fresh frames to process.
        Reading continues for ``past_end_ms`` past the end of a gap.
        """
        self._app = app
        self._topic = topic
        self._gaps = gaps
        self._frames = frames
        self._reading = reading
        self._publish = publish
        self._reject = reject
        self._has_capacity = has_capacity
        self._metrics = metrics
        self._past_end_ms = past_end_ms
        self._now_ms = now_ms
        self._generation = 0
        self._pace = LatePace(0)
        self._begun: set[tuple[int, FrameGap]] = set()
        self._shown_ms = 0

    async def run(self) -> None:
        """Read gaps, until cancelled."""
        while True:
            has_read = False
            try:
                self._show()
                if not self._gaps.has_any.is_set():
                    await self._frames.close()
                    await self._gaps.has_any.wait()
                has_read = await self.read_chunk()
            except (TransientError, _StageStoppingError) as error:
                log.warning("backlog_reading_delayed", error=repr(error))
            except Exception:
                # Catch-all: the next attempt repeats the records after the stored position.
                log.exception("backlog_reading_failed")
            if not has_read:
                await asyncio.sleep(_PAUSE_SECONDS)

    async def read_chunk(self) -> bool:
        """Read a chunk of the gap with the oldest readable record; return whether there is one.

        Raises:
            TransientError: a dependency is unavailable. Stored positions remain valid.
        """
        if self._app.is_leaving:
            return False
        self._generation = self._gaps.generation
        own = self._app.own_partitions(self._topic)
        for gap in self._gaps.firsts():
            if gap.partition in own and await self._may_begin(gap) and await self._read_on(gap):
                return True
        return False

    def _show(self) -> None:
        self._shown_ms = self._now_ms()
        self._metrics.no_gaps()
        left = Counter[int]()
        for gap in self._gaps.all():
            left[gap.partition] += gap.left
        for gap in self._gaps.firsts():
            age_ms = self._now_ms() - gap.next_ms
            self._metrics.gap_left(gap.partition, frames=left[gap.partition], age_ms=age_ms)

    def _tp(self, gap: OpenGap) -> TP:
        return TP(self._topic.get_topic_name(), gap.partition)

    async def _may_begin(self, gap: OpenGap) -> bool:
        """Return whether all records before a gap are published, and the gap's end is committed."""
        gap_key = (gap.partition, gap.gap)
        if gap_key not in self._begun:
            done = await self._app.committed_offset(self._tp(gap)) or 0
            if done < gap.gap.end:
                begin = max(gap.gap.begin, done)
                if begin < gap.next_offset:
                    # The log lost its end, so new records reuse offsets that were read late.
                    self._require_ours()
                    await self._gaps.store(msgspec.structs.replace(gap, next_offset=begin))
                return False
            self._begun.add(gap_key)
        return True

    async def _read_on(self, gap: OpenGap) -> bool:
        chunk = await self._frames.fetch(gap.partition, gap.next_offset)
        self._require_ours()
        until_ms = gap.gap.end_ms + self._past_end_ms
        is_at_end = max(gap.next_offset, chunk.first) >= chunk.end
        is_all = is_at_end and self._now_ms() > until_ms
        if not chunk.records and not is_all:
            return False
        end = gap.gap.end
        records = list(
            takewhile(lambda r: r.reference.offset < end or r.written_ms <= until_ms, chunk.records)
        )
        await self._read(gap, records)
        if len(records) < len(chunk.records) or is_all:
            await self._close(gap)
        else:
            self._require_ours()
            next_offset, next_ms = records[-1].reference.offset + 1, records[-1].written_ms
            await self._gaps.store(
                msgspec.structs.replace(gap, next_offset=next_offset, next_ms=next_ms)
            )
        # Count expired records once, however often the chunk is interrupted.
        if (gone := min(chunk.first, end) - gap.next_offset) > 0:
            log.warning("unread_records_expired", partition=gap.partition, count=gone)
            self._app.metrics.messages_lost(self._tp(gap), gone)
        return True

    def _require_ours(self) -> None:
        """Raise an error if the partitions were reassigned after the chunk was started."""
        if self._app.is_leaving or self._gaps.generation != self._generation:
            raise _StageStoppingError("partitions are being reassigned")

    async def _read(self, gap: OpenGap, records: Sequence[FrameRecord]) -> None:
        """Read frames as capacity allows, and publish their readings in order."""
        results: list[tuple[FrameRecord, FrameMeta, asyncio.Future[FrameResult]]] = []
        try:
            for record in records:
                try:
                    meta = meta_of(record)
                except InvalidInputError as error:
                    await self._reject(record, error)
                else:
                    results.append((record, meta, await self._start_analysis(gap, record, meta)))
            for record, meta, result in results:
                await self._publish_result(gap, record, meta, await result)
        finally:
            for _, _, result in results:
                result.cancel()

    async def _start_analysis(
        self, gap: OpenGap, record: FrameRecord, meta: FrameMeta
    ) -> asyncio.Future[FrameResult]:
        is_frame = meta.kind is FrameKind.FRAME
        age_ms = self._now_ms() - meta.captured_ms
        if not is_frame or not self._pace.admits(meta.camera_id, meta.captured_ms, age_ms=age_ms):
            done: asyncio.Future[FrameResult] = asyncio.get_running_loop().create_future()
            done.set_result(FrameResult(left_out=FrameOutcome.STALE if is_frame else None))
            return done
        while not self._has_capacity():
            await asyncio.sleep(_CAPACITY_SECONDS)
            self._require_ours()
            if abs(self._now_ms() - self._shown_ms) >= _SHOW_MS:
                self._show()
        key = late_key(gap.partition, gap.gap, record.key)
        task = asyncio.create_task(self._reading.analyse(record, meta, _NOTHING_FOLLOWED, key))
        # Let an inference worker take the frame before the capacity is checked for the next frame.
        await asyncio.sleep(0)
        return task

    async def _publish_result(
        self, gap: OpenGap, record: FrameRecord, meta: FrameMeta, result: FrameResult
    ) -> None:
        self._require_ours()
        readings = readings_of(record, meta, result, self._gaps.since(gap), is_late=True)
        trace = parse_traceparent(record.headers.get(TRACEPARENT))
        with traced(f"process {self._tp(gap).topic}", SpanKind.CONSUMER, parent=trace):
            await self._publish(record.key, readings)
        self._reading.count(meta, result, is_late=True)
        if result.poison is not None:
            await self._reject(record, result.poison)

    async def _close(self, gap: OpenGap) -> None:
        end = FrameReadings(
            kind=FrameKind.GAP_END,
            camera_id=_NO_ID,
            owner_id=_NO_ID,
            camera_name="",
            captured_ms=gap.gap.end_ms,
            frame=FrameReference(partition=gap.partition, offset=gap.gap.end),
            late=True,
            gaps=self._gaps.since(gap),
        )
        self._require_ours()
        await self._publish(b"gap", end)
        self._require_ours()
        await self._gaps.close(gap)
        self._begun.discard((gap.partition, gap.gap))
        log.info("backlog_cleared", partition=gap.partition, end=gap.gap.end)
