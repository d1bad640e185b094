"""Sends messages and waits until Kafka has stored them.

Messages wait in buffers of the producer and the system, and are retried. If a worker was cut off,
its messages would be sent once the network recovers, after records of the partitions' next owner.
Therefore :class:`StageProducer` discards messages as soon as the partitions may have a new owner.
"""

import asyncio
import socket
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import faust
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.client import ConnectionGroup
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaError
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.protocol.produce import ProduceRequest
from faust.transport.drivers import aiokafka as driver
from opentelemetry.trace import Span

from common.errors import TransientError
from common.records.codec import Record, encode
from common.telemetry.messaging import Headers, headers_of, send_span, sending
from common.telemetry.tracing import TraceContext, fail

log = structlog.get_logger()

_KEYS_REMEMBERED = 16_384
_partitioner = DefaultPartitioner()
_NOT_A_MEMBER = "lost contact with Kafka's group; partitions may be reassigned"
_RESET_WHEN_CLOSED = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class OutgoingMessage:
    """A message to send. In a compacted topic, a value of None deletes the key.

    The key selects the partition unless ``partition`` is given. ``trace`` is sent in the headers.
    """

    key: bytes
    value: bytes | None
    partition: int | None = None
    trace: TraceContext | None = None


async def send_and_wait(
    topic: faust.TopicT,
    *,
    key: bytes | None,
    value: bytes | None,
    partition: int | None = None,
    headers: Headers | None = None,
) -> None:
    """Send a message to a topic with raw keys and values; return once Kafka has stored it.

    The key selects the partition unless ``partition`` is given. In a compacted topic, a value of
    None deletes the key.

    Raises:
        TransientError: Kafka did not acknowledge the message.
    """
    try:
        await (await topic.send(key=key, value=value, partition=partition, headers=headers))
    # The errors of aiokafka and Faust have no narrower common class.
    except Exception as error:
        raise TransientError(f"Kafka did not acknowledge a record: {error!r}") from error


async def send_all(topic: faust.TopicT, messages: Iterable[OutgoingMessage]) -> None:
    """Send messages in order; return once Kafka has stored all messages.

    Raises:
        TransientError: Kafka did not acknowledge one of the messages.
    """
    if not all(await try_to_send(topic, list(messages))):
        raise TransientError("Kafka did not acknowledge a record")


async def try_to_send(topic: faust.TopicT, messages: Sequence[OutgoingMessage]) -> list[bool]:
    """Send messages in order within each partition; return for each whether Kafka has stored it.

    If Kafka does not acknowledge a message, no later message of the same partition is sent.
    """
    if not messages:
        return []
    taken = [False] * len(messages)
    try:
        # Bypass Faust's own send, which creates a future and makes several calls per message. The
        # type of Faust's app lacks this method. StageApp has the method, but imports this module.
        producer: AIOKafkaProducer = await topic.app.batch_producer()  # type: ignore[attr-defined]
        name = topic.get_topic_name()
        by_partition = _by_partition(messages, len(await producer.partitions_for(name)))
    # The errors of aiokafka and Faust have no narrower common class.
    except Exception as error:
        _warn(topic, error)
        return taken
    spans = _spans(name, messages)
    batches = (
        _send_partition(producer, name, partition, messages, indices, taken, spans)
        for partition, indices in by_partition.items()
    )
    for fault in await asyncio.gather(*batches):
        if fault is not None:
            _warn(topic, fault)
    for index, span in spans.items():
        if not taken[index]:
            fail(span, "not_taken")
        span.end()
    return taken


def _spans(topic: str, messages: Sequence[OutgoingMessage]) -> dict[int, Span]:
    """Start spans for the messages that have a trace; return the spans by message index."""
    begun = ((index, send_span(topic, each.trace)) for index, each in enumerate(messages))
    return {index: span for index, span in begun if span is not None}


def _by_partition(messages: Sequence[OutgoingMessage], count: int) -> dict[int, list[int]]:
    """Return, for each partition, the indices of the partition's messages in order."""
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, message in enumerate(messages):
        partition = message.partition
        places[_partition_of(message.key, count) if partition is None else partition].append(place)
    return places


# The hash is computed in Python, and the same keys are sent repeatedly.
@lru_cache(_KEYS_REMEMBERED)
def _partition_of(key: bytes, count: int) -> int:
    """Return the partition that every Kafka client selects for a key."""
    return int(_partitioner(key, list(range(count)), []))


async def _send_partition(
    producer: AIOKafkaProducer,
    topic: str,
    partition: int,
    messages: Sequence[OutgoingMessage],
    indices: Sequence[int],
    taken: list[bool],
    spans: Mapping[int, Span],
) -> Exception | None:
    """Send a partition's messages and mark the stored ones. Return the first error, or None."""
    begin = 0
    while begin < len(indices):
        batch = producer.create_batch()
        end = begin
        while end < len(indices):
            index = indices[end]
            if not _append(batch, messages[index], spans.get(index)):
                break
            end += 1
        batch.close()
        try:
            stored = await producer.send_batch(batch, topic, partition=partition)
            assert stored is not None
            await stored
        # aiokafka's errors have no narrower common class.
        except Exception as error:
            return error
        for index in indices[begin:end]:
            taken[index] = True
        begin = end
    return None


def _append(batch: Any, message: OutgoingMessage, span: Span | None) -> bool:
    headers = list(headers_of(span).items())
    added = batch.append(timestamp=None, key=message.key, value=message.value, headers=headers)
    # A batch accepts its first message regardless of the message's size.
    return added is not None


def _warn(topic: faust.TopicT, error: Exception) -> None:
    log.warning("kafka_send_failed", topic=topic.get_topic_name(), error=repr(error))


class TopicPublisher:
    """Publishes the records of one topic."""

    def __init__(self, topic: faust.TopicT) -> None:
        """``topic`` has raw keys and values."""
        self._topic = topic

    async def publish(self, key: bytes, record: Record, partition: int | None = None) -> None:
        """Publish a record with the current trace; return once Kafka has stored the record.

        The key selects the partition unless ``partition`` is given.

        Raises:
            TransientError: Kafka did not acknowledge the record.
        """
        with sending(self._topic.get_topic_name()) as span:
            await send_and_wait(
                self._topic,
                key=key,
                value=encode(record),
                partition=partition,
                headers=headers_of(span),
            )


class GroupMembershipLostError(KafkaError, TransientError):  # type: ignore[misc]
    """The group may have reassigned this worker's partitions, so the message is not retried."""


class StageProducer(driver.Producer):
    """Faust's producer, which sends nothing once another worker may own the partitions.

    aiokafka retries a batch for 40 s, and the system sends buffered data even after the connection
    was closed, unless the connection is closed by a reset.
    """

    # The app is a StageApp, whose module imports this module.
    app: Any

    def _new_producer(self, transactional_id: str | None = None) -> AIOKafkaProducer:
        producer = super()._new_producer(transactional_id)
        send_as_member_only(producer.client, lambda: self.app.member_seconds)
        return producer


def send_as_member_only(client: Any, member_seconds: Callable[[], float]) -> None:
    """Let a client produce only while the worker is a member of its group.

    ``member_seconds`` returns for how long the worker certainly remains a member. Messages still in
    flight after that time fail with :class:`GroupMembershipLostError`.
    """
    send = client.send

    async def send_as_member(
        node_id: int, request: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT
    ) -> Any:
        if not isinstance(request, ProduceRequest):
            return await send(node_id, request, group=group)
        if member_seconds() <= 0:
            raise GroupMembershipLostError(_NOT_A_MEMBER)
        answer = asyncio.create_task(send(node_id, request, group=group))
        try:
            while (seconds := member_seconds()) > 0:
                if (await asyncio.wait({answer}, timeout=seconds))[0]:
                    return answer.result()
        finally:
            answer.cancel()
        _discard(client._conns.get((node_id, group)))
        raise GroupMembershipLostError(_NOT_A_MEMBER)

    client.send = send_as_member


def _discard(connection: AIOKafkaConnection | None) -> None:
    """Close a connection and discard its unsent data."""
    if connection is None or connection._writer is None:
        return
    transport = connection._writer.transport
    system_socket = transport.get_extra_info("socket")
    if system_socket is not None:
        system_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_WHEN_CLOSED)
    transport.abort()
    connection.close()
