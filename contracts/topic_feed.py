"""Follows a compacted topic from its start: configuration, or the latest status of something."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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

_TOLD_AT_ONCE = 5
"""A list of a thousand plates takes 40 ms, and a loop that is to answer a probe has seconds."""

News: TypeAlias = tuple[UUID, R | None]
"""A key's latest record; None: there is none any more."""


@dataclass(frozen=True)
class Place:
    """Where a record lies; with its time, so that a topic made anew has no place in common."""

    partition: int
    offset: int
    timestamp_ms: int


@dataclass(frozen=True)
class Found(Generic[R]):
    """A record of a key, or its deletion."""

    key: UUID
    record: R | None
    place: Place


class KeyMemory(Generic[R]):
    """What was told of each key, over several readings of a topic. Pure.

    What a reading meets on its way is older than what is known of the same key; so nothing is told
    before its end, and then the last of each key.
    """

    def __init__(self) -> None:
        self._told: dict[UUID, Place] = {}
        self._waiting: dict[UUID, Found[R]] | None = None

    def begin(self) -> None:
        """Note that the topic is read from its start."""
        self._waiting = {}

    def read(self, found: Iterable[Found[R]]) -> list[News[R]]:
        """Take records, those of a key in the topic's order; return what is to be told now."""
        if self._waiting is None:
            return [self._tell(each) for each in found]
        for each in found:
            # In the order of the last ones.
            self._waiting.pop(each.key, None)
            self._waiting[each.key] = each
        return []

    def end(self) -> list[News[R]]:
        """Return, at the end of the topic, what has changed since the reading before.

        A key that is no longer on the topic was deleted: compaction drops a deletion in the end.
        """
        waiting, self._waiting = self._waiting or {}, None
        gone = [key for key in self._told if key not in waiting]
        for key in gone:
            del self._told[key]
        changed = [each for each in waiting.values() if self._told.get(each.key) != each.place]
        return [(key, None) for key in gone] + [self._tell(each) for each in changed]

    def _tell(self, found: Found[R]) -> News[R]:
        if found.record is None:
            self._told.pop(found.key, None)
        else:
            self._told[found.key] = found.place
        return found.key, found.record


class TopicFeed(TopicFollower, Generic[R]):
    """Reads a topic from its start, and anew from there after each restart of Kafka.

    Reading anew tells of what has changed meanwhile, and of that at once when all is read: what is
    known of a key never gives way to an older record of it.
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

        ``post`` is called on the event loop that calls :meth:`start`, with a few records at a time,
        those of a key in the topic's order; it may not be told of each one.
        """
        super().__init__(settings, topic, client=client)
        self._record_type = record_type
        self._post = post
        self._keys = KeyMemory[R]()

    def place(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """Begin at the start."""
        self._keys.begin()
        consumer.seek_to_beginning(*partitions)

    def take(self, records: Sequence[ConsumerRecord]) -> None:
        """Tell of the records once all is read; what cannot be read is left out."""
        self._tell(self._keys.read(found for found in map(self._found, records) if found))

    def arrive(self) -> None:
        """Tell what has changed since the topic was last read."""
        self._tell(self._keys.end())

    def _tell(self, news: list[News[R]]) -> None:
        for start in range(0, len(news), _TOLD_AT_ONCE):
            self.on_loop(partial(self._post, news[start : start + _TOLD_AT_ONCE]))

    def _found(self, record: ConsumerRecord) -> Found[R] | None:
        place = Place(record.partition, record.offset, record.timestamp)
        try:
            key = UUID((record.key or b"").decode())
            known = decode(self._record_type, record.value) if record.value else None
        except (InvalidInputError, ValueError) as error:
            log.warning("topic_record_unreadable", topic=self._topic.name, error=str(error))
            return None
        return Found(key, known, place)
