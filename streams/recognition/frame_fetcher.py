"""Fetches a frame again from its place on the frames topic."""

import asyncio
import time

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from contracts.errors import MisconfiguredError, TransientError
from contracts.frames import FrameReference
from contracts.kafka import open_consumer, topic_name
from contracts.settings import KafkaSettings
from contracts.topics import FRAMES

log = structlog.get_logger()

_TIMEOUT_SECONDS = 10.0
_POLL_MS = 500
# Tracking waits for the frame, and a rebalance for tracking; the stage tries again by itself.
_BOOTSTRAP_MS = 5_000


class FrameFetcher:
    """Reads single records of the frames topic. Blocking work runs in a thread."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Take where Kafka is; connects at the first fetch."""
        self._settings = settings
        self._topic = topic_name(settings, FRAMES)

    async def fetch(self, reference: FrameReference) -> bytes | None:
        """Return the JPEG at a place, or None where retention has taken it.

        Raises:
            TransientError: Kafka does not answer.
        """
        return await asyncio.to_thread(self._fetch, reference)

    def _fetch(self, reference: FrameReference) -> bytes | None:
        partition = TopicPartition(self._topic, reference.partition)
        try:
            # A consumer for each fetch: they are rare (a frame fell out of the cache, or the
            # worker is new), and an idle one would hold a connection for ever.
            consumer = open_consumer(
                self._settings,
                "frame-fetcher",
                bootstrap_timeout_ms=_BOOTSTRAP_MS,
                max_poll_records=1,
            )
            try:
                consumer.assign([partition])
                return _record_at(consumer, partition, reference.offset)
            finally:
                consumer.close()
        except (KafkaError, MisconfiguredError) as error:
            # No fault of the frame's, whichever it is.
            raise TransientError(f"a frame cannot be fetched again: {error!r}") from error


def _record_at(consumer: KafkaConsumer, partition: TopicPartition, offset: int) -> bytes | None:
    timeout_ms = round(_TIMEOUT_SECONDS * 1000)
    first = consumer.beginning_offsets([partition], timeout_ms)[partition]
    end = consumer.end_offsets([partition], timeout_ms)[partition]
    if not first <= offset < end:
        return None
    consumer.seek(partition, offset)
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        for record in consumer.poll(_POLL_MS).get(partition, []):
            value: bytes | None = record.value
            return value if record.offset == offset else None
    raise TransientError("a frame cannot be fetched again: Kafka does not answer")
