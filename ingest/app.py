"""Assembles, runs and stops an ingest worker."""

import os
import signal
import socket
import threading
from typing import Final, NoReturn

import structlog

from common.errors import (
    EXIT_MISCONFIGURED,
    EXIT_SOFTWARE,
    EXIT_TEMPORARY_FAILURE,
    EXIT_UNAVAILABLE,
    MisconfiguredError,
    TransientError,
)
from common.kafka.clients import KafkaError
from common.logs import configure_logging
from common.metrics import LABELLED_CAMERAS, serve_health
from common.secrets import SecretBox
from common.settings import load_settings
from common.telemetry.setup import start_tracing, stop_tracing
from common.urls.camera_settings import stream_url_rules
from ingest.assignment.camera import CameraSessionDeps, CameraSessionSettings
from ingest.assignment.fleet import Fleet
from ingest.assignment.follower import AssignmentFollower
from ingest.capture.messages import CaptureLimits, Configure, FrameSettings, ReaderSettings
from ingest.clocks import MonotonicWallClock, is_too_far_ahead
from ingest.frames.producer import FrameProducer
from ingest.frames.snapshots import SnapshotUploader
from ingest.metrics import CameraGauges, IngestMetrics
from ingest.processes.pool import CapturePool
from ingest.settings import IngestSettings, MotionGateMode

log = structlog.get_logger(__name__)

now: Final = MonotonicWallClock()

_MAINTENANCE_SECONDS: Final = 0.2
_IDLE_SECONDS: Final = 0.8
"""Additional pause while there is no camera."""
_STALLED_SECONDS: Final = 60.0

WORKER = f"{socket.gethostname()}-{os.getpid()}"
"""Name of this worker in camera statuses."""
JPEG_QUALITY = 80
CAMERAS_PER_PROCESS = 8
"""Cameras per capture process. A stream that crashes the process briefly interrupts all of its
cameras, but each process uses about 60 MiB."""
OPEN_TIMEOUT_SECONDS = 10.0
READ_TIMEOUT_SECONDS = 5.0
RECONNECT_MIN_SECONDS = 1.0
RECONNECT_MAX_SECONDS = 60.0
SNAPSHOT_SECONDS = 5.0
# Time for which frames are still sent after the last motion.
_MOTION_HOLD_SECONDS = 3.0
# Address space of a capture process, in addition to its initial size.
_PROCESS_MEMORY_BYTES = 2_147_483_648
_CAPTURES_END_SECONDS: Final = 1.0
_PROCESSES_END_SECONDS: Final = 1.5
_STOP_TIMEOUT_SECONDS: Final = 15.0
"""Time after which a stopping worker is killed, for example while it waits for a hung broker."""


class IngestWorker:
    """An ingest worker: a member of the consumer group that shares the cameras."""

    def __init__(self, settings: IngestSettings) -> None:
        """Connect to Kafka and join the group. No camera is captured yet.

        Raises:
            MisconfiguredError: the secret key is invalid, the metrics port is in use, or Kafka
                denies access.
            TransientError: no broker responds.
            kafka.errors.KafkaError: a broker accepted the connection, but did not respond in time.
        """
        self._stop = threading.Event()
        self._metrics = IngestMetrics()
        start_tracing(settings, "ingest", self._metrics.registry)
        secrets = SecretBox(settings.secret_key.get_secret_value())
        self._producer = FrameProducer(settings, self._metrics)
        self._snapshots = SnapshotUploader(settings, self._metrics)
        self._captures = CapturePool(
            capture_settings(settings),
            on_processes=self._metrics.processes.set,
            on_crash=self._metrics.crashes.inc,
        )
        deps = CameraSessionDeps(
            frames=self._producer,
            snapshots=self._snapshots,
            metrics=self._metrics,
            now=now,
            captures=self._captures,
            secrets=secrets,
        )
        self._fleet = Fleet(session_settings(settings), deps)
        self._metrics.registry.register(
            CameraGauges(LABELLED_CAMERAS, lambda: self._fleet.views(now()))
        )
        self._follower = AssignmentFollower(settings, self._fleet, self._metrics, now)
        self._started_seconds = self._maintained_seconds = now().seconds
        self.exit_status = 0
        """Exit status of the process after :meth:`run`."""
        registry, port = self._metrics.registry, settings.metrics_port
        self._health = serve_health(settings, port, registry, self.is_alive, self._details)

    def is_alive(self) -> bool:
        """Return whether both loops have run within the last minute."""
        oldest = min(self._follower.polled_seconds, self._maintained_seconds)
        return now().seconds - oldest < _STALLED_SECONDS

    def _details(self) -> dict[str, object]:
        return {} if self._follower.is_ready else {"status": "joining"}

    def request_stop(self) -> None:
        """Ask :meth:`run` to return soon."""
        self._stop.set()

    def run(self) -> None:
        """Run until :meth:`request_stop` is called."""
        maintenance = threading.Thread(target=self._maintain, name="maintenance", daemon=True)
        maintenance.start()
        log.info("worker_started")
        self._follower.follow(self._stop)
        self._fleet.has_cameras.set()
        maintenance.join(0.5)

    def close(self) -> bool:
        """Leave the group, stop all cameras and send queued messages, in about five seconds.

        Return whether every thread ended.
        """
        self._follower.close(1.0)
        self._fleet.stop()
        ended = [self._snapshots.stop(0.3)]
        self._producer.close(1.0)
        ended.append(self._fleet.join(_CAPTURES_END_SECONDS))
        ended.append(self._captures.close(_PROCESSES_END_SECONDS))
        if self._health is not None:
            self._health.stop()
        return all(ended)

    def _maintain(self) -> None:
        polled_seconds, stalled_seconds = 0.0, 0.0
        while not self._stop.wait(_MAINTENANCE_SECONDS):
            is_idle = not self._fleet.has_cameras.wait(_IDLE_SECONDS)
            try:
                self._fleet.publish_due(now())
            # An error must not end the thread, which maintains all cameras.
            except Exception:
                log.exception("maintenance_failed")
            self._maintained_seconds = now().seconds
            self._end_if_set_back()
            # Add up the pauses, so that a suspend is not mistaken for a stall.
            stalled_seconds += _MAINTENANCE_SECONDS + is_idle * _IDLE_SECONDS
            if polled_seconds != self._follower.polled_seconds:
                polled_seconds, stalled_seconds = self._follower.polled_seconds, 0.0
            if stalled_seconds > _STALLED_SECONDS:
                log.error("worker_stalled")
                os._exit(EXIT_SOFTWARE)

    def _end_if_set_back(self) -> None:
        if not is_too_far_ahead(
            now.ahead_seconds, self._maintained_seconds - self._started_seconds
        ):
            return
        # A new process starts with the correct time. Slowing down takes ten days per day of lead.
        log.error("clock_moved_back", ahead_seconds=round(now.ahead_seconds, 1))
        self.exit_status = EXIT_TEMPORARY_FAILURE
        last_resort = threading.Timer(_STOP_TIMEOUT_SECONDS, os._exit, (EXIT_TEMPORARY_FAILURE,))
        last_resort.daemon = True
        last_resort.start()
        self.request_stop()


def session_settings(settings: IngestSettings) -> CameraSessionSettings:
    """Return the settings that all camera sessions share."""
    return CameraSessionSettings(
        worker=WORKER,
        addresses=stream_url_rules(settings),
        sample_fps=settings.ingest_sample_fps,
        offline_after_seconds=settings.camera_offline_seconds,
    )


def capture_settings(settings: IngestSettings) -> Configure:
    """Return the configuration of the capture processes. It contains no secrets."""
    is_off = settings.ingest_motion_gate is MotionGateMode.OFF
    return Configure(
        reader=ReaderSettings(
            addresses=stream_url_rules(settings),
            limits=CaptureLimits(
                open_timeout_seconds=OPEN_TIMEOUT_SECONDS,
                read_timeout_seconds=READ_TIMEOUT_SECONDS,
                ca_file=settings.camera_ca_file,
            ),
            reconnect_min_seconds=RECONNECT_MIN_SECONDS,
            reconnect_max_seconds=RECONNECT_MAX_SECONDS,
            hardware=settings.ingest_hardware,
        ),
        frames=FrameSettings(
            motion_hold_seconds=None if is_off else _MOTION_HOLD_SECONDS,
            jpeg_quality=JPEG_QUALITY,
            max_width_px=settings.ingest_max_frame_width_px,
            snapshot_interval_seconds=SNAPSHOT_SECONDS,
            may_reduce=settings.ingest_motion_gate is MotionGateMode.DECODING,
        ),
        memory_bytes=_PROCESS_MEMORY_BYTES,
        max_captures=CAMERAS_PER_PROCESS,
        log_level=settings.log_level,
        log_format=settings.log_format,
    )


def _start(settings: IngestSettings) -> IngestWorker:
    """Return a worker, or exit the process without waiting for kafka-python's threads."""
    try:
        return IngestWorker(settings)
    except MisconfiguredError as error:
        log.error("misconfigured", reason=str(error))
        os._exit(EXIT_MISCONFIGURED)
    except (TransientError, KafkaError) as error:
        log.error("kafka_unavailable", error=type(error).__name__, reason=str(error))
        os._exit(EXIT_UNAVAILABLE)


def main() -> NoReturn:
    """Run a worker until SIGTERM or SIGINT."""
    settings = load_settings(IngestSettings)
    configure_logging(settings)
    worker = _start(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.request_stop())
    try:
        worker.run()
    # The process must exit promptly, so that the supervisor restarts it.
    except Exception:
        log.exception("worker_failed")
        os._exit(EXIT_SOFTWARE)
    ended = worker.close()
    stop_tracing()
    log.info("worker_stopped", all_threads_ended=ended)
    # Do not wait for threads: kafka-python may leave a thread running if a broker was unavailable
    # (seen after a broker hung).
    os._exit(worker.exit_status)
