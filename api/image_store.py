"""S3 as the API sees it: links to images, snapshots of cameras, pictures of image calls."""

import asyncio
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error

from contracts.errors import TransientError
from contracts.settings import S3Settings

LINK_VALIDITY = timedelta(hours=1)

_TIMEOUT = urllib3.Timeout(connect=2, read=10)
_RETRIES = urllib3.Retry(total=1, backoff_factor=0.1)
_THREADS = 8
_MISSING = frozenset({"NoSuchKey", "NoSuchObject", "ResourceNotFound"})
_T = TypeVar("_T")


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
        self._connections = urllib3.PoolManager(
            timeout=_TIMEOUT, retries=_RETRIES, maxsize=_THREADS
        )
        self._internal = _client(settings, settings.s3_endpoint, self._connections)
        # The host is part of a signature, so links are signed by a client of the public address.
        public = settings.s3_public_endpoint or settings.s3_endpoint
        self._public = _client(settings, public, self._connections)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="s3")

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
            TransientError: S3 does not answer.
        """
        return await self._in_thread(lambda: self._get(key))

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Store an image; the same key again overwrites it.

        Raises:
            TransientError: S3 does not take it.
        """
        await self._in_thread(lambda: self._put(key, data, content_type))

    async def ping(self) -> None:
        """Return when the bucket has answered.

        Raises:
            TransientError: it does not, or is not there.
        """
        if not await self._in_thread(lambda: self._internal.bucket_exists(self._bucket)):
            raise TransientError(f"there is no bucket {self._bucket}")

    def close(self) -> None:
        """Wait for running calls, each of which has a time-out, and close the connections."""
        self._threads.shutdown(cancel_futures=True)
        self._connections.clear()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, work)
        except (MinioException, urllib3.exceptions.HTTPError, OSError) as error:
            raise TransientError("the image store does not answer") from error

    def _put(self, key: str, data: bytes, content_type: str) -> None:
        self._internal.put_object(
            self._bucket, key, io.BytesIO(data), len(data), content_type=content_type
        )

    def _get(self, key: str) -> StoredImage | None:
        try:
            response = self._internal.get_object(self._bucket, key)
        except S3Error as error:
            if error.code in _MISSING:
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


def _client(settings: S3Settings, address: str, connections: urllib3.PoolManager) -> Minio:
    parts = urlsplit(address)
    return Minio(
        parts.netloc,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key.get_secret_value(),
        secure=parts.scheme == "https",
        # Named, because the client would ask the server for it otherwise.
        region=settings.s3_region,
        http_client=connections,
    )


def _content_type(key: str) -> str:
    return "image/png" if key.endswith(".png") else "image/jpeg"


def _size(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
