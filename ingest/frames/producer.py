"""Sends frames, ticks and camera statuses to Kafka."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import structlog
from opentelemetry.trace import Span

from common.kafka.clients import KafkaError, KafkaTimeoutError, open_producer, topic_name
from common.records.cameras import CameraStatus
from common.records.codec import encode
from common.records.frames import FRAME_META_HEADER, FrameMeta
from common.records.topics import CAMERA_STATUS, FRAMES
from common.telemetry.messaging import headers_of, send_span
from common.telemetry.tracing import begin_trace, fail, trace_of
from ingest.metrics import DropReason, IngestMetrics
from ingest.settings import IngestSettings

log = structlog.get_logger(__name__)

_REQUEST_TIMEOUT_MS: Final = 10_000
BUFFER_BYTES = 67_108_864
"""Maximum total size of the frames waiting for Kafka. Further frames are dropped and counted."""
_STATUS_RESERVE_BYTES: Final = 16 * 1024 * 1024
# Maximum time for which a send waits for Kafka's metadata.
_SEND_BLOCK_MS = 500
_OVERHEAD_BYTES: Final = 1_024
_RETRY_SECONDS: Final = 0.05
_MAX_IMAGE_WAIT_SECONDS: Final = 5.0
_MAX_CLIENT_ERRORS_SECONDS: Final = 5.0
_LOG_INTERVAL_SECONDS: Final = 60.0

Item = TypeVar("Item")


class SerialWorker(Generic[Item]):
    """A thread that handles items one by one, in order. Thread-safe.

    The queue is unlimited, so the caller must limit the number of items.
    """

    def __init__(self, name: str, handle: Callable[[Item], None]) -> None:
        self._handle = handle
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Queue an item."""
        self._queue.put(item)

    def end(self) -> None:
        """Ask the thread to end after the queued items, without waiting for its end."""
        self._queue.put(None)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the thread to end. Return whether it ended in time."""
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                self._handle(item)
            # An error must not end the thread, which would block all following items.
            except Exception:
                log.exception("record_handler_failed")


@dataclass(frozen=True, slots=True)
class _Message:
    """A camera's record. ``created_seconds`` is monotonic, and ``span`` traces the sending."""

    camera_id: UUID
    value: bytes | None
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    created_seconds: float = field(default_factory=time.monotonic)
    span: Span | None = None

    @property
    def size_bytes(self) -> int:
        """Approximate size in Kafka and in memory."""
        return len(self.value or b"") + _OVERHEAD_BYTES

    @property
    def is_image(self) -> bool:
        """Whether this is a frame with an image rather than a tick, an end record or a status."""
        return bool(self.headers and self.value)


@dataclass(slots=True)
class _TopicState:
    """State of a topic's thread. ``log_seconds`` is the next time to log (monotonic)."""

    name: str
    is_known: bool = True
    log_seconds: float = 0.0


class FrameProducer:
    """Sends records to Kafka without making callers wait. Thread-safe.

    The bytes of each message are reserved. The message is then queued for its topic's thread and
    passed to Kafka's client, and its bytes are released when Kafka responds.

    kafka-python limits neither the number nor the size of records waiting for the broker, and these
    records must not expire (see :mod:`common.kafka.clients`). So this class limits the bytes in
    flight. A frame or tick that does not fit is dropped (frames are counted), and capture never
    waits. Statuses and end records have additional space, so that frames cannot displace them.

    kafka-python's ``send`` blocks while the topic is unknown, for example while a broker restarts.
    Callers must not wait: statuses are sent while holding the fleet's lock, and the group's
    heartbeat thread sends the last tick of a reassigned camera. So a separate thread waits for each
    topic. Images are dropped after a few seconds, because later images are more useful.
    """

    def __init__(self, settings: IngestSettings, metrics: IngestMetrics) -> None:
        """Connect to Kafka.

        Raises:
            MisconfiguredError: Kafka denies access.
            TransientError: no broker responds.
            kafka.errors.KafkaError: a broker accepted the connection, but did not respond in time.
        """
        self._max_message_bytes = settings.kafka_max_message_bytes
        self._metrics = metrics
        self._in_flight_bytes = 0
        self._log_seconds = 0.0
        self._lock = threading.Lock()
        self._is_closing = threading.Event()
        self._client = open_producer(
            settings,
            "ingest",
            max_block_ms=_SEND_BLOCK_MS,
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
            allow_auto_create_topics=False,
        )
        self._frames_topic = topic_name(settings, FRAMES)
        self._frames = self._start_worker(self._frames_topic)
        self._status = self._start_worker(topic_name(settings, CAMERA_STATUS))

    def has_capacity(self) -> bool:
        """Return whether the buffer can accept another frame."""
        return self._in_flight_bytes < BUFFER_BYTES

    def send_frame(self, meta: FrameMeta, image: bytes) -> bool:
        """Send a frame (JPEG). Return whether it was accepted."""
        return self._send_frame_message(meta, image)

    def send_tick(self, meta: FrameMeta) -> None:
        """Send a record that only advances the camera's clock."""
        self._send_frame_message(meta, b"")

    def send_end(self, meta: FrameMeta) -> None:
        """Send a record that ends the passes in a camera's view."""
        if not self._send_frame_message(meta, b"", _STATUS_RESERVE_BYTES):
            log.warning("end_record_dropped", camera_id=str(meta.camera_id))

    def send_status(self, status: CameraStatus) -> None:
        """Publish a camera's status."""
        self._send_status_message(status.camera_id, encode(status))

    def delete_status(self, camera_id: UUID) -> None:
        """Delete the status of a deleted camera."""
        self._send_status_message(camera_id, None)

    def close(self, timeout_seconds: float) -> None:
        """Send the queued messages within ``timeout_seconds``."""
        deadline_seconds = time.monotonic() + timeout_seconds
        self._is_closing.set()
        workers = (self._frames, self._status)
        for worker in workers:
            worker.end()
        for worker in workers:
            # Use only half of the time. The client needs the other half to send its records.
            worker.join(max(0.0, deadline_seconds - timeout_seconds / 2 - time.monotonic()))
        try:
            self._client.close(timeout=max(0.0, deadline_seconds - time.monotonic()))
        except KafkaError as error:
            log.warning(
                "records_unsent_at_shutdown",
                error=type(error).__name__,
                bytes=self._in_flight_bytes,
            )

    def _start_worker(self, topic: str) -> SerialWorker[_Message]:
        return SerialWorker(f"sender-{topic}", partial(self._deliver, _TopicState(topic)))

    def _send_frame_message(self, meta: FrameMeta, image: bytes, reserve_bytes: int = 0) -> bool:
        span = self._begin_trace(meta) if image else None
        headers = [(FRAME_META_HEADER, encode(meta)), *headers_of(span).items()]
        message = _Message(meta.camera_id, image, headers, span=span)
        if message.size_bytes > self._max_message_bytes:
            # Reject the frame here. Ticks then advance the camera's clock instead.
            self._count_lost(meta.camera_id, f"{message.size_bytes} bytes exceed Kafka's maximum")
            _end_span(message, "too_large")
            return False
        is_taken = self._enqueue(self._frames, message, reserve_bytes)
        if not is_taken:
            _end_span(message, "buffer_full")
        if not is_taken and image:
            self._metrics.dropped.labels(DropReason.BUFFER).inc()
        return is_taken

    def _begin_trace(self, meta: FrameMeta) -> Span | None:
        """Start the trace of a frame if it is sampled. Return the span of sending it, or None."""
        about = {"platestream.camera.id": str(meta.camera_id)}
        captured = begin_trace("capture frame", attributes=about, start_ms=meta.captured_ms)
        if captured is None:
            return None
        captured.end()
        return send_span(self._frames_topic, trace_of(captured))

    def _send_status_message(self, camera_id: UUID, value: bytes | None) -> None:
        if not self._enqueue(self._status, _Message(camera_id, value), _STATUS_RESERVE_BYTES):
            log.warning("camera_status_dropped", camera_id=str(camera_id))

    def _enqueue(
        self, worker: SerialWorker[_Message], message: _Message, reserve_bytes: int
    ) -> bool:
        with self._lock:
            if self._in_flight_bytes + message.size_bytes > BUFFER_BYTES + reserve_bytes:
                return False
            self._in_flight_bytes += message.size_bytes
        self._metrics.waiting_bytes.set(self._in_flight_bytes)
        worker.put(message)
        return True

    def _deliver(self, topic: _TopicState, message: _Message) -> None:
        """Pass a message to Kafka's client once the topic is known. Runs in the topic's thread."""
        try:
            future = self._send_when_known(topic, message)
        except (KafkaError, ValueError, KeyError, TypeError) as error:
            self._on_lost(message, error)
        else:
            future.add_callback(lambda _: self._on_accepted(message))
            future.add_errback(lambda error: self._on_lost(message, error))

    def _send_when_known(self, topic: _TopicState, message: _Message) -> Any:
        began_seconds, key = time.monotonic(), str(message.camera_id).encode("ascii")
        while True:
            self._require_fresh(topic, message)
            try:
                future = self._client.send(
                    topic.name, key=key, value=message.value, headers=message.headers
                )
            except KafkaTimeoutError:
                topic.is_known = False
                self._log_unknown(topic)
                if self._is_closing.is_set():
                    raise
            except (ValueError, KeyError, TypeError):
                # kafka-python 3.0.12 raises these if it learns during the call that the topic does
                # not exist. A message that is itself invalid is not retried forever.
                is_too_long = time.monotonic() - began_seconds > _MAX_CLIENT_ERRORS_SECONDS
                if is_too_long or self._is_closing.is_set():
                    raise
            else:
                topic.is_known = True
                return future
            self._is_closing.wait(_RETRY_SECONDS)

    def _require_fresh(self, topic: _TopicState, message: _Message) -> None:
        if self._is_closing.is_set() and not topic.is_known:
            raise KafkaTimeoutError("Kafka returned no metadata for the topic")
        waited_seconds = time.monotonic() - message.created_seconds
        if message.is_image and waited_seconds > _MAX_IMAGE_WAIT_SECONDS:
            raise KafkaTimeoutError("the frame is too old")

    def _log_unknown(self, topic: _TopicState) -> None:
        if (now_seconds := time.monotonic()) >= topic.log_seconds:
            topic.log_seconds = now_seconds + _LOG_INTERVAL_SECONDS
            log.warning("topic_metadata_missing", topic=topic.name)

    def _release(self, message: _Message) -> None:
        with self._lock:
            self._in_flight_bytes -= message.size_bytes
        self._metrics.waiting_bytes.set(self._in_flight_bytes)

    def _on_accepted(self, message: _Message) -> None:
        self._release(message)
        _end_span(message)

    def _on_lost(self, message: _Message, error: BaseException) -> None:
        """Release a message that was permanently rejected or has waited too long."""
        self._release(message)
        _end_span(message, type(error).__name__)
        reason = f"{type(error).__name__}: {error}"
        if message.is_image:
            self._count_lost(message.camera_id, reason)
        else:
            log.warning("record_send_failed", camera_id=str(message.camera_id), error=reason)

    def _count_lost(self, camera_id: UUID, reason: str) -> None:
        self._metrics.dropped.labels(DropReason.KAFKA).inc()
        # Hundreds of frames per second can fail for the same reason.
        if (now_seconds := time.monotonic()) >= self._log_seconds:
            self._log_seconds = now_seconds + _LOG_INTERVAL_SECONDS
            log.warning("frame_send_failed", camera_id=str(camera_id), error=reason)


def _end_span(message: _Message, error_type: str | None = None) -> None:
    if message.span is not None:
        if error_type is not None:
            fail(message.span, error_type)
        message.span.end()
