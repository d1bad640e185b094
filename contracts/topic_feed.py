"""Follows a compacted topic from its start: configuration, or the latest status of something."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar
from uuid import UUID

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from contracts.errors import InvalidInputError, TransientError
from contracts.kafka import consumer_options, require_reachable, topic_name
from contracts.records import Record, decode
from contracts.settings import KafkaSettings
from contracts.topics import Topic

log = structlog.get_logger()

R = TypeVar("R", bound=Record)

News: TypeAlias = tuple[UUID, R | None]
"""A key's latest record; None: there is none any more."""

_POLL_MS = 200
_RETRY_SECONDS = 1.0
_SILENT_SECONDS = 10.0
_CHECK_SECONDS = 3.0
_CHECK_MS = 3_000
_BOOTSTRAP_MS = 5_000


class KeyMemory:
    """Which keys were told of as being there, over several readings of a topic. Pure."""

    def __init__(self) -> None:
        self._told: set[UUID] = set()
        self._seen: set[UUID] = set()

    def begin(self) -> None:
        """Note that the topic is read from its start."""
        self._seen = set()

    def read(self, key: UUID, *, is_deleted: bool) -> None:
        """Note a record."""
        for keys in (self._told, self._seen):
            (keys.discard if is_deleted else keys.add)(key)

    def gone(self) -> frozenset[UUID]:
        """Return, at the end of the topic, the keys that are no longer on it; forget them."""
        gone = frozenset(self._told - self._seen)
        self._told -= gone
        return gone


class TopicFeed(Generic[R]):
    """A thread that reads a topic; it survives restarts of Kafka by reading anew from the start.

    Without a consumer group: each process reads all of it. A key that is gone when the topic is
    read anew (compaction drops a deletion in the end) is told of as deleted.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: Topic,
        record_type: type[R],
        post: Callable[[Iterable[News[R]]], None],
        *,
        client: str,
    ) -> None:
        """Take a topic whose keys are UUIDs as text.

        ``post`` is called on the event loop that calls :meth:`start`, in the topic's order.
        """
        self._settings = settings
        self._topic = topic
        self._record_type = record_type
        self._post = post
        self._client = client
        self._stop = threading.Event()
        self._caught_up = asyncio.Event()
        self._alive_at = 0.0
        self._interrupted = False
        self._keys = KeyMemory()
        self._thread = threading.Thread(target=self._run, name=client, daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to follow."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end and wait for it."""
        self._stop.set()
        self._thread.join(timeout=5)

    async def wait_until_caught_up(self) -> None:
        """Return once all that was there at the start has been posted."""
        await self._caught_up.wait()

    async def ping(self) -> None:
        """Return when the topic is being followed.

        Raises:
            TransientError: Kafka does not answer, or what was there at the start is not read yet.
        """
        silent = time.monotonic() - self._alive_at > _SILENT_SECONDS
        if silent or not self._caught_up.is_set():
            raise TransientError(f"{self._topic.name} is not being followed")

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                require_reachable(self._settings)
                self._follow()
            except (KafkaError, TransientError) as error:
                self._note_interruption(error)
            except Exception:
                # The edge of the thread: without it what is known would stand still for ever.
                log.exception("topic_feed_failed", topic=self._topic.name)
            self._stop.wait(_RETRY_SECONDS)

    def _note_interruption(self, error: Exception) -> None:
        # Said once for each outage, not with every try.
        if not self._interrupted:
            log.warning("topic_feed_interrupted", topic=self._topic.name, error=repr(error))
        self._interrupted = True

    def _follow(self) -> None:
        options = consumer_options(self._settings, self._client)
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
        is_behind = True
        self._keys.begin()
        while not self._stop.is_set():
            self._deliver(consumer)
            if is_behind and _reached(consumer, ends):
                is_behind = False
                self._arrive()
            if time.monotonic() - self._alive_at > _CHECK_SECONDS:
                # A poll says nothing of a broker that is away; this call does.
                self._ends(consumer, partitions)

    def _arrive(self) -> None:
        """Say what is gone since the topic was last read, then that all of it is read."""
        self._tell([(key, None) for key in self._keys.gone()])
        self._on_loop(self._caught_up.set)
        log.info("topic_feed_caught_up", topic=self._topic.name)

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

    def _deliver(self, consumer: KafkaConsumer) -> None:
        polled = consumer.poll(timeout_ms=_POLL_MS)
        news = [item for records in polled.values() for item in map(self._news, records) if item]
        for key, record in news:
            self._keys.read(key, is_deleted=record is None)
        self._tell(news)

    def _tell(self, news: list[News[R]]) -> None:
        if news:
            self._on_loop(lambda: self._post(news))

    def _on_loop(self, call: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def _news(self, record: ConsumerRecord) -> News[R] | None:
        try:
            key = UUID((record.key or b"").decode())
            return key, decode(self._record_type, record.value) if record.value else None
        except (InvalidInputError, ValueError) as error:
            log.warning("topic_record_unreadable", topic=self._topic.name, error=str(error))
            return None


def _reached(consumer: KafkaConsumer, ends: dict[TopicPartition, int]) -> bool:
    return all(consumer.position(partition) >= end for partition, end in ends.items())
