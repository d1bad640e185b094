"""Kafka as the relay sees it: publish in order, tell how much the broker has acknowledged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kafka.errors import KafkaError

from contracts.errors import MisconfiguredError, TransientError
from contracts.kafka import open_producer, topic_name
from contracts.settings import KafkaSettings
from contracts.topics import (
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    CONFIG_WEBHOOKS,
    DELIVERIES,
    OUTCOMES,
    RECOGNITIONS,
    Topic,
)

_ACK_SECONDS = 20.0
_METADATA_MS = 10_000
_TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (
        CONFIG_CAMERAS,
        CONFIG_ALERTS,
        CONFIG_WEBHOOKS,
        DELIVERIES,
        OUTCOMES,
        RECOGNITIONS,
    )
}


@dataclass(frozen=True)
class OutboxRow:
    """One record to publish; ``value`` None is a tombstone."""

    id: int
    topic: str
    key: str
    value: bytes | None


class Publisher(Protocol):
    """Where outbox rows go."""

    def publish(self, rows: Sequence[OutboxRow]) -> None:
        """Return when every row is acknowledged; raise :class:`TransientError` otherwise."""

    def close(self) -> None:
        """Give the connection back."""


class KafkaPublisher:
    """Publishes to the config topics of the cluster in the settings."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Connect.

        Raises:
            MisconfiguredError: Kafka does not let us in.
            TransientError: Kafka does not answer.
        """
        self._settings = settings
        try:
            self._producer = open_producer(
                settings,
                "config-relay",
                max_block_ms=_METADATA_MS,
                request_timeout_ms=_METADATA_MS,
                delivery_timeout_ms=int(_ACK_SECONDS * 1000),
                linger_ms=0,
                bootstrap_timeout_ms=_METADATA_MS,
            )
        except KafkaError as error:
            raise TransientError("Kafka does not answer") from error

    def publish(self, rows: Sequence[OutboxRow]) -> None:
        """Send the rows in order and wait until the broker has all of them.

        Raises:
            TransientError: not all were acknowledged in time; publishing all again is safe.
        """
        try:
            futures = [
                self._producer.send(self._topic(row), key=row.key.encode(), value=row.value)
                for row in rows
            ]
            self._producer.flush(timeout=_ACK_SECONDS)
            for future in futures:
                future.get(timeout=_ACK_SECONDS)
        except KafkaError as error:
            raise TransientError("Kafka did not acknowledge the configuration") from error

    def close(self) -> None:
        """Give up what is unsent (the outbox still has it) and close."""
        self._producer.close(timeout=1)

    def _topic(self, row: OutboxRow) -> str:
        topic = _TOPICS.get(row.topic)
        if topic is None:
            raise MisconfiguredError(f"outbox row {row.id} names the unknown topic {row.topic}")
        return topic_name(self._settings, topic)
