"""Follows the compacted topic camera-status from its start into the status board."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from uuid import UUID

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from contracts.errors import InvalidInputError, TransientError
from contracts.kafka import consumer_options, require_reachable, topic_name
from contracts.records import CameraStatus, decode
from contracts.settings import KafkaSettings
from contracts.topics import CAMERA_STATUS

log = structlog.get_logger()

News = tuple[UUID, CameraStatus | None]

_POLL_MS = 200
_RETRY_SECONDS = 1.0
_SILENT_SECONDS = 10.0
_CHECK_SECONDS = 3.0
_CHECK_MS = 3_000
_BOOTSTRAP_MS = 5_000


class StatusFeed:
    """A thread that reads the topic; it survives restarts of Kafka by reading anew from the start.

    Without a consumer group: each API process reads all of it.
    """

    def __init__(self, settings: KafkaSettings, post: Callable[[Iterable[News]], None]) -> None:
        """``post`` is called on the event loop that calls :meth:`start`."""
        self._settings = settings
        self._post = post
        self._stop = threading.Event()
        self._caught_up = threading.Event()
        self._alive_at = 0.0
        self._interrupted = False
        self._thread = threading.Thread(target=self._run, name="camera-status", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to follow."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end and wait for it."""
        self._stop.set()
        self._thread.join(timeout=5)

    async def ping(self) -> None:
        """Return when the topic is being followed.

        Raises:
            TransientError: Kafka does not answer, or what was there at the start is not read yet.
        """
        silent = time.monotonic() - self._alive_at > _SILENT_SECONDS
        if silent or not self._caught_up.is_set():
            raise TransientError("camera-status is not being followed")

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                require_reachable(self._settings)
                self._follow()
            except (KafkaError, TransientError) as error:
                self._note_interruption(error)
            except Exception:
                # The edge of the thread: without it the statuses would stand still for ever.
                log.exception("camera_status_failed")
            self._stop.wait(_RETRY_SECONDS)

    def _note_interruption(self, error: Exception) -> None:
        # Said once for each outage, not with every try.
        if not self._interrupted:
            log.warning("camera_status_interrupted", error=repr(error))
        self._interrupted = True

    def _follow(self) -> None:
        options = consumer_options(self._settings, "api-camera-status")
        consumer = KafkaConsumer(**options, bootstrap_timeout_ms=_BOOTSTRAP_MS)
        try:
            partitions = self._partitions(consumer)
            if partitions:
                consumer.assign(partitions)
                consumer.seek_to_beginning(*partitions)
                self._read(consumer, partitions)
        finally:
            consumer.close()

    def _read(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        ends = self._ends(consumer, partitions)
        while not self._stop.is_set():
            self._deliver(consumer)
            if not self._caught_up.is_set() and _reached(consumer, ends):
                self._caught_up.set()
                log.info("camera_status_caught_up")
            if time.monotonic() - self._alive_at > _CHECK_SECONDS:
                # A poll says nothing of a broker that is away; this call does.
                self._ends(consumer, partitions)

    def _ends(
        self, consumer: KafkaConsumer, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int]:
        ends: dict[TopicPartition, int] = consumer.end_offsets(partitions, timeout_ms=_CHECK_MS)
        self._alive_at = time.monotonic()
        self._interrupted = False
        return ends

    def _partitions(self, consumer: KafkaConsumer) -> list[TopicPartition]:
        topic = topic_name(self._settings, CAMERA_STATUS)
        return [TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic) or ()]

    def _deliver(self, consumer: KafkaConsumer) -> None:
        polled = consumer.poll(timeout_ms=_POLL_MS)
        news = [item for records in polled.values() for item in map(_news, records) if item]
        if news and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._post, news)


def _reached(consumer: KafkaConsumer, ends: dict[TopicPartition, int]) -> bool:
    return all(consumer.position(partition) >= end for partition, end in ends.items())


def _news(record: ConsumerRecord) -> News | None:
    try:
        camera_id = UUID((record.key or b"").decode())
        return camera_id, decode(CameraStatus, record.value) if record.value else None
    except (InvalidInputError, ValueError) as error:
        log.warning("camera_status_unreadable", error=str(error))
        return None
