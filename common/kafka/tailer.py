"""Reads a whole topic for one process in a thread, without a consumer group."""

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from common.errors import PlatestreamError, TransientError
from common.kafka.clients import open_consumer, topic_name
from common.records.topics import Topic
from common.settings import KafkaSettings

log = structlog.get_logger()

# A poll does not return if compaction has deleted the last records of a partition.
_CATCH_UP_MS = 1_000
# A broker delays the response to a fetch by this long if there are no records. The fetch covers all
# partitions, so the response is sent with the first record. Other requests wait for the fetch.
_FETCH_MAX_WAIT_MS = 4_000
_RETRY_SECONDS = 1.0
_SILENT_SECONDS = 15.0
_CHECK_SECONDS = 6.0
_CHECK_MS = 6_000
_BOOTSTRAP_MS = 5_000


class TopicTailer(ABC):
    """Reads a topic, across restarts of Kafka. On each connection, :meth:`seek` sets the position.

    ``seek``, ``handle_records`` and ``on_caught_up`` are called in the thread.
    """

    def __init__(self, settings: KafkaSettings, topic: Topic, *, client: str) -> None:
        self._settings = settings
        self._topic = topic
        self._client = client
        self._stop = threading.Event()
        self._caught_up = asyncio.Event()
        self._alive_at = 0.0
        self._interrupted = False
        self._thread = threading.Thread(target=self._run, name=client, daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls: deque[Callable[[], None]] = deque()

    @abstractmethod
    def seek(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """Seek to the position from which a new connection reads."""

    @abstractmethod
    def handle_records(self, records: Sequence[ConsumerRecord]) -> None:
        """Handle records. Records of a partition arrive in order."""

    @abstractmethod
    def on_caught_up(self) -> None:
        """Called when all records that existed at the time of the connection have been handled."""

    def start(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Stop reading. The thread exits within seconds, or with the process."""
        self._stop.set()

    async def wait_until_caught_up(self) -> None:
        """Wait until all records that existed at the start have been handled."""
        await self._caught_up.wait()

    async def ping(self) -> None:
        """Check that the topic is being followed.

        Raises:
            TransientError: Kafka is not responding, or some existing records have not been read.
        """
        silent = time.monotonic() - self._alive_at > _SILENT_SECONDS
        if silent or not self._caught_up.is_set():
            raise TransientError(f"reading topic {self._topic.name} is interrupted")

    def call_on_loop(self, call: Callable[[], None]) -> None:
        """Run ``call`` on the event loop that called :meth:`start`, in the order of the calls.

        Between two calls, the loop runs other tasks.
        """
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._queue, self._loop, call)

    def _queue(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        self._calls.append(call)
        if len(self._calls) == 1:
            loop.call_soon(self._do_next, loop)

    def _do_next(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._calls[0]()
        finally:
            self._calls.popleft()
            if self._calls:
                loop.call_soon(self._do_next, loop)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (KafkaError, PlatestreamError) as error:
                self._on_interruption(error)
            except Exception:
                # This is the outermost level of the thread, which would otherwise stop silently.
                log.exception("topic_feed_failed", topic=self._topic.name)
            self._stop.wait(_RETRY_SECONDS)

    def _on_interruption(self, error: Exception) -> None:
        # Log once per outage, not on every attempt.
        if not self._interrupted:
            log.warning("topic_feed_interrupted", topic=self._topic.name, error=repr(error))
        self._interrupted = True

    def _follow(self) -> None:
        consumer = open_consumer(
            self._settings,
            self._client,
            bootstrap_timeout_ms=_BOOTSTRAP_MS,
            fetch_max_wait_ms=_FETCH_MAX_WAIT_MS,
        )
        try:
            partitions = self._partitions(consumer)
            if partitions:
                consumer.assign(partitions)
                self.seek(consumer, partitions)
                self._read(consumer, partitions)
        finally:
            consumer.close()

    def _read(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        ends = self._ends(consumer, partitions)
        is_behind = True
        while not self._stop.is_set():
            if is_behind and all(consumer.position(each) >= end for each, end in ends.items()):
                is_behind = False
                self.on_caught_up()
                self.call_on_loop(self._caught_up.set)
                log.info("topic_feed_caught_up", topic=self._topic.name)
            left_ms = (self._alive_at + _CHECK_SECONDS - time.monotonic()) * 1000
            if left_ms <= 0:
                # A poll does not report an unavailable broker, but this call does.
                self._ends(consumer, partitions)
                continue
            wait_ms = min(left_ms, _CATCH_UP_MS) if is_behind else left_ms
            for records in consumer.poll(timeout_ms=wait_ms).values():
                self.handle_records(records)

    def _ends(
        self, consumer: KafkaConsumer, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int]:
        ends: dict[TopicPartition, int] = consumer.end_offsets(partitions, timeout_ms=_CHECK_MS)
        self._alive_at = time.monotonic()
        self._interrupted = False
        return ends

    def _partitions(self, consumer: KafkaConsumer) -> list[TopicPartition]:
        topic = topic_name(self._settings, self._topic)
        return [TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic) or ()]
