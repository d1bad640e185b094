"""Sends messages and waits until Kafka has them."""

import asyncio
from collections.abc import Iterable
from itertools import islice

import faust

from contracts.errors import TransientError

_AT_ONCE = 500


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


async def send_all(topic: faust.TopicT, messages: Iterable[tuple[bytes, bytes]]) -> None:
    """Send keys with values, in order; returns once Kafka has them all.

    Raises:
        TransientError: Kafka did not take one of them, or did not say so.
    """
    waiting = iter(messages)
    while part := list(islice(waiting, _AT_ONCE)):
        try:
            # One after the other into the producer's buffer, or they overtake each other there.
            promises = [await topic.send(key=key, value=value) for key, value in part]
            await asyncio.gather(*promises)
        # aiokafka's errors and Faust's share no narrower class.
        except Exception as error:
            raise TransientError(f"Kafka did not take a record: {error!r}") from error
