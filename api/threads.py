"""Threads for work that takes a core for long: few at once, and not too many that wait."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from api.errors import ApiError, ErrorCode

_RETRY_AFTER_SECONDS = 1
_P = ParamSpec("_P")
_T = TypeVar("_T")


class FewThreads:
    """A kind of work with threads of its own, so that a crowd of it starves nothing else."""

    def __init__(self, name: str, *, at_once: int, places: int, too_many: str) -> None:
        """``places`` is how many callers may be at it or wait; ``too_many`` tells the next one."""
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=name)
        self._free = places
        self._too_many = too_many

    @contextmanager
    def place(self) -> Iterator[None]:
        """Surround what a caller has done here.

        Raises:
            ApiError: 429, too many are at it.
        """
        if not self._free:
            raise ApiError(
                ErrorCode.RATE_LIMITED, self._too_many, retry_after_seconds=_RETRY_AFTER_SECONDS
            )
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1

    async def run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what ``work`` returns, done in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*args, **kwargs))

    async def close(self) -> None:
        """Let what is under way end."""
        await asyncio.to_thread(self._threads.shutdown)
