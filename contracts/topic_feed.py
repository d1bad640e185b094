"""Follows a compacted topic from its start: configuration, or the latest status of something."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar
from uuid import UUID

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from contracts.errors import InvalidInputError
from contracts.records import Record, decode
from contracts.settings import KafkaSettings
from contracts.topic_follower import TopicFollower
from contracts.topics import Topic

log = structlog.get_logger()

R = TypeVar("R", bound=Record)

News: TypeAlias = tuple[UUID, R | None]
"""A key's latest record; None: there is none any more."""


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


class TopicFeed(TopicFollower, Generic[R]):
    """Reads a topic from its start, and anew from there after each restart of Kafka.

    A key that is gone when the topic is read anew (compaction drops a deletion in the end) is told
    of as deleted.
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
        super().__init__(settings, topic, client=client)
        self._record_type = record_type
        self._post = post
        self._keys = KeyMemory()

    def place(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """Begin at the start."""
        self._keys.begin()
        consumer.seek_to_beginning(*partitions)

    def take(self, records: Sequence[ConsumerRecord]) -> None:
        """Tell of the records; what cannot be read is left out."""
        news = [item for item in map(self._news, records) if item]
        for key, record in news:
            self._keys.read(key, is_deleted=record is None)
        self._tell(news)

    def arrive(self) -> None:
        """Tell what is gone since the topic was last read."""
        self._tell([(key, None) for key in self._keys.gone()])

    def _tell(self, news: list[News[R]]) -> None:
        if news:
            self.on_loop(lambda: self._post(news))

    def _news(self, record: ConsumerRecord) -> News[R] | None:
        try:
            key = UUID((record.key or b"").decode())
            return key, decode(self._record_type, record.value) if record.value else None
        except (InvalidInputError, ValueError) as error:
            log.warning("topic_record_unreadable", topic=self._topic.name, error=str(error))
            return None
