"""Follows a compacted topic from the start, for configuration or the latest status of resources."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeAlias, TypeVar
from uuid import UUID

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from common.errors import InvalidInputError
from common.kafka.tailer import TopicTailer
from common.records.codec import Record, decode
from common.records.topics import Topic
from common.settings import KafkaSettings

log = structlog.get_logger()

R = TypeVar("R", bound=Record)

_BATCH_RECORDS = 5
"""Updates per call. One with a thousand plates takes 40 ms, and health checks must not wait."""

Update: TypeAlias = tuple[UUID, R | None]
"""A key and its latest record, or None if the record was deleted."""


@dataclass(frozen=True)
class RecordPosition:
    """A record's position and time. The time detects a recreated topic, whose offsets restart."""

    partition: int
    offset: int
    timestamp_ms: int


@dataclass(frozen=True)
class KeyedRecord(Generic[R]):
    """The record of a key, or its deletion."""

    key: UUID
    record: R | None
    position: RecordPosition


class LatestByKey(Generic[R]):
    """The latest record of each key, over several reads of a topic. No I/O.

    During a read, a record may be older than the known record of the same key. Therefore the last
    record of each key is only reported at the end of the read.
    """

    def __init__(self) -> None:
        self._reported: dict[UUID, RecordPosition] = {}
        self._waiting: dict[UUID, KeyedRecord[R]] | None = None

    def begin_read(self) -> None:
        """Record that the topic is read from its start."""
        self._waiting = {}

    def add(self, found: Iterable[KeyedRecord[R]]) -> list[Update[R]]:
        """Add records, in the topic's order per key, and return the updates to report now."""
        if self._waiting is None:
            return [self._report(each) for each in found]
        for each in found:
            # Keep the keys in the order of their last records.
            self._waiting.pop(each.key, None)
            self._waiting[each.key] = each
        return []

    def end_read(self) -> list[Update[R]]:
        """End a read at the end of the topic, and return the changes since the previous read.

        A key that is no longer on the topic was deleted. Compaction also drops deletions.
        """
        waiting, self._waiting = self._waiting or {}, None
        gone = [key for key in self._reported if key not in waiting]
        for key in gone:
            del self._reported[key]
        changed = [
            each for each in waiting.values() if self._reported.get(each.key) != each.position
        ]
        return [(key, None) for key in gone] + [self._report(each) for each in changed]

    def _report(self, found: KeyedRecord[R]) -> Update[R]:
        if found.record is None:
            self._reported.pop(found.key, None)
        else:
            self._reported[found.key] = found.position
        return found.key, found.record


class CompactedTopicReader(TopicTailer, Generic[R]):
    """Reads a topic from its start, and again after each restart of Kafka.

    After a restart, only changes are reported. An older record never replaces a newer record.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: Topic,
        record_type: type[R],
        post: Callable[[Iterable[Update[R]]], None],
        *,
        client: str,
    ) -> None:
        """The topic's keys are UUIDs as text.

        ``post`` is called on the event loop that called :meth:`start`, with a few updates at a
        time, in the topic's order per key. Intermediate records may be skipped.
        """
        super().__init__(settings, topic, client=client)
        self._record_type = record_type
        self._post = post
        self._keys = LatestByKey[R]()

    def seek(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """Seek to the start."""
        self._keys.begin_read()
        consumer.seek_to_beginning(*partitions)

    def handle_records(self, records: Sequence[ConsumerRecord]) -> None:
        """Add readable records. They are reported at the end of the read or, later, immediately."""
        self._report(self._keys.add(found for found in map(self._found, records) if found))

    def on_caught_up(self) -> None:
        """Report the changes since the topic was last read."""
        self._report(self._keys.end_read())

    def _report(self, news: list[Update[R]]) -> None:
        for start in range(0, len(news), _BATCH_RECORDS):
            self.call_on_loop(partial(self._post, news[start : start + _BATCH_RECORDS]))

    def _found(self, record: ConsumerRecord) -> KeyedRecord[R] | None:
        position = RecordPosition(record.partition, record.offset, record.timestamp)
        try:
            key = UUID((record.key or b"").decode())
            known = decode(self._record_type, record.value) if record.value else None
        except (InvalidInputError, ValueError) as error:
            log.warning("topic_record_unreadable", topic=self._topic.name, error=str(error))
            return None
        return KeyedRecord(key, known, position)
