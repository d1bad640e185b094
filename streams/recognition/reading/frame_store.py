"""The frames of passes: a cache in memory, behind it the frames topic."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Collection

from common.errors import MisconfiguredError, TransientError
from common.kafka.clients import (
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

_TIMEOUT_SECONDS = 10.0
_POLL_MS = 500
# Tracking waits for the frame, and a rebalance for tracking; the stage tries again by itself.
_BOOTSTRAP_MS = 5_000


class FrameCache:
    """JPEG files of cameras by reference; the oldest goes first when the memory is used up."""

    def __init__(self, limit_bytes: int) -> None:
        """``limit_bytes`` is the maximum kept; 0 keeps nothing."""
        self._limit_bytes = limit_bytes
        # Not of cachetools: its caches do not say what goes, which each camera's set must know.
        self._frames: OrderedDict[FrameReference, bytes] = OrderedDict()
        self._camera_of: dict[FrameReference, bytes] = {}
        self._of_camera: dict[bytes, set[FrameReference]] = {}
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes kept."""
        return self._size_bytes

    def put(self, camera: bytes, reference: FrameReference, jpeg: bytes) -> None:
        """Keep a frame."""
        self._drop(reference)
        self._frames[reference] = jpeg
        self._camera_of[reference] = camera
        self._of_camera.setdefault(camera, set()).add(reference)
        self._size_bytes += len(jpeg)
        while self._size_bytes > self._limit_bytes:
            self._drop(next(iter(self._frames)))

    def get(self, reference: FrameReference) -> bytes | None:
        """Return a frame, or None where it is not kept (any more)."""
        return self._frames.get(reference)

    def keep_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Drop a camera's frames that are not needed, up to and including one place."""
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


class FrameFetcher:
    """Reads single records of the frames topic. Blocking work runs in a thread."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Connects at the first fetch."""
        self._settings = settings
        self._topic = topic_name(settings, FRAMES)

    async def fetch(self, reference: FrameReference) -> bytes | None:
        """Return the JPEG at a place, or None where retention has taken it.

        Raises:
            TransientError: Kafka does not answer.
        """
        return await asyncio.to_thread(self._fetch, reference)

    def _fetch(self, reference: FrameReference) -> bytes | None:
        partition = TopicPartition(self._topic, reference.partition)
        try:
            # A consumer for each fetch: they are rare (a frame fell out of the cache, or the
            # worker is new), and an idle one would hold a connection for ever.
            consumer = open_consumer(
                self._settings,
                "frame-fetcher",
                bootstrap_timeout_ms=_BOOTSTRAP_MS,
                max_poll_records=1,
            )
            try:
                consumer.assign([partition])
                return _record_at(consumer, partition, reference.offset)
            finally:
                consumer.close()
        except (KafkaError, MisconfiguredError) as error:
            # No fault of the frame's, whichever it is.
            raise TransientError(f"a frame cannot be fetched again: {error!r}") from error


def _record_at(consumer: KafkaConsumer, partition: TopicPartition, offset: int) -> bytes | None:
    timeout_ms = round(_TIMEOUT_SECONDS * 1000)
    first = consumer.beginning_offsets([partition], timeout_ms)[partition]
    end = consumer.end_offsets([partition], timeout_ms)[partition]
    if not first <= offset < end:
        return None
    consumer.seek(partition, offset)
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        for record in consumer.poll(_POLL_MS).get(partition, []):
            value: bytes | None = record.value
            return value if record.offset == offset else None
    raise TransientError("a frame cannot be fetched again: Kafka does not answer")


class FrameStore:
    """The frames that this worker can still get."""

    def __init__(
        self, cache: FrameCache, fetcher: FrameFetcher, metrics: RecognitionMetrics
    ) -> None:
        self._cache = cache
        self._fetcher = fetcher
        self._metrics = metrics

    async def jpeg(self, reference: FrameReference) -> bytes | None:
        """Return the frame, or None where it is gone for good.

        Raises:
            TransientError: Kafka does not answer.
        """
        cached = self._cache.get(reference)
        if cached is not None:
            return cached
        fetched = await self._fetcher.fetch(reference)
        self._metrics.frame_fetched(FetchOutcome.GONE if fetched is None else FetchOutcome.FOUND)
        return fetched

    def keep_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Drop a camera's frames that are not needed, up to and including one place."""
        self._cache.keep_only(camera, needed, up_to)
