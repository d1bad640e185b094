"""Reads recognitions' images from S3, for e-mail."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error
from urllib3.exceptions import HTTPError

from contracts.errors import TransientError
from contracts.settings import S3Settings

_CONNECT_SECONDS = 2.0
_READ_SECONDS = 5.0
_THREADS = 2
_MOST_BYTES = 2 * 1024 * 1024


class ImageReader:
    """The bucket of all images. Blocking work runs in threads."""

    def __init__(self, settings: S3Settings) -> None:
        """Take where S3 is; connects at the first read."""
        endpoint = urlsplit(settings.s3_endpoint)
        self._bucket = settings.s3_bucket
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="image-reader")
        self._client = Minio(
            endpoint.netloc,
            access_key=settings.s3_access_key,
            secret_key=settings.s3_secret_key.get_secret_value(),
            region=settings.s3_region,
            secure=endpoint.scheme == "https",
            http_client=urllib3.PoolManager(
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
                maxsize=_THREADS,
                # Mail goes without a picture rather than late.
                retries=False,
            ),
        )

    async def fetch(self, key: str) -> bytes | None:
        """Return an image, None where there is none (any more) or it is too large for mail.

        Raises:
            TransientError: S3 is away.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._fetch, key)

    def close(self) -> None:
        """Let running reads end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, key: str) -> bytes | None:
        try:
            response = self._client.get_object(self._bucket, key)
            try:
                image = response.read(_MOST_BYTES + 1)
            finally:
                response.close()
                response.release_conn()
        except S3Error as error:
            if error.code == "NoSuchKey":
                return None
            raise TransientError(f"S3 did not give an image: {error.code}") from error
        except (MinioException, HTTPError, OSError) as error:
            raise TransientError(f"S3 did not give an image: {error}") from error
        return image if len(image) <= _MOST_BYTES else None
