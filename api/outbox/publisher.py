"""Publishes rows of the outbox to Kafka."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from opentelemetry.trace import Span

from api.outbox.outbox import split_trace
from common.errors import InvalidInputError, TransientError
from common.kafka.clients import KafkaError, MessageSizeTooLargeError, open_producer, topic_name
from common.records.topics import (
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    CONFIG_OWNERS,
    CONFIG_WEBHOOKS,
    DELIVERIES,
    OUTCOMES,
    RECOGNITIONS,
    Topic,
)
from common.settings import KafkaSettings
from common.telemetry.messaging import headers_of, send_span
from common.telemetry.tracing import fail

_ACK_SECONDS = 20.0
_METADATA_MS = 10_000
_TOPICS: Final[Mapping[str, Topic]] = {
    topic.name: topic
    for topic in (
        CONFIG_CAMERAS,
        CONFIG_ALERTS,
        CONFIG_WEBHOOKS,
        CONFIG_OWNERS,
        DELIVERIES,
        OUTCOMES,
        RECOGNITIONS,
    )
}
CONFIG_TOPICS: Final = [
    topic.name for topic in (CONFIG_CAMERAS, CONFIG_ALERTS, CONFIG_WEBHOOKS, CONFIG_OWNERS)
]
"""Topics on which the latest record of a key replaces earlier records."""
_REFUSALS: Final = (InvalidInputError, MessageSizeTooLargeError)
"""Errors of a row that retrying cannot fix."""


@dataclass(frozen=True)
class OutboxRow:
    """A record to publish. If ``value`` is None, the record is a tombstone."""

    id: int
    topic: str
    key: str
    value: bytes | None
    is_replayed: bool = False


class KafkaPublisher:
    """Publishes to the topics of the Kafka cluster that the settings name."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Connect to Kafka.

        Raises:
            MisconfiguredError: Kafka rejects the credentials.
            TransientError: Kafka is not responding.
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
            raise TransientError("Kafka is not responding") from error

    def publish(self, rows: Sequence[OutboxRow]) -> Mapping[int, str]:
        """Send the rows in order and wait for acknowledgements.

        Return the IDs of rejected rows, with the reasons.

        Raises:
            TransientError: some rows were not acknowledged in time. Retrying all rows is safe.
        """
        refused: dict[int, str] = {}
        sent = []
        try:
            for row in rows:
                with _noting_refusal(row, refused):
                    topic = self._topic(row)
                    value, trace = split_trace(row.value)
                    span = send_span(topic, trace)
                    with _ended_if_not_sent(span):
                        future = self._producer.send(
                            topic,
                            key=row.key.encode(),
                            value=value,
                            headers=list(headers_of(span).items()),
                        )
                    sent.append((row, future))
                    if span is not None:
                        future.add_both(_end_span, span)
            self._producer.flush(timeout=_ACK_SECONDS)
            for row, future in sent:
                with _noting_refusal(row, refused):
                    future.get(timeout=_ACK_SECONDS)
        except KafkaError as error:
            raise TransientError("Kafka did not acknowledge the configuration records") from error
        return refused

    def close(self) -> None:
        """Close the producer. Unsent records are discarded, but are still in the outbox."""
        self._producer.close(timeout=1)

    def _topic(self, row: OutboxRow) -> str:
        topic = _TOPICS.get(row.topic)
        if topic is None:
            raise InvalidInputError(f"topic {row.topic} is unknown to this release of the relay")
        return topic_name(self._settings, topic)


def _end_span(span: Span, outcome: object) -> None:
    """End the span, and mark the span as failed if the outcome is an error."""
    if isinstance(outcome, Exception):
        fail(span, type(outcome).__name__)
    span.end()


@contextmanager
def _ended_if_not_sent(span: Span | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if span is not None:
            _end_span(span, error)
        raise


@contextmanager
def _noting_refusal(row: OutboxRow, refused: dict[int, str]) -> Iterator[None]:
    try:
        yield
    except _REFUSALS as error:
        refused[row.id] = str(error)
