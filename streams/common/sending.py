"""Sends a message and waits until Kafka has it."""

import faust

from contracts.errors import TransientError


async def send_and_wait(
    topic: faust.TopicT, *, key: bytes | None, value: bytes | None, partition: int | None = None
) -> None:
    """Send a message to a topic of raw keys and values; returns once Kafka has it.

    The key chooses the partition unless it is given; no value deletes the key where the topic is
    compacted.

    Raises:
        TransientError: Kafka did not take it, or did not say so.
    """
    try:
        await (await topic.send(key=key, value=value, partition=partition))
    # aiokafka's errors and Faust's share no narrower class.
    except Exception as error:
        raise TransientError(f"Kafka did not take a record: {error!r}") from error
