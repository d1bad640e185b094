"""Loads images of recognitions and snapshots of cameras, in full size or as thumbnails."""

import asyncio
import hashlib
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import cv2
from cachetools import LRUCache

from analytics_sql.recognitions import RecognitionRow
from api.adapters.image_store import ImageStore, StoredImage, content_type
from api.errors import ApiError, ErrorCode
from api.limits.fair_queue import QueueLimits, current_caller
from api.limits.fair_threads import FairThreads
from api.live.recent import RecentRecognitions
from api.recognitions.service import Recognitions
from common.errors import InvalidInputError
from common.records.object_keys import snapshot_key
from recognition.images import decode_image

MIN_WIDTH_PX: Final = 16
MAX_WIDTH_PX: Final = 1024

_JPEG_QUALITY: Final = 80
_CACHE_BYTES: Final = 32 * 1024 * 1024
_TOO_MANY: Final = "Too many thumbnails are being generated. Try again shortly."
# One image at a time: decoding the largest image takes a quarter of a gigabyte.
_LIMITS: Final = QueueLimits(at_once=1, waiting=200)

JPEG: Final = "image/jpeg"
_TAG_CHARACTERS: Final = 32
MAX_AGE: Final = timedelta(hours=1)
"""Time for which browsers cache images of recognitions, equal to the validity of links."""


class Thumbnails:
    """Creates and caches thumbnails. Accounts are scheduled fairly."""

    def __init__(self, cache_bytes: int = _CACHE_BYTES) -> None:
        """``cache_bytes`` is the maximum size of the cache."""
        self._known: LRUCache[tuple[str, int], bytes] = LRUCache(cache_bytes, getsizeof=len)
        self._cache_bytes = cache_bytes
        self._threads = FairThreads("thumbnails", _LIMITS, too_many=_TOO_MANY)

    def known(self, version: str, width_px: int) -> bytes | None:
        """Return the cached thumbnail of an image version, or None."""
        return self._known.get((version, width_px))

    async def make(self, version: str, data: bytes, width_px: int) -> bytes:
        """Return a JPEG that is ``width_px`` wide, or less if the image is narrower.

        ``version`` identifies the content of ``data``.

        Raises:
            ApiError: 429, too many thumbnails are being generated.
            InvalidInputError: the image cannot be read.
        """
        made = await self._threads.run(current_caller(), shrunk, data, width_px)
        if len(made) <= self._cache_bytes // 8:
            self._known[version, width_px] = made
        return made

    async def close(self) -> None:
        """Wait for running work to finish."""
        await asyncio.to_thread(self._threads.close)


def shrunk(data: bytes, width_px: int) -> bytes:
    """Return a JPEG or PNG as a JPEG of at most this width, with the same aspect ratio.

    Raises:
        InvalidInputError: the image cannot be read, or is too large.
    """
    image = decode_image(data, enough_px=width_px)
    height, width = image.shape[:2]
    if width > width_px:
        size = (width_px, max(1, round(height * width_px / width)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)  # type: ignore[assignment] # cv2's arrays have no dtype
    coded, made = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    if not coded:
        raise InvalidInputError("The image cannot be encoded.", code="unreadable_image")
    return made.tobytes()


class Part(StrEnum):
    """The kinds of images of a recognition."""

    PHOTO = "photo"
    CROP = "crop"


@dataclass(frozen=True)
class Picture:
    """An image to send. ``data`` is None if the caller already has the image.

    ``etag`` is strong and quoted. The size refers to the camera's frame, if known.
    """

    data: bytes | None
    etag: str
    media_type: str
    width_px: int | None = None
    height_px: int | None = None


@dataclass(frozen=True)
class PictureRequest:
    """The requested width in pixels (None: full size), and the ETags that the caller has."""

    width_px: int | None
    known_tags: frozenset[str]

    def has(self, etag: str) -> bool:
        """Return whether the caller has the image with this tag. **Source:** RFC 9110, 13.1.2."""
        return "*" in self.known_tags or etag in self.known_tags


class Pictures:
    """Loads the images of accounts."""

    def __init__(
        self,
        recognitions: Recognitions,
        recent: RecentRecognitions,
        images: ImageStore,
        thumbnails: Thumbnails,
    ) -> None:
        self._recognitions = recognitions
        self._recent = recent
        self._images = images
        self._thumbnails = thumbnails

    async def get_recognition_image(
        self, owner_id: UUID, recognition_id: UUID, part: Part, wanted: PictureRequest
    ) -> Picture:
        """Return an image of a recognition.

        Raises:
            ApiError: 404, the recognition or its image does not exist or has expired.
            TransientError: ClickHouse or S3 is not responding.
        """
        key = self._key(await self._find(owner_id, recognition_id), part)
        version = _version(key)
        etag, media_type = _tag(version, wanted.width_px), _media_type(key, wanted.width_px)
        if wanted.has(etag):
            return Picture(None, etag, media_type)
        data = await self._data(key, version, wanted.width_px)
        if data is None:
            raise _missing(f"The {part} is not available in the image store.")
        return Picture(data, etag, media_type)

    async def snapshot(self, owner_id: UUID, camera_id: UUID, wanted: PictureRequest) -> Picture:
        """Return the latest frame of a camera, which must belong to the account.

        Raises:
            ApiError: 404, the camera has no frame yet.
            TransientError: S3 is not responding.
        """
        key, width_px = snapshot_key(owner_id, camera_id), wanted.width_px
        if wanted.known_tags or width_px is not None:
            # The metadata is read first, because the image itself may not be needed.
            stored = await self._images.described(key)
            known = None if stored is None else self._sent_before(stored, wanted)
            if known is not None:
                return known
        image = await self._images.image(key)
        if image is None:
            raise _missing("The camera has not sent an image yet.")
        return _of_camera(await self._sized(image.version, image.data, width_px), image, width_px)

    async def close(self) -> None:
        """Wait for running work to finish."""
        await self._thumbnails.close()

    def _sent_before(self, stored: StoredImage, wanted: PictureRequest) -> Picture | None:
        if wanted.has(_tag(stored.version, wanted.width_px)):
            return _of_camera(None, stored, wanted.width_px)
        if wanted.width_px is None:
            return None
        small = self._thumbnails.known(stored.version, wanted.width_px)
        return None if small is None else _of_camera(small, stored, wanted.width_px)

    async def _find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow:
        # The event stream sends new recognitions before ClickHouse contains them.
        recent = self._recent.find(owner_id, recognition_id)
        return recent or await self._recognitions.require(owner_id, recognition_id)

    def _key(self, found: RecognitionRow, part: Part) -> str:
        if self._recognitions.is_past_retention(found):
            raise _missing(f"The {part} was deleted at the end of its retention period.")
        key = found.photo_key if part is Part.PHOTO else found.crop_key
        if key is None:
            raise _missing(f"No {part} was stored for this recognition.")
        return key

    async def _data(self, key: str, version: str, width_px: int | None) -> bytes | None:
        if width_px is not None:
            known = self._thumbnails.known(version, width_px)
            if known is not None:
                return known
        image = await self._images.image(key)
        return None if image is None else await self._sized(version, image.data, width_px)

    async def _sized(self, version: str, data: bytes, width_px: int | None) -> bytes:
        if width_px is None:
            return data
        try:
            return await self._thumbnails.make(version, data, width_px)
        except InvalidInputError as error:
            raise _missing(f"No thumbnail can be made from this image: {error}") from error


def _missing(sentence: str) -> ApiError:
    return ApiError(ErrorCode.NOT_FOUND, sentence)


def _version(key: str) -> str:
    """Return a version for an image that never changes. It does not reveal the image's key."""
    return hashlib.sha256(key.encode()).hexdigest()[:_TAG_CHARACTERS]


def _tag(version: str, width_px: int | None) -> str:
    return f'"{version}"' if width_px is None else f'"{version}-{width_px}"'


def _media_type(key: str, width_px: int | None) -> str:
    return content_type(key) if width_px is None else JPEG


def _of_camera(data: bytes | None, image: StoredImage, width_px: int | None) -> Picture:
    return Picture(data, _tag(image.version, width_px), JPEG, image.width_px, image.height_px)
