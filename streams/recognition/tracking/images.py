"""Cuts the crops of recognitions, and stores images in S3."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import structlog

from common.errors import InvalidInputError, TransientError
from common.records.frames import Box
from common.s3 import S3Bucket, S3FullError, S3UnavailableError
from common.settings import S3Settings
from recognition.images import decode_image

log = structlog.get_logger(__name__)

_READ_SECONDS = 10.0
_CONNECTIONS = 4
_MARGIN = 0.15
_JPEG_QUALITY = 92
_REFUSED_CODES = frozenset({"AccessDenied"})
"""S3 also responds with these codes for a missing image if listing the bucket is denied."""


class RecognitionImageStore:
    """Accesses the bucket of all images. Blocking work runs in threads."""

    def __init__(self, settings: S3Settings) -> None:
        self._threads = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="image-store")
        self._bucket = S3Bucket(settings, read_seconds=_READ_SECONDS, connections=_CONNECTIONS)
        self._is_full = False

    async def put(self, key: str, jpeg: bytes) -> bool:
        """Store a JPEG, replacing any image with its key. Return whether S3 had enough space.

        Raises:
            TransientError: S3 is unavailable or denies access, which an administrator can fix.
        """
        loop = asyncio.get_running_loop()
        refusal = await loop.run_in_executor(self._threads, self._put, key, jpeg)
        self._record(refusal)
        return refusal is None

    async def has(self, key: str) -> bool:
        """Return whether an image exists, or False if S3 denies access.

        Raises:
            TransientError: S3 is unavailable.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._has, key)

    def _put(self, key: str, jpeg: bytes) -> str | None:
        """Store a JPEG. Return S3's error code if S3 is full, or None."""
        try:
            self._bucket.put(key, jpeg, "image/jpeg")
        except S3FullError as error:
            return error.code
        except S3UnavailableError as error:
            raise TransientError(f"S3 did not store an image: {error}") from error
        return None

    def _has(self, key: str) -> bool:
        try:
            return self._bucket.has(key)
        except S3UnavailableError as error:
            if error.code in _REFUSED_CODES:
                return False
            raise TransientError(f"S3 is not responding: {error}") from error

    def _record(self, refusal: str | None) -> None:
        if refusal is not None and not self._is_full:
            log.warning("image_store_full", code=refusal)
        elif refusal is None and self._is_full:
            log.info("image_store_has_space")
        self._is_full = refusal is not None


def cut_crop(jpeg: bytes, box: Box) -> bytes | None:
    """Return the plate with a margin as a JPEG, or None if the frame cannot be decoded.

    Call this in a thread, because decoding a 1080p frame takes several milliseconds.
    """
    try:
        image = decode_image(jpeg)
    except InvalidInputError:
        return None
    height, width = image.shape[:2]
    margin_x, margin_y = _MARGIN * box.width, _MARGIN * box.height
    left = min(max(0, round(box.x - margin_x)), width - 1)
    top = min(max(0, round(box.y - margin_y)), height - 1)
    right = min(width, max(left + 1, round(box.x + box.width + margin_x)))
    bottom = min(height, max(top + 1, round(box.y + box.height + margin_y)))
    crop = np.ascontiguousarray(image[top:bottom, left:right])
    _, data = cv2.imencode(".jpg", crop, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    return data.tobytes()
