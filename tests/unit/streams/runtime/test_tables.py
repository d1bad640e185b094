import asyncio
from typing import Any, cast

import faust
import pytest
from aiokafka.errors import KafkaTimeoutError

from common.errors import TransientError
from streams.runtime.tables import DurableTable


class Topic:
    """A topic that returns the same future for every message."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, bytes | None, int]] = []
        self.promise = asyncio.get_running_loop().create_future()

    async def send(
        self, *, key: bytes, value: bytes | None, partition: int, headers: None
    ) -> asyncio.Future[Any]:
        self.sent.append((key, value, partition))
        return self.promise


class Table:
    """A Faust table whose current event is from partition 3."""

    def __init__(self) -> None:
        self.topic = Topic()
        self.changelog_topic = cast(faust.TopicT, self.topic)
        self.data: dict[bytes, bytes] = {b"key": b"old"}

    def get(self, key: bytes, /) -> bytes | None:
        return self.data.get(key)

    def partition_for_key(self, key: bytes, /) -> int | None:
        return 3


async def test_a_write_is_done_once_kafka_has_it() -> None:
    table = Table()
    durable = DurableTable(table)
    writing = asyncio.create_task(durable.put(b"key", b"new"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert table.topic.sent == [(b"key", b"new", 3)]
    assert not writing.done()
    assert durable.get(b"key") == b"old"
    table.topic.promise.set_result(None)
    await writing
    assert durable.get(b"key") == b"new"


async def test_a_write_that_kafka_did_not_take_never_was() -> None:
    table = Table()
    durable = DurableTable(table)
    table.topic.promise.set_exception(KafkaTimeoutError())
    with pytest.raises(TransientError):
        await durable.put(b"key", b"new")
    assert durable.get(b"key") == b"old"
    assert durable.get(b"other") is None


async def test_a_deletion_is_done_once_kafka_has_it() -> None:
    table = Table()
    durable = DurableTable(table)
    table.topic.promise.set_result(None)
    await durable.put(b"key", None)
    assert table.topic.sent == [(b"key", None, 3)]
    assert durable.items() == []
