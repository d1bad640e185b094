"""Provides the frames of passes from a cache in memory, backed by the frames topic."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass

from common.errors import MisconfiguredError, TransientError
from common.kafka.clients import (
    ConsumerRecord,
    KafkaConsumer,
    KafkaError,
    TopicPartition,
    open_consumer,
    topic_name,
)
from common.records.frames import FrameReference
from common.records.topics import FRAMES
from common.settings import KafkaSettings
from streams.recognition.metrics import FetchOutcome, RecognitionMetrics

_TIMEOUT_MS = 10_000
_POLL_MS = 500
_POLLED_RECORDS = 16
# Short, because tracking waits for frames and a rebalance waits for tracking. The stage retries.
_BOOTSTRAP_MS = 5_000


@dataclass(frozen=True, kw_only=True)
class FrameRecord:
    """A record of the frames topic. ``written_ms`` is the record's time in Kafka (Unix ms, UTC)."""

    key: bytes
    value: bytes
    headers: dict[str, bytes]
    reference: FrameReference
    written_ms: int = 0


@dataclass(frozen=True)
class FrameChunk:
    """Consecutive records of a partition, starting at a requested offset.

    ``first`` is Kafka's first existing offset. ``end`` is the offset of the next new record.
    """

    records: tuple[FrameRecord, ...]
    first: int
    end: int


class FrameCache:
    """Caches the JPEG files of frames by reference. At the limit, the oldest frames are evicted."""

    def __init__(self, limit_bytes: int) -> None:
        """``limit_bytes`` is the maximum total size. If it is 0, no frames are cached."""
        self._limit_bytes = limit_bytes
        # A cachetools cache would not report evictions, but each camera's set must be updated.
        self._frames: OrderedDict[FrameReference, bytes] = OrderedDict()
        self._camera_of: dict[FrameReference, bytes] = {}
        self._of_camera: dict[bytes, set[FrameReference]] = {}
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Total size of the cached frames."""
        return self._size_bytes

    def put(self, camera: bytes, reference: FrameReference, jpeg: bytes) -> None:
        """Cache a frame."""
        self._drop(reference)
        self._frames[reference] = jpeg
        self._camera_of[reference] = camera
        self._of_camera.setdefault(camera, set()).add(reference)
        self._size_bytes += len(jpeg)
        while self._size_bytes > self._limit_bytes:
            self._drop(next(iter(self._frames)))

    def get(self, reference: FrameReference) -> bytes | None:
        """Return a frame, or None if the frame is not in the cache."""
        return self._frames.get(reference)

    def retain_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Drop unneeded frames of a camera, up to and including a reference."""
        for reference in list(self._of_camera.get(camera, ())):
            is_past = reference.partition == up_to.partition and reference.offset <= up_to.offset
            if is_past and reference not in needed:
                self._drop(reference)

    def _drop(self, reference: FrameReference) -> None:
        jpeg = self._frames.pop(reference, None)
        if jpeg is None:
            return
        self._size_bytes -= len(jpeg)
        camera = self._camera_of.pop(reference)
        self._of_camera[camera].discard(reference)
        if not self._of_camera[camera]:
            del self._of_camera[camera]


class FrameLog:
    """Reads the frames topic by offset, one read at a time. Blocking work runs in a thread."""

    def __init__(self, settings: KafkaSettings) -> None:
        """The connection is opened at the first read."""
        self._settings = settings
        self._topic = topic_name(settings, FRAMES)
        self._consumer: KafkaConsumer | None = None
        self._lock = threading.Lock()
        self._position: tuple[int, int] | None = None

    async def fetch(self, partition: int, offset: int) -> FrameChunk:
        """Return the next records, if any, from ``offset`` or, if later, the first existing offset.

        Raises:
            TransientError: Kafka is not responding.
        """
        return await asyncio.to_thread(self._read, partition, offset)

    async def close(self) -> None:
        """Disconnect until the next read."""
        await asyncio.to_thread(self._close)

    def _read(self, partition: int, offset: int) -> FrameChunk:
        with self._lock:
            try:
                return self._chunk(partition, offset)
            except (KafkaError, MisconfiguredError) as error:
                self._drop()
                # Neither error is caused by the frame.
                raise TransientError(f"frames cannot be fetched again: {error!r}") from error

    def _chunk(self, partition: int, offset: int) -> FrameChunk:
        consumer = self._opened()
        tp = TopicPartition(self._topic, partition)
        if self._position != (partition, offset):
            consumer.assign([tp])
        first = consumer.beginning_offsets([tp], _TIMEOUT_MS)[tp]
        end = consumer.end_offsets([tp], _TIMEOUT_MS)[tp]
        begin = max(offset, first)
        if begin >= end:
            return FrameChunk((), first, end)
        if self._position != (partition, begin):
            consumer.seek(tp, begin)
        records = self._polled(consumer, tp, begin)
        self._position = (partition, records[-1].reference.offset + 1 if records else begin)
        return FrameChunk(records, first, end)

    def _polled(
        self, consumer: KafkaConsumer, tp: TopicPartition, begin: int
    ) -> tuple[FrameRecord, ...]:
        deadline = time.monotonic() + _TIMEOUT_MS / 1000
        while time.monotonic() < deadline:
            found = consumer.poll(_POLL_MS).get(tp, [])
            # Skip earlier records, which Kafka returns if a reset has moved the position.
            if records := tuple(_record(tp, r) for r in found if r.offset >= begin):
                return records
        return ()

    def _opened(self) -> KafkaConsumer:
        if self._consumer is None:
            self._consumer = open_consumer(
                self._settings,
                "frame-reader",
                bootstrap_timeout_ms=_BOOTSTRAP_MS,
                max_poll_records=_POLLED_RECORDS,
            )
            self._position = None
        return self._consumer

    def _close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()


def _record(tp: TopicPartition, record: ConsumerRecord) -> FrameRecord:
    return FrameRecord(
        key=record.key or b"",
        value=record.value or b"",
        headers=dict(record.headers),
        reference=FrameReference(partition=tp.partition, offset=record.offset),
        written_ms=record.timestamp,
    )


class FrameStore:
    """Provides the frames that are still available to this worker."""

    def __init__(self, cache: FrameCache, log: FrameLog, metrics: RecognitionMetrics) -> None:
        self._cache = cache
        self._log = log
        self._metrics = metrics

    async def jpeg(self, reference: FrameReference) -> bytes | None:
        """Return the frame, or None if the frame has expired.

        Raises:
            TransientError: Kafka is not responding.
        """
        cached = self._cache.get(reference)
        if cached is not None:
            return cached
        fetched = await self._fetch(reference)
        outcome = FetchOutcome.GONE if fetched is None else FetchOutcome.FOUND
        self._metrics.fetched.labels(outcome.value).inc()
        return fetched

    def retain_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Drop unneeded frames of a camera, up to and including a reference."""
        self._cache.retain_only(camera, needed, up_to)

    async def _fetch(self, reference: FrameReference) -> bytes | None:
        offset = reference.offset
        try:
            chunk = await self._log.fetch(reference.partition, offset)
        finally:
            # Disconnect, because fetches are rare: only after evictions and in new workers.
            await self._log.close()
        if not chunk.first <= offset < chunk.end:
            return None
        if not chunk.records:
            raise TransientError("a frame cannot be fetched again: Kafka is not responding")
        found = chunk.records[0]
        return found.value if found.reference.offset == offset else None
