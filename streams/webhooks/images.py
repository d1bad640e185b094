"""Reads recognitions' images from S3, for e-mail."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from minio.error import MinioException, S3Error
from urllib3.exceptions import HTTPError

from contracts.errors import TransientError
from contracts.object_store import MISSING_CODES, s3_client, s3_connections
from contracts.settings import S3Settings

_READ_SECONDS = 5.0
_THREADS = 2
_MOST_BYTES = 2 * 1024 * 1024


class ImageReader:
    """The bucket of all images. Blocking work runs in threads."""

    def __init__(self, settings: S3Settings) -> None:
        """Take where S3 is; connects at the first read."""
        self._bucket = settings.s3_bucket
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="image-reader")
        # Mail goes without a picture rather than late.
        connections = s3_connections(read_seconds=_READ_SECONDS, connections=_THREADS)
        self._client = s3_client(settings, connections)

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
            if error.code in MISSING_CODES:
                return None
            raise TransientError(f"S3 did not give an image: {error.code}") from error
        except (MinioException, HTTPError, OSError) as error:
            raise TransientError(f"S3 did not give an image: {error}") from error
        return image if len(image) <= _MOST_BYTES else None
