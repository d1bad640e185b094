"""Kafka's side of ingest: frames, ticks and camera status."""

import threading
from typing import Any, Final
from uuid import UUID

import structlog
from kafka import KafkaProducer
from kafka.errors import KafkaError

from contracts.kafka import producer_options, topic_name
from contracts.records import FRAME_META_HEADER, CameraStatus, FrameMeta, encode
from contracts.topics import CAMERA_STATUS, FRAMES
from ingest.metrics import DropReason, IngestMetrics
from ingest.settings import IngestSettings

log = structlog.get_logger(__name__)

_DELIVERY_TIMEOUT_MS: Final = 30_000
_REQUEST_TIMEOUT_MS: Final = 10_000
_OVERHEAD_BYTES: Final = 1_024


class Publisher:
    """Sends without waiting. Thread-safe.

    kafka-python bounds neither number nor size of the records that wait for the broker, so the
    bytes on their way are counted here: a frame that does not fit is dropped and counted, and
    capture is never held up. Status and ticks are small and always go.
    """

    def __init__(self, settings: IngestSettings, metrics: IngestMetrics) -> None:
        """Connect to Kafka.

        Raises:
            kafka.errors.KafkaError: no broker answered within the client's time-out.
        """
        self._frames_topic = topic_name(settings, FRAMES)
        self._status_topic = topic_name(settings, CAMERA_STATUS)
        self._most_bytes = settings.ingest_buffer_bytes
        self._metrics = metrics
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._producer = KafkaProducer(**_options(settings))

    def has_room(self) -> bool:
        """Return whether a frame sent now has a chance to be taken."""
        return self._waiting_bytes < self._most_bytes

    def send_frame(self, meta: FrameMeta, jpeg: bytes) -> bool:
        """Send one frame and return whether it was taken."""
        size_bytes = len(jpeg) + _OVERHEAD_BYTES
        if not self._reserve(size_bytes):
            self._metrics.frame_dropped(DropReason.BUFFER)
            return False
        return self._send_frame_record(meta, jpeg, size_bytes)

    def send_tick(self, meta: FrameMeta) -> None:
        """Send a record that only moves the camera's clock."""
        self._send_frame_record(meta, b"", 0)

    def send_status(self, status: CameraStatus) -> None:
        """Tell a camera's status."""
        self._send(self._status_topic, key=_key(status.camera_id), value=encode(status), headers=[])

    def delete_status(self, camera_id: UUID) -> None:
        """Tell that a camera is gone."""
        self._send(self._status_topic, key=_key(camera_id), value=None, headers=[])

    def close(self, timeout_seconds: float) -> None:
        """Send what waits, for at most ``timeout_seconds``."""
        try:
            self._producer.flush(timeout=timeout_seconds)
        except KafkaError as error:
            log.warning("flush_failed", error=type(error).__name__)
        self._producer.close(timeout=max(0.1, timeout_seconds / 2))

    def _send_frame_record(self, meta: FrameMeta, jpeg: bytes, size_bytes: int) -> bool:
        future = self._send(
            self._frames_topic,
            key=_key(meta.camera_id),
            value=jpeg,
            headers=[(FRAME_META_HEADER, encode(meta))],
        )
        if future is None:
            self._release(size_bytes)
            if size_bytes:
                self._metrics.frame_dropped(DropReason.KAFKA)
            return False
        future.add_callback(lambda _: self._release(size_bytes))
        future.add_errback(lambda error: self._lost(size_bytes, error))
        return True

    def _send(
        self, topic: str, *, key: bytes, value: bytes | None, headers: list[tuple[str, bytes]]
    ) -> Any:
        try:
            return self._producer.send(topic, key=key, value=value, headers=headers)
        except KafkaError as error:
            log.warning("send_refused", topic=topic, error=type(error).__name__)
            return None

    def _reserve(self, size_bytes: int) -> bool:
        with self._lock:
            if self._waiting_bytes + size_bytes > self._most_bytes:
                return False
            self._waiting_bytes += size_bytes
        self._metrics.waiting_bytes(self._waiting_bytes)
        return True

    def _release(self, size_bytes: int) -> None:
        with self._lock:
            self._waiting_bytes -= size_bytes

    def _lost(self, size_bytes: int, error: BaseException) -> None:
        self._release(size_bytes)
        if size_bytes:
            self._metrics.frame_dropped(DropReason.KAFKA)
        log.warning("frame_lost", error=type(error).__name__)


def _options(settings: IngestSettings) -> dict[str, Any]:
    return {
        **producer_options(settings, "ingest"),
        "max_block_ms": round(settings.ingest_send_block_seconds * 1000),
        "delivery_timeout_ms": _DELIVERY_TIMEOUT_MS,
        "request_timeout_ms": _REQUEST_TIMEOUT_MS,
        "allow_auto_create_topics": False,
    }


def _key(camera_id: UUID) -> bytes:
    return str(camera_id).encode("ascii")
