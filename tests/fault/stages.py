"""Progress of the stages, as recorded in Kafka."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from common.kafka.clients import group_name, open_admin, open_consumer, topic_name
from common.records.alerts import AlertTrigger
from common.records.codec import DeadLetter, Record, decode
from common.records.recognitions import FrameReadings, Recognition
from common.records.topics import (
    ALERT_CANDIDATES,
    ALERT_DEAD_LETTERS,
    ALERTS,
    ATTEMPTS,
    DELIVERIES,
    FRAMES,
    LOST_IMAGES,
    OUTCOMES,
    READING_DEAD_LETTERS,
    READINGS,
    RECOGNITIONS,
    SIGHTINGS,
    SINK_DEAD_LETTERS,
    WEBHOOKS_DEAD_LETTERS,
    Topic,
)
from common.settings import KafkaSettings
from tests.fault.alert_delays import Dated


@dataclass(frozen=True)
class Step:
    """The work of one stage on one topic."""

    stage: str
    topic: Topic

    def __str__(self) -> str:
        return f"{self.stage} of {self.topic.name}"


READING = Step("recognition", FRAMES)
TRACKING = Step("recognition", READINGS)
MATCHING = Step("alerts", RECOGNITIONS)
COOLDOWN = Step("alerts", ALERT_CANDIDATES)
FAN_OUT = Step("webhooks", RECOGNITIONS)
DELIVERY = Step("webhooks", DELIVERIES)
STORING = Step("sink", RECOGNITIONS)
STEPS = (
    READING,
    TRACKING,
    MATCHING,
    Step("alerts", SIGHTINGS),
    COOLDOWN,
    FAN_OUT,
    Step("webhooks", ALERTS),
    DELIVERY,
    Step("webhooks", ATTEMPTS),
    STORING,
    Step("sink", LOST_IMAGES),
    Step("sink", ALERTS),
    Step("sink", ATTEMPTS),
    Step("sink", OUTCOMES),
)
"""The steps that a plate goes through, from reading to delivery."""

_DEAD_LETTERS = (
    READING_DEAD_LETTERS,
    SINK_DEAD_LETTERS,
    ALERT_DEAD_LETTERS,
    WEBHOOKS_DEAD_LETTERS,
)
_POLL_MS = 2_000
_R = TypeVar("_R", bound=Record)


class Stages:
    """Reads from Kafka. Each call opens a new connection, because tests kill Kafka in between.

    While Kafka is unavailable, every call raises kafka.errors.KafkaError or
    common.errors.TransientError.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings

    def done(self) -> dict[Step, int]:
        """Return for each step the number of records that the stage has committed."""
        admin = open_admin(self._settings, "fault-stages")
        try:
            groups = {step.stage: self._committed(admin, step.stage) for step in STEPS}
        finally:
            admin.close()
        return {
            step: groups[step.stage].get(topic_name(self._settings, step.topic), 0)
            for step in STEPS
        }

    def lag(self) -> dict[Step, int]:
        """Return for each step the number of records that wait or are in flight."""
        # Committed offsets are read first, so that a topic's end is never below its offset.
        done = self.done()
        with self._consumer() as consumer:
            ends = {
                topic: sum(self._ends(consumer, topic).values())
                for topic in {step.topic for step in STEPS}
            }
        return {step: ends[step.topic] - done[step] for step in STEPS}

    def recognitions(self) -> list[Recognition]:
        """Return all published recognitions, in no particular order."""
        return self._all(RECOGNITIONS, Recognition)

    def alerts(self) -> list[AlertTrigger]:
        """Return all published alerts, including repeats."""
        return self._all(ALERTS, AlertTrigger)

    def dated_readings(self) -> list[Dated[FrameReadings]]:
        return self._dated(READINGS, FrameReadings)

    def dated_alerts(self) -> list[Dated[AlertTrigger]]:
        """Return all published alerts with their times, including repeats."""
        return self._dated(ALERTS, AlertTrigger)

    def dead_letters(self) -> list[DeadLetter]:
        """Return the records that the stages could not process."""
        return [letter for topic in _DEAD_LETTERS for letter in self._all(topic, DeadLetter)]

    def _committed(self, admin: KafkaAdminClient, stage: str) -> Counter[str]:
        """Return the sum of the offsets that a stage's group has committed, for each topic."""
        group = group_name(self._settings, stage)
        done: Counter[str] = Counter()
        for tp, meta in admin.list_group_offsets(group)[group].items():
            done[tp.topic] += max(0, meta.offset)
        return done

    def _all(self, topic: Topic, record_type: type[_R]) -> list[_R]:
        return [each.record for each in self._dated(topic, record_type)]

    def _dated(self, topic: Topic, record_type: type[_R]) -> list[Dated[_R]]:
        found: list[Dated[_R]] = []
        with self._consumer() as consumer:
            ends = self._ends(consumer, topic)
            consumer.assign(list(ends))
            consumer.seek_to_beginning()
            while any(consumer.position(tp) < end for tp, end in ends.items()):
                for records in consumer.poll(timeout_ms=_POLL_MS).values():
                    found += [
                        Dated(record.timestamp, decode(record_type, record.value))
                        for record in records
                    ]
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
        consumer = open_consumer(self._settings, "fault-stages")
        try:
            yield consumer
        finally:
            consumer.close()
