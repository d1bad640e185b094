"""Reads, stores, links and removes images in S3."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TypeVar

import structlog

from api.adapters.circuit_breaker import CircuitBreaker, http_health_check
from api.errors import Dependency, DependencyUnavailableError
from api.limits.fair_queue import QueueLimits, current_caller
from api.limits.fair_threads import FairThreads
from common.s3 import S3Bucket, S3FullError, S3UnavailableError, StoredObject
from common.settings import S3Settings

log = structlog.get_logger()

LINK_VALIDITY = timedelta(hours=1)

_READ_SECONDS = 10.0
# Timeout of a whole call, which waits for a thread and makes up to two attempts.
_CALL_SECONDS = 30.0
_THREADS = 8
_MAX_WAITING = 10_000
_VERSION_CHARACTERS = 32
REMOVAL_BATCH_SIZE = 1000
"""Maximum number of objects that S3 removes in one call."""
_T = TypeVar("_T")


class RemovalRefusedError(DependencyUnavailableError):
    """S3 responds but does not remove images: access is denied, or the images are locked."""

    def __init__(self, count: int) -> None:
        """``count`` is the number of images that S3 did not remove."""
        super().__init__(Dependency.IMAGES, f"refused to delete images ({count})")


class ImageStoreFullError(DependencyUnavailableError):
    """S3 responds but has no space for an image."""

    def __init__(self) -> None:
        super().__init__(Dependency.IMAGES, "is full")


@dataclass(frozen=True)
class StoredImage:
    """An image from S3. Its width and height are None if they were not stored with the image.

    ``version`` identifies the content (hexadecimal). ``data`` is empty if only metadata was read.
    """

    data: bytes
    version: str
    width_px: int | None
    height_px: int | None


class ImageStore:
    """The bucket of images. Blocking calls run in threads, which are shared fairly by accounts.

    All calls raise DependencyUnavailableError if S3 does not respond.
    """

    def __init__(self, settings: S3Settings) -> None:
        self._name = settings.s3_bucket
        self._bucket = S3Bucket(
            settings, read_seconds=_READ_SECONDS, connections=_THREADS, retries=1
        )
        limits = QueueLimits(_THREADS, _MAX_WAITING, each=_THREADS // 2)
        self._threads = FairThreads("s3", limits)
        self._breaker = CircuitBreaker(Dependency.IMAGES, http_health_check(settings.s3_endpoint))

    def link(self, key: str) -> str:
        """Return a URL of the object that is valid for one hour, without calling S3."""
        return self._bucket.link(key, LINK_VALIDITY, content_type(key))

    async def image(self, key: str) -> StoredImage | None:
        """Return a stored image, or None if it does not exist."""
        return await self._in_thread(lambda: _stored(key, self._bucket.get(key)))

    async def described(self, key: str) -> StoredImage | None:
        """Return a stored image without its data, or None if the image does not exist."""
        return await self._in_thread(lambda: _stored(key, self._bucket.describe(key)))

    async def has(self, key: str) -> bool:
        """Return whether an image exists.

        Raises:
            DependencyUnavailableError: S3 does not respond, or denies access.
        """
        return await self._in_thread(lambda: self._bucket.has(key))

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Store an image, or replace the image with this key.

        Raises:
            ImageStoreFullError: S3 has no space for the image.
            DependencyUnavailableError: S3 does not accept the image.
        """
        await self._in_thread(lambda: self._bucket.put(key, data, content_type))

    async def folders(self, prefix: str) -> list[str]:
        """Return the folders directly below a folder. All names end with ``/``."""
        return await self._in_thread(lambda: self._bucket.folders(prefix))

    async def keys(self, folder: str) -> list[str]:
        """Return the keys of all objects below a folder whose name ends with ``/``."""
        return await self._in_thread(lambda: list(self._bucket.keys(folder)))

    async def remove_some(self, prefix: str) -> int:
        """Remove up to 1,000 objects below ``prefix``. Return their number, or 0 if none are left.

        Raises:
            DependencyUnavailableError: S3 does not respond.
            RemovalRefusedError: S3 removes none of the remaining objects.
        """
        return await self._in_thread(lambda: self._remove_some(prefix))

    async def remove(self, keys: Sequence[str]) -> frozenset[str]:
        """Remove at most 1,000 objects. Return the keys of objects that S3 refuses to remove."""
        return await self._in_thread(lambda: self._remove(keys))

    async def ping(self) -> None:
        """Check that the bucket exists.

        Raises:
            DependencyUnavailableError: S3 does not respond, or has no such bucket.
        """
        if not await self._in_thread(self._bucket.exists):
            raise DependencyUnavailableError(Dependency.IMAGES, f"has no bucket {self._name}")

    def close(self) -> None:
        """Wait for running calls, all of which have a timeout, and close the connections."""
        self._breaker.close()
        self._threads.close(cancel_futures=True)
        self._bucket.close()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        try:
            async with self._breaker.call(_CALL_SECONDS):
                return await self._threads.run(current_caller(), work)
        except S3FullError as error:
            raise ImageStoreFullError from error
        except (S3UnavailableError, OSError) as error:
            raise DependencyUnavailableError(Dependency.IMAGES) from error

    def _remove_some(self, prefix: str) -> int:
        keys = self._bucket.keys(prefix)
        refused = 0
        while some := list(islice(keys, REMOVAL_BATCH_SIZE)):
            left = len(self._remove(some))
            if left < len(some):
                return len(some) - left
            refused += left
        if refused:
            raise RemovalRefusedError(refused)
        return 0

    def _remove(self, keys: Sequence[str]) -> frozenset[str]:
        refused = self._bucket.remove_many(keys)
        if refused:
            log.warning("image_removal_refused", count=len(refused), code=refused[0].code)
        return frozenset(one.key for one in refused if one.key)


def _stored(key: str, found: StoredObject | None) -> StoredImage | None:
    if found is None:
        return None
    content = f"{key} {found.etag}".encode()
    return StoredImage(
        data=found.data,
        version=hashlib.sha256(content).hexdigest()[:_VERSION_CHARACTERS],
        width_px=_size(found.metadata.get("width")),
        height_px=_size(found.metadata.get("height")),
    )


def content_type(key: str) -> str:
    """Return the media type of the image stored under ``key``. Only image calls store PNG files."""
    return "image/png" if key.endswith(".png") else "image/jpeg"


def _size(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
