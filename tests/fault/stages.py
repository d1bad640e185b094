"""How far the stages are, as Kafka knows it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from contracts.kafka import (
    client_options,
    consumer_options,
    group_name,
    require_reachable,
    topic_name,
)
from contracts.records import DeadLetter, Recognition, Record, decode
from contracts.settings import KafkaSettings
from contracts.topics import (
    FRAMES,
    READING_DEAD_LETTERS,
    READINGS,
    RECOGNITIONS,
    SINK_DEAD_LETTERS,
    Topic,
)

STEPS = (("recognition", FRAMES), ("recognition", READINGS), ("sink", RECOGNITIONS))
"""Stage and topic of every step of a plate's way, in order."""

_POLL_MS = 2_000
_R = TypeVar("_R", bound=Record)


class Stages:
    """Asks Kafka. Each call connects anew, since Kafka itself is killed in between.

    Every call raises kafka.errors.KafkaError or contracts.errors.TransientError while it is away.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        """Take the addresses."""
        self._settings = settings

    def ends(self) -> dict[Topic, int]:
        """Return how many records each step's topic has had."""
        with self._consumer() as consumer:
            return {topic: sum(self._ends(consumer, topic).values()) for _, topic in STEPS}

    def done(self) -> dict[Topic, int]:
        """Return how many records of each step's topic its stage has committed."""
        require_reachable(self._settings)
        admin = KafkaAdminClient(**client_options(self._settings, "fault-stages"))
        try:
            return {topic: self._done(admin, stage, topic) for stage, topic in STEPS}
        finally:
            admin.close()

    def lag(self) -> dict[str, int]:
        """Return for each step's topic how many records wait or are under way."""
        ends, done = self.ends(), self.done()
        return {topic.name: ends[topic] - done[topic] for topic in ends}

    def recognitions(self) -> list[Recognition]:
        """Return everything that was published, in no particular order."""
        return self._all(RECOGNITIONS, Recognition)

    def dead_letters(self) -> list[DeadLetter]:
        """Return what the stages could not handle."""
        return [
            letter
            for topic in (READING_DEAD_LETTERS, SINK_DEAD_LETTERS)
            for letter in self._all(topic, DeadLetter)
        ]

    def _done(self, admin: KafkaAdminClient, stage: str, topic: Topic) -> int:
        group = group_name(self._settings, stage)
        name = topic_name(self._settings, topic)
        offsets = admin.list_group_offsets(group)[group]
        return sum(max(0, meta.offset) for tp, meta in offsets.items() if tp.topic == name)

    def _all(self, topic: Topic, record_type: type[_R]) -> list[_R]:
        found: list[_R] = []
        with self._consumer() as consumer:
            ends = self._ends(consumer, topic)
            consumer.assign(list(ends))
            consumer.seek_to_beginning()
            while any(consumer.position(tp) < end for tp, end in ends.items()):
                for records in consumer.poll(timeout_ms=_POLL_MS).values():
                    found += [decode(record_type, record.value) for record in records]
        return found

    def _ends(self, consumer: KafkaConsumer, topic: Topic) -> dict[TopicPartition, int]:
        name = topic_name(self._settings, topic)
        numbers = range(self._settings.kafka_partitions)
        ends: dict[TopicPartition, int] = consumer.end_offsets(
            [TopicPartition(name, number) for number in numbers]
        )
        return ends

    @contextmanager
    def _consumer(self) -> Iterator[KafkaConsumer]:
        require_reachable(self._settings)
        consumer = KafkaConsumer(**consumer_options(self._settings, "fault-stages"))
        try:
            yield consumer
        finally:
            consumer.close()
