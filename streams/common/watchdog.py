"""Ends a stage that has stopped getting on, so that the supervisor starts it again."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Final

import structlog
from faust.types import TP

from contracts.exit_statuses import EXIT_TEMPORARY_FAILURE
from streams.common.app import StageApp
from streams.common.ending import end_process
from streams.common.liveness import Position, StallDetector

log = structlog.get_logger()

_PROBE_SECONDS: Final = 10.0
# A standstill of the stage as a whole, seen as a partition that is never done.
_STANDING: Final[Mapping[TP, Position]] = {TP("(all)", -1): Position(done=0, end=1)}


class Watchdog(threading.Thread):
    """Looks at a running stage from a thread of its own, since its event loop may be what hangs.

    It asks Kafka for the ends of the partitions through the stage's own loop and consumer thread:
    an answer proves both alive, and lag is seen even when nothing is fetched any more.
    """

    def __init__(
        self,
        app: StageApp,
        loop: asyncio.AbstractEventLoop,
        *,
        stall_seconds: float,
        end: Callable[[int], None] = end_process,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._app = app
        self._loop = loop
        self._interval_seconds = min(stall_seconds / 10, _PROBE_SECONDS)
        self._detector = StallDetector[TP](stall_seconds)
        self._stop = threading.Event()
        self._end = end
        self._clock = clock

    def run(self) -> None:
        """Look until stopped."""
        while not self._stop.wait(self._interval_seconds):
            if self._app.should_stop:
                return
            self.look()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def look(self) -> None:
        """Look once; ends the process when the stage stands still."""
        if self._app.is_waiting:
            self._detector.excuse(self._clock())
        positions = self._positions()
        stalled = self._detector.observe(self._clock(), positions)
        if stalled:
            log.error("stage_stalled", partitions=[str(partition) for partition in stalled])
            self._end(EXIT_TEMPORARY_FAILURE)

    def _positions(self) -> Mapping[TP, Position]:
        if self._app.rebalancing:
            return _STANDING
        probe = asyncio.run_coroutine_threadsafe(self._app.positions(), self._loop)
        try:
            positions = probe.result(_PROBE_SECONDS)
        except (FutureTimeoutError, CancelledError):
            probe.cancel()
            return _STANDING
        # Whatever the stage's loop raises, this thread must go on looking.
        except Exception:
            log.exception("watchdog_probe_failed")
            return _STANDING
        self._app.metrics.positions(positions)
        return positions
