"""Puts records on topics and waits until Kafka has them."""

import faust

from contracts.records import Record, encode
from streams.common.sending import send_and_wait


class TopicPublisher:
    """Writes the records of one topic."""

    def __init__(self, topic: faust.TopicT) -> None:
        """Take a topic of raw keys and values."""
        self._topic = topic

    async def publish(self, key: bytes, record: Record, partition: int | None = None) -> None:
        """Publish a record; returns once Kafka has it. The key chooses the partition unless given.

        Raises:
            TransientError: Kafka did not take it.
        """
        await send_and_wait(self._topic, key=key, value=encode(record), partition=partition)
