"""Writes recognitions' images to S3."""

import asyncio
import io
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import MinioException
from urllib3.exceptions import HTTPError

from contracts.errors import TransientError
from contracts.settings import S3Settings

_CONNECT_SECONDS = 3.0
_READ_SECONDS = 10.0
_CONNECTIONS = 4


class ImageStore:
    """The bucket of all images. Blocking work runs in threads."""

    def __init__(self, settings: S3Settings) -> None:
        """Take where S3 is; connects at the first write."""
        endpoint = urlsplit(settings.s3_endpoint)
        self._bucket = settings.s3_bucket
        self._threads = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="image-store")
        self._client = Minio(
            endpoint.netloc,
            access_key=settings.s3_access_key,
            secret_key=settings.s3_secret_key.get_secret_value(),
            region=settings.s3_region,
            secure=endpoint.scheme == "https",
            http_client=urllib3.PoolManager(
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
                maxsize=_CONNECTIONS,
                # The caller retries, and wants to know that it does.
                retries=False,
            ),
        )

    async def put(self, key: str, jpeg: bytes) -> None:
        """Store a JPEG; the same key again overwrites it.

        Raises:
            TransientError: S3 is away or refuses, which an operator can mend while we wait.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, self._put, key, jpeg)

    def _put(self, key: str, jpeg: bytes) -> None:
        try:
            self._client.put_object(
                self._bucket, key, io.BytesIO(jpeg), len(jpeg), content_type="image/jpeg"
            )
        except (MinioException, HTTPError, OSError) as error:
            raise TransientError(f"S3 did not take an image: {error}") from error
