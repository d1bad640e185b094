"""The images of recognitions in S3, as the stage reads them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from common.errors import TransientError
from common.s3 import S3Bucket, S3UnavailableError
from common.settings import S3Settings

_READ_SECONDS = 5.0
_THREADS = 2
_REFUSED_CODES = frozenset({"AccessDenied"})
"""Also the answer about what is not there, to who may not list the bucket."""

_Answer = TypeVar("_Answer")


class PictureTooLargeError(Exception):
    """There is an image, of more bytes than may be sent."""


class PictureStore:
    """Reads images. Blocking work runs in threads."""

    def __init__(self, settings: S3Settings, *, max_bytes: int) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pictures")
        self._bucket = S3Bucket(settings, read_seconds=_READ_SECONDS, connections=_THREADS)
        self._max_bytes = max_bytes

    async def fetch(self, key: str) -> bytes | None:
        """Return an image, None where there is none, or S3 does not let us look.

        Raises:
            PictureTooLargeError: it has too many bytes.
            TransientError: S3 is unavailable, or too slow.
        """
        return await self._in_thread(lambda: self._fetch(key), None)

    async def has(self, key: str) -> bool:
        """Return whether there is an image; not where S3 does not let us look.

        Raises:
            TransientError: S3 is unavailable, or too slow.
        """
        return await self._in_thread(lambda: self._bucket.has(key), False)

    def close(self) -> None:
        """Let running reads end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, key: str) -> bytes | None:
        found = self._bucket.get(key, max_bytes=self._max_bytes, within_seconds=_READ_SECONDS)
        if found is None and self._bucket.has(key):
            raise PictureTooLargeError(key)
        return None if found is None else found.data

    async def _in_thread(self, ask: Callable[[], _Answer], refused: _Answer) -> _Answer:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        except S3UnavailableError as error:
            if error.code in _REFUSED_CODES:
                return refused
            raise TransientError(f"S3 does not answer: {error.code or error}") from error


class NoPictures:
    """The store of a stage that shows none."""

    async def fetch(self, key: str) -> bytes | None:
        """Return that there is none."""
        return None

    async def has(self, key: str) -> bool:
        """Return that there is none."""
        return False

    def close(self) -> None:
        """Have nothing to let go of."""
