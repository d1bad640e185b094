"""Many messages at once."""

import asyncio
from typing import Any, cast

import faust
import pytest
from aiokafka.errors import KafkaTimeoutError

from contracts.errors import TransientError
from streams.common.sending import send_all


class _Topic:
    """A topic whose first message takes longer to be buffered; promises are kept at once."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.sent: list[bytes] = []
        self._fault = fault

    async def send(self, *, key: bytes, value: bytes) -> asyncio.Future[Any]:
        for _ in range(0 if self.sent else 5):
            await asyncio.sleep(0)
        self.sent.append(value)
        promise = asyncio.get_running_loop().create_future()
        if self._fault is None:
            promise.set_result(None)
        else:
            promise.set_exception(self._fault)
        return promise


async def test_none_overtakes_another() -> None:
    topic = _Topic()
    values = [b"%d" % number for number in range(1200)]
    await send_all(cast(faust.TopicT, topic), ((b"key", value) for value in values))
    assert topic.sent == values


async def test_one_that_kafka_did_not_take_is_told_of() -> None:
    topic = _Topic(KafkaTimeoutError())
    with pytest.raises(TransientError):
        await send_all(cast(faust.TopicT, topic), [(b"key", b"value")])
