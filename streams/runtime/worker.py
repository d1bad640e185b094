"""A stage as a process: started, watched, and stopped in time."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Final, NoReturn

import structlog
from faust.types import TP
from faust.worker import Worker

from common.errors import (
    EXIT_MISCONFIGURED,
    EXIT_TEMPORARY_FAILURE,
    MisconfiguredError,
    TransientError,
)
from common.kafka.security import require_reachable
from common.metrics import serve_health
from common.telemetry.setup import start_tracing
from streams.runtime.app import StageApp
from streams.runtime.process_exit import end_process
from streams.runtime.progress import Position, StallDetector
from streams.runtime.settings import StreamSettings

log = structlog.get_logger()

_PROBE_SECONDS: Final = 10.0
_KAFKA_PAUSE_SECONDS: Final = 1.0
# Without progress for so long, while messages are waiting, the process exits to be restarted.
STALL_SECONDS = 120.0
# A clean stop may take so long. Then the process exits, and messages are processed again.
_STOP_SECONDS: Final = 4.0
# A standstill of the stage as a whole, seen as a partition that is never done.
_STANDING: Final[Mapping[TP, Position]] = {TP("(all)", -1): Position(done=0, end=1)}


class Watchdog(threading.Thread):
    """Ends a stage that stands still, from a thread of its own: its event loop may be what hangs.

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
        """Check until stopped."""
        while not self._stop.wait(self._interval_seconds):
            if self._app.should_stop:
                return
            self.check()

    def stop(self) -> None:
        """Check no more."""
        self._stop.set()

    def check(self) -> None:
        """Check once; ends the process when the stage stands still."""
        if self._app.is_waiting:
            self._detector.reset(self._clock())
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
        # Whatever the stage's loop raises, this thread must go on.
        except Exception:
            log.exception("watchdog_probe_failed")
            return _STANDING
        self._app.metrics.show_lag(positions)
        return positions


class StageWorker(Worker):
    """Faust's worker with our logging, and a bound on the time to stop."""

    def __init__(
        self, app: StageApp, *, stop_seconds: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(
            app,
            quiet=True,
            override_logging=False,
            redirect_stdouts=False,
            loop=loop,
        )
        self.spinner = None
        self._stop_seconds = stop_seconds

    def _schedule_shutdown(self, received: signal.Signals) -> None:
        log.info("stopping", signal=received.name)
        timer = threading.Timer(self._stop_seconds, _end_late)
        timer.daemon = True
        timer.start()
        super()._schedule_shutdown(received)

    def carp(self, msg: str) -> None:
        """Print nothing: the log has it."""


def _end_late() -> NoReturn:
    # Records that are not acknowledged are read again, so to end here loses nothing.
    log.warning("stop_timeout_exceeded")
    os._exit(0)


def run(
    app: StageApp,
    *,
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> NoReturn:
    """Run the stage until a signal stops it; the last line of a stage's ``__main__``.

    Its health page is on the metrics port, unless that is 0: who answers there is alive, as a stage
    that stands still ends itself. ``new_loop`` makes the event loop that it runs on.
    """
    try:
        serve_health(
            app.settings,
            app.settings.metrics_port,
            app.metrics.registry,
            details=lambda: app.details(),
        )
        start_tracing(app.settings, app.stage, app.metrics.registry)
    except MisconfiguredError as error:
        _end_misconfigured(error)
    _wait_for_kafka(app.settings)
    loop = new_loop()
    asyncio.set_event_loop(loop)
    Watchdog(app, loop, stall_seconds=STALL_SECONDS).start()
    worker = StageWorker(app, stop_seconds=_STOP_SECONDS, loop=loop)
    worker.execute_from_commandline()


def _wait_for_kafka(settings: StreamSettings) -> None:
    """Return once a broker answers; Faust would end the process, over and over.

    Ends the process where Kafka does not let us in: Faust would try again and never say so.
    """
    while True:
        try:
            return require_reachable(settings)
        except MisconfiguredError as error:
            _end_misconfigured(error)
        except TransientError as error:
            log.warning("kafka_unavailable", error=str(error))
            time.sleep(_KAFKA_PAUSE_SECONDS)


def _end_misconfigured(error: MisconfiguredError) -> NoReturn:
    log.error("misconfigured", reason=str(error))
    raise SystemExit(EXIT_MISCONFIGURED) from error
