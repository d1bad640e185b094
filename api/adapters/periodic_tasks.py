"""Work that is repeated in the background."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from common.errors import PlatestreamError, TransientError

log = structlog.get_logger()

Sweep = Callable[[], Awaitable[int]]
"""A piece of work of its own that is done now and then; it returns how much it did."""

_SWEEP_SECONDS = 5.0


class PeriodicTasks:
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
            self._log_failure(sweep, error)
            return
        except Exception:
            # The edge of the loop: a fault here must not end all sweeping.
            log.exception("sweep_failed", what=what)
            return
        if self._troubles.pop(sweep, None) is not None:
            log.info("sweep_goes_on", what=what)
        if swept:
            log.info("swept", count=swept, what=what)

    def _log_failure(self, sweep: Sweep, error: PlatestreamError) -> None:
        if self._troubles.get(sweep) == str(error):
            return
        self._troubles[sweep] = str(error)
        # Waiting does not mend this: somebody has to look.
        tell = log.warning if isinstance(error, TransientError) else log.error
        tell("sweep_put_off", what=_name(sweep), error=str(error))


def _name(sweep: Sweep) -> str:
    return getattr(sweep, "__qualname__", "")
