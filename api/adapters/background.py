"""Work beside the calls: sweeps that repeat, and threads of which there are few."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import ParamSpec, TypeVar

import structlog

from api.errors import ApiError, ErrorCode
from common.errors import PlatestreamError, TransientError

log = structlog.get_logger()

Sweep = Callable[[], Awaitable[int]]
"""A piece of work of its own that is done now and then; it returns how much it did."""

_SWEEP_SECONDS = 5.0


class Sweeper:
    """Clears up after calls that died with their process, this one's or another's.

    One piece of work after the other, in this order. A failure is logged once, and once it is over.
    """

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self._sweeps = sweeps
        self._troubles: dict[Sweep, str] = {}

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            for sweep in self._sweeps:
                await self._do(sweep)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _do(self, sweep: Sweep) -> None:
        what = _name(sweep)
        try:
            swept = await sweep()
        except PlatestreamError as error:
            self._note_trouble(sweep, error)
            return
        except Exception:
            # The edge of the loop: a fault here must not end all sweeping.
            log.exception("sweep_failed", what=what)
            return
        if self._troubles.pop(sweep, None) is not None:
            log.info("sweep_goes_on", what=what)
        if swept:
            log.info("swept", count=swept, what=what)

    def _note_trouble(self, sweep: Sweep, error: PlatestreamError) -> None:
        if self._troubles.get(sweep) == str(error):
            return
        self._troubles[sweep] = str(error)
        # Waiting does not mend this: somebody has to look.
        tell = log.warning if isinstance(error, TransientError) else log.error
        tell("sweep_put_off", what=_name(sweep), error=str(error))


def _name(sweep: Sweep) -> str:
    return getattr(sweep, "__qualname__", "")


_RETRY_AFTER_SECONDS = 1
_P = ParamSpec("_P")
_T = TypeVar("_T")


class BoundedThreadPool:
    """A kind of work with threads of its own, so that a crowd of it starves nothing else."""

    def __init__(self, name: str, *, concurrency: int, slots: int, too_many: str) -> None:
        """``places`` is how many callers may be at it or wait; ``too_many`` tells the next one."""
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix=name)
        self._free = slots
        self._too_many = too_many

    @contextmanager
    def slot(self) -> Iterator[None]:
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


async def cancelled(task: asyncio.Task[None]) -> None:
    """Cancel a task and return when it has ended."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def all_well(*checks: Callable[[], Awaitable[None]]) -> None:
    """Return when all checks have passed; the first that fails is raised."""
    for check in checks:
        await check()
