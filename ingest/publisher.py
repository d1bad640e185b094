"""Kafka's side of ingest: frames, ticks and camera status."""

import threading
import time
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog
from kafka.errors import KafkaError, KafkaTimeoutError

from contracts.cameras import CameraStatus
from contracts.frames import FRAME_META_HEADER, FrameMeta
from contracts.kafka import open_producer, topic_name
from contracts.records import encode
from contracts.topics import CAMERA_STATUS, FRAMES
from ingest.handover import Handover
from ingest.metrics import DropReason, IngestMetrics
from ingest.settings import IngestSettings

log = structlog.get_logger(__name__)

_REQUEST_TIMEOUT_MS: Final = 10_000
_OVERHEAD_BYTES: Final = 1_024
_STATUS_ROOM_BYTES: Final = 16 * 1024 * 1024
_TRY_AGAIN_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class _Record:
    topic: str
    camera_id: UUID
    value: bytes | None
    headers: list[tuple[str, bytes]]

    @property
    def key(self) -> bytes:
        return str(self.camera_id).encode("ascii")

    @property
    def size_bytes(self) -> int:
        return len(self.value or b"") + _OVERHEAD_BYTES


class Publisher:
    """Sends without waiting. Thread-safe.

    kafka-python bounds neither number nor size of the records that wait for the broker, and they
    may not expire (see :mod:`contracts.kafka`). So the bytes on their way are counted here: a frame
    or tick that does not fit is dropped, a frame also counted, and capture is never held up. For
    status, and for the end of a camera's pictures, there is some more room: they must not be lost
    to frames.

    kafka-python's own send waits where it does not know the topic, as while a broker comes back, so
    a thread for each topic waits in the place of all others. The status of the fleet is sent under
    its lock, and the last tick of a camera that moves by the thread of the group's heartbeats.
    """

    def __init__(self, settings: IngestSettings, metrics: IngestMetrics) -> None:
        """Connect to Kafka.

        Raises:
            MisconfiguredError: Kafka does not let us in.
            TransientError: no broker answers.
            kafka.errors.KafkaError: no broker answered within the client's time-out.
        """
        self._frames_topic = topic_name(settings, FRAMES)
        self._status_topic = topic_name(settings, CAMERA_STATUS)
        self._frames_bytes = settings.ingest_buffer_bytes
        self._status_bytes = settings.ingest_buffer_bytes + _STATUS_ROOM_BYTES
        self._metrics = metrics
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._producer = open_producer(
            settings,
            "ingest",
            max_block_ms=round(settings.ingest_send_block_seconds * 1000),
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
            allow_auto_create_topics=False,
        )
        self._is_closing = threading.Event()
        self._lines = {
            topic: Handover(f"sender-{topic}", self._hand_on)
            for topic in (self._frames_topic, self._status_topic)
        }

    def has_room(self) -> bool:
        """Return whether a frame sent now has a chance to be taken."""
        return self._waiting_bytes < self._frames_bytes

    def send_frame(self, meta: FrameMeta, jpeg: bytes) -> bool:
        """Send one frame and return whether it was taken."""
        return self._send_frame_record(meta, jpeg, self._frames_bytes)

    def send_tick(self, meta: FrameMeta) -> None:
        """Send a record that only moves the camera's clock."""
        self._send_frame_record(meta, b"", self._frames_bytes)

    def send_end(self, meta: FrameMeta) -> None:
        """Send a record that says that what a camera sees is over."""
        if not self._send_frame_record(meta, b"", self._status_bytes):
            log.warning("end_dropped", camera_id=str(meta.camera_id))

    def send_status(self, status: CameraStatus) -> None:
        """Tell a camera's status."""
        self._send_status_record(status.camera_id, encode(status))

    def delete_status(self, camera_id: UUID) -> None:
        """Tell that a camera is gone."""
        self._send_status_record(camera_id, None)

    def close(self, timeout_seconds: float) -> None:
        """Send what waits, for at most ``timeout_seconds``."""
        deadline_seconds = time.monotonic() + timeout_seconds
        self._is_closing.set()
        for line in self._lines.values():
            line.close(max(0.0, deadline_seconds - time.monotonic()))
        try:
            self._producer.close(timeout=max(0.0, deadline_seconds - time.monotonic()))
        except KafkaError as error:
            log.warning("records_unsent", error=type(error).__name__, bytes=self._waiting_bytes)

    def _send_frame_record(self, meta: FrameMeta, jpeg: bytes, most_bytes: int) -> bool:
        headers = [(FRAME_META_HEADER, encode(meta))]
        record = _Record(self._frames_topic, meta.camera_id, jpeg, headers)
        is_taken = self._send(record, most_bytes)
        if not is_taken and jpeg:
            self._metrics.frame_dropped(DropReason.BUFFER)
        return is_taken

    def _send_status_record(self, camera_id: UUID, value: bytes | None) -> None:
        record = _Record(self._status_topic, camera_id, value, [])
        if not self._send(record, self._status_bytes):
            log.warning("status_dropped", camera_id=str(camera_id))

    def _send(self, record: _Record, most_bytes: int) -> bool:
        if not self._reserve(record.size_bytes, most_bytes):
            return False
        self._lines[record.topic].put(record)
        return True

    def _hand_on(self, record: _Record) -> None:
        """Give a record to Kafka's client, as soon as that knows the topic (thread of its line)."""
        while True:
            try:
                future = self._producer.send(
                    record.topic, key=record.key, value=record.value, headers=record.headers
                )
            except KafkaTimeoutError as error:
                if self._is_closing.wait(_TRY_AGAIN_SECONDS):
                    return self._lost(record, error)
            except KafkaError as error:
                return self._lost(record, error)
            else:
                future.add_callback(lambda _: self._release(record.size_bytes))
                future.add_errback(lambda error: self._lost(record, error))
                return None

    def _reserve(self, size_bytes: int, most_bytes: int) -> bool:
        with self._lock:
            if self._waiting_bytes + size_bytes > most_bytes:
                return False
            self._waiting_bytes += size_bytes
        self._metrics.waiting_bytes(self._waiting_bytes)
        return True

    def _release(self, size_bytes: int) -> None:
        with self._lock:
            self._waiting_bytes -= size_bytes
        self._metrics.waiting_bytes(self._waiting_bytes)

    def _lost(self, record: _Record, error: BaseException) -> None:
        """Hear that Kafka refused a record for good, such as one that is too large."""
        self._release(record.size_bytes)
        if record.topic == self._frames_topic and record.value:
            self._metrics.frame_dropped(DropReason.KAFKA)
        log.warning("record_refused", topic=record.topic, error=type(error).__name__)
