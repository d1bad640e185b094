"""Puts records on topics and waits until Kafka has them."""

import faust

from contracts.errors import TransientError
from contracts.records import Record, encode


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
        try:
            await (await self._topic.send(key=key, value=encode(record), partition=partition))
        # aiokafka's errors, Faust's, and cancelled deliveries share no narrower class.
        except Exception as error:
            raise TransientError(f"Kafka did not take a record: {error!r}") from error
