"""Wires one ingest worker together, runs it and stops it."""

import os
import signal
import socket
import threading
from typing import Final, NoReturn

import structlog
from kafka.errors import KafkaError

from contracts.errors import MisconfiguredError, TransientError
from contracts.exit_statuses import (
    EXIT_MISCONFIGURED,
    EXIT_SOFTWARE,
    EXIT_TEMPORARY_FAILURE,
    EXIT_UNAVAILABLE,
)
from contracts.logs import configure_logging
from contracts.secrets import SecretBox
from contracts.settings import load_settings
from contracts.stream_urls import stream_url_rules
from ingest.assignment import AssignmentFollower
from ingest.camera import CameraRules, CameraServices
from ingest.capture import CaptureLimits
from ingest.encoders import EncoderPool
from ingest.fleet import Fleet
from ingest.health import HealthServer
from ingest.lane import LaneRules, LaneServices
from ingest.metrics import IngestMetrics
from ingest.moments import SteadyClock, is_too_far_ahead
from ingest.motion import MotionRules
from ingest.publisher import Publisher
from ingest.reader import ReaderRules
from ingest.settings import IngestSettings
from ingest.snapshots import SnapshotUploader
from ingest.status import StatusRules

log = structlog.get_logger(__name__)

now: Final = SteadyClock()

_TEND_SECONDS: Final = 0.2
_STUCK_SECONDS: Final = 60.0
_READERS_END_SECONDS: Final = 1.5
_END_SECONDS: Final = 15.0
"""A worker that is to end and does not, such as one that waits for a frozen broker, is cut off."""


class Worker:
    """One ingest worker: a member of the group that shares the cameras."""

    def __init__(self, settings: IngestSettings) -> None:
        """Connect to Kafka and join the group; no camera is captured yet.

        Raises:
            MisconfiguredError: the secret key is none, the metrics port is taken, or Kafka does not
                let us in.
            TransientError: no broker answers.
            kafka.errors.KafkaError: no broker answers.
        """
        self._stop = threading.Event()
        self._metrics = IngestMetrics()
        secrets = SecretBox(settings.secret_key.get_secret_value())
        self._publisher = Publisher(settings, self._metrics)
        self._snapshots = SnapshotUploader(settings, self._metrics)
        self._encoders = EncoderPool(settings.ingest_encoder_threads)
        self._fleet = Fleet(
            camera_rules(settings), self._services(secrets), self._publisher, self._snapshots
        )
        self._follower = AssignmentFollower(settings, self._fleet, self._metrics, now)
        self._started_seconds = self._tended_seconds = now().seconds
        self.exit_status = 0
        """How the process is to end after :meth:`run`."""
        self._health: HealthServer | None = None
        if settings.ingest_metrics_port:
            self._health = HealthServer(
                settings.ingest_metrics_port, self._metrics.registry, self.is_alive
            )

    def is_alive(self) -> bool:
        """Return whether both loops turn."""
        oldest = min(self._follower.polled_seconds, self._tended_seconds)
        return now().seconds - oldest < _STUCK_SECONDS

    def request_stop(self) -> None:
        """Have :meth:`run` return soon."""
        self._stop.set()

    def run(self) -> None:
        """Work until :meth:`request_stop`."""
        housekeeper = threading.Thread(target=self._tend, name="housekeeper", daemon=True)
        housekeeper.start()
        log.info("worker_started")
        self._follower.follow(self._stop)
        housekeeper.join(0.5)

    def close(self) -> bool:
        """Leave the group, stop everything, send what waits; at most about five seconds.

        Returns whether every thread ended.
        """
        self._follower.close(1.0)
        self._fleet.stop()
        ended = [self._encoders.stop(0.5), self._snapshots.stop(0.3)]
        self._publisher.close(1.0)
        ended.append(self._fleet.join(_READERS_END_SECONDS))
        if self._health is not None:
            self._health.stop()
        return all(ended)

    def _tend(self) -> None:
        polled_seconds, turns = 0.0, 0
        while not self._stop.wait(_TEND_SECONDS):
            try:
                self._fleet.tend(now())
            # The edge of the thread: one bad turn must not end the housekeeping of all cameras.
            except Exception:
                log.exception("tending_failed")
            self._tended_seconds = now().seconds
            self._end_if_set_back()
            # Counted in turns, so that a machine that slept is not taken for a stuck one.
            turns = turns + 1 if polled_seconds == self._follower.polled_seconds else 0
            polled_seconds = self._follower.polled_seconds
            if turns * _TEND_SECONDS > _STUCK_SECONDS:
                log.error("worker_stuck")
                os._exit(EXIT_SOFTWARE)

    def _end_if_set_back(self) -> None:
        if not is_too_far_ahead(now.ahead_seconds, self._tended_seconds - self._started_seconds):
            return
        # Another begins with the right time; making up for a day at a tenth would take ten.
        log.error("clock_set_back", ahead_seconds=round(now.ahead_seconds, 1))
        self.exit_status = EXIT_TEMPORARY_FAILURE
        last_resort = threading.Timer(_END_SECONDS, os._exit, (EXIT_TEMPORARY_FAILURE,))
        last_resort.daemon = True
        last_resort.start()
        self.request_stop()

    def _services(self, secrets: SecretBox) -> CameraServices:
        return CameraServices(
            lane=LaneServices(
                frames=self._publisher,
                snapshots=self._snapshots,
                metrics=self._metrics,
                submit=self._encoders.submit,
                now=now,
            ),
            secrets=secrets,
            metrics=self._metrics,
            now=now,
        )


def camera_rules(settings: IngestSettings) -> CameraRules:
    """Return what the settings say about every camera."""
    motion = MotionRules(hold_seconds=settings.ingest_motion_hold_seconds)
    return CameraRules(
        worker=settings.ingest_worker_id or f"{socket.gethostname()}-{os.getpid()}",
        reader=ReaderRules(
            addresses=stream_url_rules(settings),
            limits=CaptureLimits(
                open_timeout_seconds=settings.ingest_open_timeout_seconds,
                read_timeout_seconds=settings.ingest_read_timeout_seconds,
                decoder_threads=settings.ingest_decoder_threads,
            ),
            reconnect_min_seconds=settings.ingest_reconnect_min_seconds,
            reconnect_max_seconds=settings.ingest_reconnect_max_seconds,
        ),
        lane=LaneRules(
            sample_fps=settings.ingest_sample_fps,
            motion=motion if settings.ingest_motion_gate else None,
            jpeg_quality=settings.ingest_jpeg_quality,
            max_width_px=settings.ingest_max_frame_width_px,
            snapshot_interval_seconds=settings.ingest_snapshot_interval_seconds,
        ),
        status=StatusRules(offline_after_seconds=settings.ingest_offline_after_seconds),
    )


def _start(settings: IngestSettings) -> Worker:
    """Return a worker, or end the process: kafka-python may have left threads that never end."""
    try:
        return Worker(settings)
    except MisconfiguredError as error:
        log.error("misconfigured", reason=str(error))
        os._exit(EXIT_MISCONFIGURED)
    except (TransientError, KafkaError) as error:
        log.error("kafka_unreachable", error=type(error).__name__, reason=str(error))
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
    # The edge of the process, which must end at once for the supervisor to start it again.
    except Exception:
        log.exception("worker_failed")
        os._exit(EXIT_SOFTWARE)
    ended = worker.close()
    log.info("worker_stopped", all_threads_ended=ended)
    # Without waiting for threads: a reader may wait for a hung camera inside FFmpeg, and
    # kafka-python keeps one of its own after a broker was away (seen after a frozen broker).
    os._exit(worker.exit_status)
