"""Kafka's side of ingest: frames, ticks and camera status."""

import threading
import time
from typing import Final
from uuid import UUID

import structlog
from kafka.errors import KafkaError

from contracts.cameras import CameraStatus
from contracts.frames import FRAME_META_HEADER, FrameMeta
from contracts.kafka import open_producer, topic_name
from contracts.records import encode
from contracts.topics import CAMERA_STATUS, FRAMES
from ingest.metrics import DropReason, IngestMetrics
from ingest.settings import IngestSettings
from ingest.topic_sender import Record, TopicSender

log = structlog.get_logger(__name__)

_REQUEST_TIMEOUT_MS: Final = 10_000
_STATUS_ROOM_BYTES: Final = 16 * 1024 * 1024
_TELL_SECONDS: Final = 60.0


class Publisher:
    """Sends without waiting. Thread-safe.

    kafka-python bounds neither number nor size of the records that wait for the broker, and they
    may not expire (see :mod:`contracts.kafka`). So the bytes on their way are counted here: a frame
    or tick that does not fit is dropped, a frame also counted, and capture is never held up. For
    status, and for the end of a camera's pictures, there is some more room: they must not be lost
    to frames.

    Nobody waits for Kafka, either (see :class:`ingest.topic_sender.TopicSender`): the status of the
    fleet is sent under its lock, and the last tick of a camera that moves by the thread of the
    group's heartbeats.
    """

    def __init__(self, settings: IngestSettings, metrics: IngestMetrics) -> None:
        """Connect to Kafka.

        Raises:
            MisconfiguredError: Kafka does not let us in.
            TransientError: no broker answers.
            kafka.errors.KafkaError: no broker answered within the client's time-out.
        """
        self._most_record_bytes = settings.kafka_max_message_bytes
        self._frames_bytes = settings.ingest_buffer_bytes
        self._status_bytes = settings.ingest_buffer_bytes + _STATUS_ROOM_BYTES
        self._metrics = metrics
        self._waiting_bytes = 0
        self._tell_seconds = 0.0
        self._lock = threading.Lock()
        self._producer = open_producer(
            settings,
            "ingest",
            max_block_ms=round(settings.ingest_send_block_seconds * 1000),
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
            allow_auto_create_topics=False,
        )
        self._frames, self._status = (
            TopicSender(
                self._producer,
                topic_name(settings, topic),
                has_pictures=topic is FRAMES,
                arrived=self._release,
                lost=self._lost,
            )
            for topic in (FRAMES, CAMERA_STATUS)
        )

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
        senders = (self._frames, self._status)
        for sender in senders:
            sender.end()
        for sender in senders:
            # Half of the time, as the producer needs some to send what it was given.
            sender.join(max(0.0, deadline_seconds - timeout_seconds / 2 - time.monotonic()))
        try:
            self._producer.close(timeout=max(0.0, deadline_seconds - time.monotonic()))
        except KafkaError as error:
            log.warning("records_unsent", error=type(error).__name__, bytes=self._waiting_bytes)

    def _send_frame_record(self, meta: FrameMeta, jpeg: bytes, most_bytes: int) -> bool:
        record = Record(meta.camera_id, jpeg, [(FRAME_META_HEADER, encode(meta))])
        if record.size_bytes > self._most_record_bytes:
            # Told at once: a camera of which nothing is sent has its clock moved by ticks.
            self._picture_lost(meta.camera_id, f"{record.size_bytes} bytes are too many for Kafka")
            return False
        is_taken = self._send(self._frames, record, most_bytes)
        if not is_taken and jpeg:
            self._metrics.frame_dropped(DropReason.BUFFER)
        return is_taken

    def _send_status_record(self, camera_id: UUID, value: bytes | None) -> None:
        if not self._send(self._status, Record(camera_id, value), self._status_bytes):
            log.warning("status_dropped", camera_id=str(camera_id))

    def _send(self, sender: TopicSender, record: Record, most_bytes: int) -> bool:
        if not self._reserve(record.size_bytes, most_bytes):
            return False
        sender.put(record)
        return True

    def _reserve(self, size_bytes: int, most_bytes: int) -> bool:
        with self._lock:
            if self._waiting_bytes + size_bytes > most_bytes:
                return False
            self._waiting_bytes += size_bytes
        self._metrics.waiting_bytes(self._waiting_bytes)
        return True

    def _release(self, record: Record) -> None:
        with self._lock:
            self._waiting_bytes -= record.size_bytes
        self._metrics.waiting_bytes(self._waiting_bytes)

    def _lost(self, record: Record, error: BaseException) -> None:
        """Hear that a record was refused for good, or waited too long."""
        self._release(record)
        said = f"{type(error).__name__}: {error}"
        if record.headers and record.value:
            self._picture_lost(record.camera_id, said)
        else:
            log.warning("record_not_sent", camera_id=str(record.camera_id), error=said)

    def _picture_lost(self, camera_id: UUID, error: str) -> None:
        self._metrics.frame_dropped(DropReason.KAFKA)
        # There may be hundreds in a second, for one reason.
        if (now_seconds := time.monotonic()) >= self._tell_seconds:
            self._tell_seconds = now_seconds + _TELL_SECONDS
            log.warning("frame_not_sent", camera_id=str(camera_id), error=error)
