"""Starts a stage as a process and stops it in time."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import NoReturn

import structlog
from faust.worker import Worker

from contracts.errors import MisconfiguredError, TransientError
from contracts.exit_statuses import EXIT_MISCONFIGURED
from contracts.kafka_probe import require_reachable
from streams.common.app import StageApp
from streams.common.settings import StreamSettings
from streams.common.watchdog import Watchdog

log = structlog.get_logger()

_KAFKA_PAUSE_SECONDS = 1.0


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
        """Say nothing: the log has it."""


def _end_late() -> NoReturn:
    # What is not acknowledged is read again, so to end here loses nothing.
    log.warning("stop_bound_passed")
    os._exit(0)


def run(
    app: StageApp,
    *,
    metrics_port: int = 0,
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> NoReturn:
    """Run the stage until a signal stops it; the last line of a stage's ``__main__``.

    Prometheus metrics are on ``metrics_port`` of 127.0.0.1, unless it is 0. ``new_loop`` makes the
    event loop that it runs on.
    """
    app.metrics.serve(metrics_port)
    _wait_for_kafka(app.settings)
    loop = new_loop()
    asyncio.set_event_loop(loop)
    Watchdog(app, loop, stall_seconds=app.settings.stream_stall_seconds).start()
    worker = StageWorker(app, stop_seconds=app.settings.stream_stop_seconds, loop=loop)
    worker.execute_from_commandline()


def _wait_for_kafka(settings: StreamSettings) -> None:
    """Return once a broker answers; Faust would end the process, over and over.

    Ends the process where Kafka does not let us in: Faust would try again and never say so.
    """
    while True:
        try:
            return require_reachable(settings)
        except MisconfiguredError as error:
            log.error("misconfigured", reason=str(error))
            raise SystemExit(EXIT_MISCONFIGURED) from error
        except TransientError as error:
            log.warning("kafka_away", error=str(error))
            time.sleep(_KAFKA_PAUSE_SECONDS)
