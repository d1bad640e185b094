"""Runs a stage as a process, with a watchdog and a time limit for stopping."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Final, NoReturn

import structlog
import uvloop
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
# Time without progress, while messages are waiting, after which the process exits for a restart.
STALL_SECONDS = 120.0
# Time limit for a clean stop. Then the process exits, and messages are processed again.
_STOP_SECONDS: Final = 4.0
# Represents a stall of the whole stage as a partition that makes no progress.
_STALLED: Final[Mapping[TP, Position]] = {TP("(all)", -1): Position(done=0, end=1)}


class Watchdog(threading.Thread):
    """Exits a stalled stage. Runs in a separate thread, because the event loop may hang.

    The watchdog asks Kafka for the ends of the partitions through the stage's event loop and
    consumer thread. An answer proves that both are running, and shows lag even if fetching stopped.
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
        """Check the stage periodically until stopped."""
        while not self._stop.wait(self._interval_seconds):
            if self._app.should_stop:
                return
            self.check()

    def stop(self) -> None:
        """Stop checking."""
        self._stop.set()

    def check(self) -> None:
        """Check once; exit the process if the stage is stalled."""
        if self._app.is_waiting:
            self._detector.reset(self._clock())
        positions = self._positions()
        stalled = self._detector.observe(self._clock(), positions)
        if stalled:
            log.error("stage_stalled", partitions=[str(partition) for partition in stalled])
            self._end(EXIT_TEMPORARY_FAILURE)

    def _positions(self) -> Mapping[TP, Position]:
        if self._app.rebalancing:
            return _STALLED
        probe = asyncio.run_coroutine_threadsafe(self._app.positions(), self._loop)
        try:
            positions = probe.result(_PROBE_SECONDS)
        except (FutureTimeoutError, CancelledError):
            probe.cancel()
            return _STALLED
        # Catch-all: this thread must continue, whatever error the stage's loop raises.
        except Exception:
            log.exception("watchdog_probe_failed")
            return _STALLED
        self._app.metrics.show_lag(positions)
        return positions


class StageWorker(Worker):
    """Faust's worker with our logging and a time limit for stopping."""

    def __init__(
        self, app: StageApp, *, stop_seconds: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(app, quiet=True, override_logging=False, redirect_stdouts=False, loop=loop)
        self.spinner = None
        self._stop_seconds = stop_seconds

    def _schedule_shutdown(self, received: signal.Signals) -> None:
        log.info("stopping", signal=received.name)
        timer = threading.Timer(self._stop_seconds, _end_late)
        timer.daemon = True
        timer.start()
        super()._schedule_shutdown(received)

    def carp(self, msg: str) -> None:
        """Print nothing, because the log already contains the message."""


def _end_late() -> NoReturn:
    # Unacknowledged records will be read again, so exiting here loses nothing.
    log.warning("stop_timeout_exceeded")
    os._exit(0)


def run(app: StageApp) -> NoReturn:
    """Run the stage until a signal stops it. This is the last call in a stage's ``__main__``.

    The health page is served on the metrics port, unless the port is 0. A response means that the
    stage is alive, because a stalled stage exits.
    """
    # This also sets the loop of the thread that communicates with Kafka.
    uvloop.install()
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
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    Watchdog(app, loop, stall_seconds=STALL_SECONDS).start()
    # Collections skip the loaded modules. Checking them took 80 ms each time.
    gc.freeze()
    worker = StageWorker(app, stop_seconds=_STOP_SECONDS, loop=loop)
    worker.execute_from_commandline()


def _wait_for_kafka(settings: StreamSettings) -> None:
    """Return once a broker responds. Without this, Faust would exit repeatedly.

    If Kafka rejects the login, exit the process, because Faust would retry without a log entry.
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
