"""Reads the crops of plates from S3, for notifications that people read."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from common.errors import TransientError
from common.records.deliveries import Delivery
from common.records.object_keys import STORED_WITHIN_MS
from common.s3 import S3Bucket, S3UnavailableError
from common.settings import S3Settings

log = structlog.get_logger()

FetchImage = Callable[[str], Awaitable[bytes | None]]
"""Returns the image with a key, or None if there is no image."""

_IMAGE_READ_SECONDS = 5.0
"""Total time for an image. Meanwhile, the attempt occupies a slot shared by all endpoints."""
_IMAGE_PAUSE_SECONDS = 0.5
_IMAGE_THREADS = 2
_MAX_IMAGE_BYTES = 2 * 1024 * 1024


async def crop_of(delivery: Delivery, fetch_image: FetchImage, now_ms: int) -> bytes | None:
    """Return the crop of an alert's plate, or None if the crop is not available in time.

    ``now_ms`` is the wall-clock time in Unix ms.
    """
    assert delivery.trigger is not None, delivery.event
    recognition = delivery.trigger.recognition
    if recognition.crop_key is None:
        return None
    # If S3 was unavailable for a moment, the image may be stored after the alert.
    may_come = now_ms - recognition.captured_ms < STORED_WITHIN_MS
    try:
        async with asyncio.timeout(_IMAGE_READ_SECONDS):
            crop = await fetch_image(recognition.crop_key)
            # ASYNC110: S3 sends no notification of new images.
            while crop is None and may_come:  # noqa: ASYNC110
                await asyncio.sleep(_IMAGE_PAUSE_SECONDS)
                crop = await fetch_image(recognition.crop_key)
            return crop
    except (TransientError, TimeoutError) as error:
        log.warning("notification_without_picture", error=str(error) or "not stored yet")
        return None


class CropReader:
    """Reads images of recognitions from S3. Blocking work runs in threads."""

    def __init__(self, settings: S3Settings) -> None:
        self._threads = ThreadPoolExecutor(_IMAGE_THREADS, thread_name_prefix="image-reader")
        # It is better to send a notification without a crop than to send it late.
        self._bucket = S3Bucket(
            settings, read_seconds=_IMAGE_READ_SECONDS, connections=_IMAGE_THREADS
        )

    async def fetch(self, key: str) -> bytes | None:
        """Return an image, or None if the image does not exist or is too large to send.

        Raises:
            TransientError: S3 is unavailable or too slow, including time spent on other reads.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_IMAGE_READ_SECONDS):
                # After a timeout, a read that has not started is removed from the queue.
                return await loop.run_in_executor(self._threads, self._fetch, key)
        except TimeoutError as error:
            raise TransientError(f"S3 sent no image within {_IMAGE_READ_SECONDS:g} s") from error

    def close(self) -> None:
        """Cancel queued reads. Running reads finish in the background."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, key: str) -> bytes | None:
        try:
            image = self._bucket.get(
                key, max_bytes=_MAX_IMAGE_BYTES, within_seconds=_IMAGE_READ_SECONDS
            )
        except S3UnavailableError as error:
            raise TransientError(f"S3 did not return an image: {error.code or error}") from error
        return image.data if image is not None else None
