"""S3 as the API sees it: links to images, snapshots of cameras, pictures of image calls."""

import asyncio
import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from itertools import islice
from typing import TypeVar

import structlog
import urllib3
from minio.deleteobjects import DeleteError, DeleteObject
from minio.error import MinioException, S3Error

from api.parts import Part, PartAwayError
from api.patience import Patience, http_probe
from contracts.object_store import MISSING_CODES, s3_client, s3_connections
from contracts.settings import S3Settings

log = structlog.get_logger()

LINK_VALIDITY = timedelta(hours=1)

_READ_SECONDS = 10.0
# For a whole call: a wait for a thread, two tries.
_CALL_SECONDS = 30.0
_THREADS = 8
_REMOVED_AT_ONCE = 1000
_T = TypeVar("_T")


class RemovalRefusedError(PartAwayError):
    """S3 answers, but does not remove images: it may not, or they are locked."""

    def __init__(self, count: int) -> None:
        """``count`` images."""
        super().__init__(Part.PICTURES, f"refuses to remove images ({count})")


@dataclass(frozen=True)
class StoredImage:
    """A JPEG from S3; the size in pixels is that of the frame, where the writer noted it."""

    data: bytes
    etag: str
    width_px: int | None
    height_px: int | None


class ImageStore:
    """The bucket of images. Blocking calls run in threads of its own."""

    def __init__(self, settings: S3Settings) -> None:
        """Take the settings; nothing is connected yet."""
        self._bucket = settings.s3_bucket
        self._connections = s3_connections(
            read_seconds=_READ_SECONDS, connections=_THREADS, retries=1
        )
        self._internal = s3_client(settings, self._connections)
        # The host is part of a signature, so links are signed by a client of the public address.
        self._public = s3_client(settings, self._connections, settings.s3_public_endpoint)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="s3")
        self._patience = Patience(Part.PICTURES, http_probe(settings.s3_endpoint))

    def link(self, key: str) -> str:
        """Return a URL that shows the object for one hour. Pure arithmetic: no call is made."""
        return self._public.presigned_get_object(
            self._bucket,
            key,
            expires=LINK_VALIDITY,
            response_headers={"response-content-type": _content_type(key)},
        )

    async def image(self, key: str) -> StoredImage | None:
        """Return a stored image, None where there is none.

        Raises:
            PartAwayError: S3 does not answer.
        """
        return await self._in_thread(lambda: self._get(key))

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Store an image; the same key again overwrites it.

        Raises:
            PartAwayError: S3 does not take it.
        """
        await self._in_thread(lambda: self._put(key, data, content_type))

    async def folders(self, prefix: str) -> list[str]:
        """Return the folders directly below a folder (it and they end with ``/``).

        Raises:
            PartAwayError: S3 does not answer.
        """
        return await self._in_thread(lambda: self._folders(prefix))

    async def remove_some(self, prefix: str) -> int:
        """Remove up to a thousand objects whose keys begin so; how many, 0 when none is left.

        Raises:
            PartAwayError: S3 does not answer.
            RemovalRefusedError: it removes none of those that are left.
        """
        return await self._in_thread(lambda: self._remove_some(prefix))

    async def remove(self, keys: Sequence[str]) -> frozenset[str]:
        """Remove the objects of at most a thousand keys, and return those that it refuses.

        One that is not there is no fault.

        Raises:
            PartAwayError: S3 does not answer.
        """
        return await self._in_thread(lambda: self._remove(keys))

    async def ping(self) -> None:
        """Return when the bucket has answered.

        Raises:
            PartAwayError: it does not, or is not there.
        """
        if not await self._in_thread(lambda: self._internal.bucket_exists(self._bucket)):
            raise PartAwayError(Part.PICTURES, f"has no bucket {self._bucket}")

    def close(self) -> None:
        """Wait for running calls, each of which has a time-out, and close the connections."""
        self._patience.close()
        self._threads.shutdown(cancel_futures=True)
        self._connections.clear()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        loop = asyncio.get_running_loop()
        try:
            async with self._patience.waiting(_CALL_SECONDS):
                return await loop.run_in_executor(self._threads, work)
        except (MinioException, urllib3.exceptions.HTTPError, OSError) as error:
            raise PartAwayError(Part.PICTURES) from error

    def _put(self, key: str, data: bytes, content_type: str) -> None:
        self._internal.put_object(
            self._bucket, key, io.BytesIO(data), len(data), content_type=content_type
        )

    def _folders(self, prefix: str) -> list[str]:
        found = self._internal.list_objects(self._bucket, prefix)
        return [one.object_name for one in found if one.is_dir and one.object_name]

    def _remove_some(self, prefix: str) -> int:
        found = self._internal.list_objects(self._bucket, prefix, recursive=True)
        names = (one.object_name for one in found if one.object_name)
        refused = 0
        while some := list(islice(names, _REMOVED_AT_ONCE)):
            left = len(self._remove(some))
            if left < len(some):
                return len(some) - left
            refused += left
        if refused:
            raise RemovalRefusedError(refused)
        return 0

    def _remove(self, keys: Sequence[str]) -> frozenset[str]:
        wanted = [DeleteObject(key) for key in keys]
        try:
            faults = list(self._internal.remove_objects(self._bucket, wanted))
        except S3Error as error:
            if error.response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            faults = [DeleteError(error.code or "", error.message, key, None) for key in keys]
        if faults:
            log.warning("images_not_removed", count=len(faults), code=faults[0].code)
        return frozenset(fault.name for fault in faults if fault.name is not None)

    def _get(self, key: str) -> StoredImage | None:
        try:
            response = self._internal.get_object(self._bucket, key)
        except S3Error as error:
            if error.code in MISSING_CODES:
                return None
            raise
        try:
            return StoredImage(
                data=response.read(),
                etag=response.headers.get("etag", ""),
                width_px=_size(response.headers.get("x-amz-meta-width")),
                height_px=_size(response.headers.get("x-amz-meta-height")),
            )
        finally:
            response.close()
            response.release_conn()


def _content_type(key: str) -> str:
    return "image/png" if key.endswith(".png") else "image/jpeg"


def _size(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
