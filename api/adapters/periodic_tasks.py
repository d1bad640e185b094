"""Runs periodic background tasks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from common.errors import PlatestreamError, TransientError

log = structlog.get_logger()

Sweep = Callable[[], Awaitable[int]]
"""A task that runs periodically and returns the number of items that it has processed."""

_SWEEP_SECONDS = 5.0


class PeriodicTasks:
    """Runs sweeps, which delete expired data and clean up after crashed processes.

    Sweeps run one after another, in the given order. Failures and recoveries are logged once.
    """

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self._sweeps = sweeps
        self._troubles: dict[Sweep, str] = {}

    async def run(self) -> None:
        """Run the sweeps until cancelled."""
        while True:
            for sweep in self._sweeps:
                await self._do(sweep)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _do(self, sweep: Sweep) -> None:
        name = _name(sweep)
        try:
            swept = await sweep()
        except PlatestreamError as error:
            self._log_failure(sweep, error)
            return
        except Exception:
            # An error in one sweep must not stop the other sweeps.
            log.exception("sweep_failed", sweep=name)
            return
        if self._troubles.pop(sweep, None) is not None:
            log.info("sweep_recovered", sweep=name)
        if swept:
            log.info("sweep_completed", count=swept, sweep=name)

    def _log_failure(self, sweep: Sweep, error: PlatestreamError) -> None:
        if self._troubles.get(sweep) == str(error):
            return
        self._troubles[sweep] = str(error)
        # An error that is not transient needs the server administrator.
        write = log.warning if isinstance(error, TransientError) else log.error
        write("sweep_postponed", sweep=_name(sweep), error=str(error))


def _name(sweep: Sweep) -> str:
    return getattr(sweep, "__qualname__", "")
