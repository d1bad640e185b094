"""Concurrent sending of messages."""

import pytest
from aiokafka.errors import KafkaTimeoutError
from aiokafka.partitioner import DefaultPartitioner

from common.errors import TransientError
from streams.runtime.sending import OutgoingMessage, send_all, try_to_send
from tests.unit.streams.runtime.fakes import FakeTopic


async def test_none_overtakes_another_and_all_go_in_few_batches() -> None:
    topic = FakeTopic()
    values = [b"%d" % number for number in range(1200)]
    await send_all(topic.as_topic(), (OutgoingMessage(b"key", value) for value in values))

    assert [value for _, _, value in topic.sent] == values
    assert 1 < topic.batches < 20


async def test_a_key_goes_where_every_client_sends_it() -> None:
    topic = FakeTopic()
    keys = [b"key %d" % number for number in range(100)]
    await send_all(topic.as_topic(), [OutgoingMessage(key, b"") for key in keys])

    wanted = {key: DefaultPartitioner()(key, list(range(8)), []) for key in keys}
    assert {key: partition for partition, key, _ in topic.sent} == wanted
    assert len(set(wanted.values())) == 8


async def test_one_larger_than_a_batch_goes_alone() -> None:
    topic = FakeTopic(batch_bytes=100)
    wanted = [OutgoingMessage(b"key", bytes(size), 3) for size in (10, 1000, 10)]
    taken = await try_to_send(topic.as_topic(), [*wanted, OutgoingMessage(b"key", None, 3)])

    assert taken == [True] * 4
    assert [value and len(value) for _, _, value in topic.sent] == [10, 1000, 10, None]


async def test_a_message_that_kafka_did_not_take_is_reported() -> None:
    topic = FakeTopic()
    topic.faults[3] = KafkaTimeoutError()
    wanted = [OutgoingMessage(b"key", b"value", partition) for partition in (3, 4, 3, 5)]

    assert await try_to_send(topic.as_topic(), wanted) == [False, True, False, True]
    topic.faults = dict.fromkeys(range(8), KafkaTimeoutError())
    with pytest.raises(TransientError):
        await send_all(topic.as_topic(), [OutgoingMessage(b"key", b"value")])
