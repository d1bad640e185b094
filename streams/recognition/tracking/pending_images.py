"""Stores the images of passes, immediately or once S3 is available again.

A pass waits for S3 only briefly. Images that are not stored by then are recorded in a table (with a
changelog on Kafka) before the recognition that names them is published. The frame itself remains on
its topic for 15 minutes. Therefore an image named by a recognition is in S3 or pending, even after
a crash. Images that can no longer be stored are reported on the lost-images topic, and are removed
from the stored row.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

import msgspec
import structlog
from cachetools import LRUCache

from common.errors import TransientError
from common.records.codec import Record, encode
from common.records.frames import FrameReference
from common.records.object_keys import STORED_WITHIN_MS, crop_key, photo_key
from common.records.recognitions import Recognition
from common.retry import RetryPolicy
from streams.recognition.metrics import ImageOutcome, RecognitionMetrics
from streams.recognition.tracking.images import RecognitionImageStore, cut_crop
from streams.runtime.app import StageApp
from streams.runtime.tables import DurableTable

log = structlog.get_logger(__name__)

_PATIENCE_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 5.0
_MAX_PENDING = 100_000
"""Maximum number of pending passes (half a kilobyte each). Further passes have no images."""
_MEMORY_BYTES = 64 * 1024 * 1024
"""Maximum size of the cached frames of pending images. Other frames are fetched from Kafka."""

FetchFrame = Callable[[FrameReference], Awaitable[bytes | None]]
"""Returns a frame, or None if the frame has expired. Raises TransientError."""

PublishLost = Callable[[bytes, Recognition], Awaitable[None]]
"""Publishes a recognition that no longer names lost images. Returns once it is stored."""


class PendingImages(Record, frozen=True, kw_only=True):
    """The images of a recognition that S3 has not stored. ``frame`` is the best frame.

    ``recognition`` is the published record. ``queued_ms`` is in Unix ms, UTC.
    """

    recognition: Recognition
    frame: FrameReference
    queued_ms: int


class PassImageStore:
    """Stores the images of passes. Use the store on the stage's event loop."""

    def __init__(
        self,
        *,
        app: StageApp,
        table: DurableTable,
        fetch: FetchFrame,
        store: RecognitionImageStore,
        publish_lost: PublishLost,
        metrics: RecognitionMetrics,
        now_ms: Callable[[], int],
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        """A pass waits ``patience_seconds`` for S3, but not while S3 is known to be unavailable.

        The changelog of ``table`` must have as many partitions as the frames topic.
        """
        self._app = app
        self._table = table
        self._fetch = fetch
        self._store = store
        self._publish_lost = publish_lost
        self._metrics = metrics
        self._now_ms = now_ms
        self._patience_seconds = patience_seconds
        self._retry = RetryPolicy(longest_pause_seconds=_LONGEST_PAUSE_SECONDS)
        self._is_unavailable = False
        # The oldest key is first.
        self._pending: dict[bytes, None] = {}
        self._jpegs: LRUCache[bytes, bytes] = LRUCache(_MEMORY_BYTES, getsizeof=len)
        self._has_work = asyncio.Event()
        metrics.pending_images.set_function(lambda: len(self._pending))

    async def store(self, recognition: Recognition, frame: FrameReference) -> Recognition:
        """Return a recognition with the keys of its images, which are stored or pending.

        Safe to repeat. If an image can never be stored, its key is None.

        Raises:
            TransientError: Kafka is unavailable.
        """
        jpeg = await self._fetch(frame)
        if jpeg is None:
            log.warning("frame_expired", camera_id=str(recognition.camera_id))
            return recognition
        images = await _images_of(recognition, jpeg)
        stored = await self._stored_at_once(images)
        if stored is not None:
            return named(recognition, stored)
        if len(self._pending) >= _MAX_PENDING:
            self._count(ImageOutcome.LOST)
            return recognition
        after = named(recognition, images)
        key = recognition.id.bytes
        waiting = PendingImages(recognition=after, frame=frame, queued_ms=self._now_ms())
        await self._table.put(key, encode(waiting), partition=frame.partition)
        self._jpegs[key] = jpeg
        self._pending[key] = None
        self._has_work.set()
        return after

    def restore(self, partitions: Collection[int]) -> None:
        """Load the table's entries of the partitions that now belong to this worker."""
        entries = self._table.retain(PendingImages, lambda each: each.frame.partition, partitions)
        oldest_first = sorted(entries, key=lambda each: (each[1].queued_ms, each[0]))
        self._pending = dict.fromkeys(key for key, _ in oldest_first)
        if self._pending:
            log.info("pending_images_restored", count=len(self._pending))
            self._has_work.set()

    async def run(self) -> None:
        """Store pending images, until cancelled."""
        failures = 0
        while True:
            await self._has_work.wait()
            if failures or self._app.is_leaving:
                await asyncio.sleep(self._retry.pause_seconds(max(1, failures)))
            failures = 0 if await self._store_pending() else failures + 1
            if not self._pending:
                self._has_work.clear()

    async def _stored_at_once(self, images: Mapping[str, bytes]) -> frozenset[str] | None:
        """Return the keys of stored images, or None if S3 does not respond in time."""
        if self._is_unavailable:
            return None
        try:
            async with asyncio.timeout(self._patience_seconds):
                stored = await self._put_all(images)
        except (TransientError, TimeoutError) as error:
            self._on_s3_unavailable(error)
            return None
        lacks = len(stored) < len(images)
        self._count(ImageOutcome.REFUSED if lacks else ImageOutcome.STORED)
        return stored

    async def _put_all(self, images: Mapping[str, bytes]) -> frozenset[str]:
        """Store images; return the keys of the images for which S3 had space."""
        taken = await asyncio.gather(*(self._store.put(*each) for each in images.items()))
        return frozenset(key for key, is_taken in zip(images, taken, strict=True) if is_taken)

    async def _store_pending(self) -> bool:
        """Store pending images, oldest first. Return False if S3 or Kafka is unavailable."""
        for key in list(self._pending):
            if self._app.is_leaving:
                return False
            try:
                await self._finish(key)
            except TransientError:
                return False
            except Exception:
                # Catch-all: an error of one image must not prevent the others from being stored.
                log.exception("image_store_failed", recognition_id=key.hex())
                self._pending.pop(key, None)
        return True

    async def _finish(self, key: bytes) -> None:
        waiting = self._table.read(PendingImages, key)
        if waiting is None:
            self._pending.pop(key, None)
            return
        jpeg = await self._jpeg(key, waiting)
        if jpeg is None:
            await self._report_lost(waiting.recognition)
        else:
            await self._store_late(waiting.recognition, jpeg)
        await self._table.put(key, None, partition=waiting.frame.partition)
        self._pending.pop(key, None)
        self._jpegs.pop(key, None)

    async def _jpeg(self, key: bytes, waiting: PendingImages) -> bytes | None:
        if self._now_ms() - waiting.queued_ms > STORED_WITHIN_MS:
            return None
        cached: bytes | None = self._jpegs.get(key)
        return await self._fetch(waiting.frame) if cached is None else cached

    async def _store_late(self, recognition: Recognition, jpeg: bytes) -> None:
        images = await _images_of(recognition, jpeg)
        wanted = {key: data for key, data in images.items() if key in keys_of(recognition)}
        if len(await self._put_all(wanted)) < len(wanted):
            raise TransientError("S3 is full")
        self._on_s3_recovered()
        self._count(ImageOutcome.LATE)

    async def _report_lost(self, recognition: Recognition) -> None:
        """Report lost images, except images that were stored although the attempt failed."""
        stored = [key for key in keys_of(recognition) if await self._store.has(key)]
        self._on_s3_recovered()
        after = named(recognition, stored)
        if after != recognition:
            await self._publish_lost(str(recognition.camera_id).encode(), after)
            log.warning("images_lost", recognition_id=str(recognition.id))
            self._count(ImageOutcome.LOST)

    def _count(self, outcome: ImageOutcome) -> None:
        self._metrics.images.labels(outcome.value).inc()

    def _on_s3_unavailable(self, error: Exception) -> None:
        if not self._is_unavailable:
            log.warning("images_delayed", error=repr(error))
        self._is_unavailable = True

    def _on_s3_recovered(self) -> None:
        if self._is_unavailable:
            log.info("images_recovered", pending=len(self._pending))
        self._is_unavailable = False


def keys_of(recognition: Recognition) -> tuple[str, ...]:
    """Return the keys of the images that a recognition names."""
    return tuple(key for key in (recognition.photo_key, recognition.crop_key) if key is not None)


def named(recognition: Recognition, keys: Iterable[str]) -> Recognition:
    """Return the recognition of a pass, naming only images whose key is in ``keys``."""
    photo, crop = _derived_keys(recognition)
    allowed = frozenset(keys)
    return msgspec.structs.replace(
        recognition,
        photo_key=photo if photo in allowed else None,
        crop_key=crop if crop in allowed else None,
    )


async def _images_of(recognition: Recognition, jpeg: bytes) -> dict[str, bytes]:
    """Return the images by key, without a crop if the frame cannot be decoded."""
    photo, crop = _derived_keys(recognition)
    assert recognition.box is not None, recognition.id
    cut = await asyncio.to_thread(cut_crop, jpeg, recognition.box)
    return {photo: jpeg} if cut is None else {photo: jpeg, crop: cut}


def _derived_keys(recognition: Recognition) -> tuple[str, str]:
    owner, identifier = recognition.owner_id, recognition.id
    return photo_key(owner, identifier), crop_key(owner, identifier)
