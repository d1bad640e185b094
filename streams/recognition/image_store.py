"""Writes recognitions' images to S3."""

import asyncio
import io
from concurrent.futures import ThreadPoolExecutor

from minio.error import MinioException
from urllib3.exceptions import HTTPError

from contracts.errors import TransientError
from contracts.object_store import s3_client, s3_connections
from contracts.settings import S3Settings

_READ_SECONDS = 10.0
_CONNECTIONS = 4


class ImageStore:
    """The bucket of all images. Blocking work runs in threads."""

    def __init__(self, settings: S3Settings) -> None:
        """Take where S3 is; connects at the first write."""
        self._bucket = settings.s3_bucket
        self._threads = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="image-store")
        connections = s3_connections(read_seconds=_READ_SECONDS, connections=_CONNECTIONS)
        self._client = s3_client(settings, connections)

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
