"""Reads recognitions' images from S3, for e-mail."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from minio.error import MinioException, S3Error
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from contracts.errors import TransientError
from contracts.object_store import MISSING_CODES, s3_client, s3_connections
from contracts.settings import S3Settings

_READ_SECONDS = 5.0
"""For a picture in all. Who waits for it holds one of the attempts that everybody shares."""
_THREADS = 2
_MOST_BYTES = 2 * 1024 * 1024
_PIECE_BYTES = 64 * 1024


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
            TransientError: S3 is away, or too slow; waiting for those before counts too.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_READ_SECONDS):
                # What has not begun by then is taken out of the queue.
                return await loop.run_in_executor(self._threads, self._fetch, key)
        except TimeoutError as error:
            raise TransientError(f"S3 gave no image within {_READ_SECONDS:g} s") from error

    def close(self) -> None:
        """Let running reads end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, key: str) -> bytes | None:
        try:
            response = self._client.get_object(self._bucket, key)
            try:
                image = _read(response)
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


def _read(response: BaseHTTPResponse) -> bytes:
    """Return the body, or as much as tells that it is too large.

    The connection's own time-out is for each piece: a server that gives a byte now and then would
    hold the thread for hours.

    Raises:
        TimeoutError: it takes longer than anybody waits for.
    """
    deadline = time.monotonic() + _READ_SECONDS
    image = bytearray()
    while len(image) <= _MOST_BYTES and (piece := response.read1(_PIECE_BYTES)):
        if time.monotonic() > deadline:
            raise TimeoutError("too slow")
        image += piece
    return bytes(image)
