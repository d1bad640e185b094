"""Records of a worker arrive while the worker is a member of its group, and not afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.client import ConnectionGroup
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.produce import ProduceRequest

from streams.runtime.sending import GroupMembershipLostError, send_as_member_only

pytestmark = pytest.mark.integration

_PRODUCE = ProduceRequest(required_acks=-1, timeout=1000, topics=[], transactional_id=None)


@dataclass
class _Connection:
    """The parts of aiokafka's connection that the producer uses."""

    _writer: asyncio.StreamWriter
    is_closed: bool = False

    def close(self) -> None:
        self.is_closed = True


@dataclass
class _Client:
    """The parts of aiokafka's client that the producer uses. Requests get no response."""

    connection: _Connection
    sent: list[Any] = field(default_factory=list)
    answer: asyncio.Future[str] = field(default_factory=asyncio.Future)

    @property
    def _conns(self) -> dict[tuple[int, ConnectionGroup], _Connection]:
        return {(1, ConnectionGroup.DEFAULT): self.connection}

    async def send(
        self, node_id: int, request: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT
    ) -> str:
        self.sent.append(request)
        return await self.answer


@dataclass
class _Broker:
    """Records requests and does not respond."""

    heard: asyncio.Future[BaseException | None] = field(default_factory=asyncio.Future)

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read()
        except OSError as error:
            self.heard.set_result(error)
        else:
            self.heard.set_result(None)
        writer.close()


@pytest.fixture
async def broker() -> _Broker:
    return _Broker()


@pytest.fixture
async def client(broker: _Broker) -> AsyncIterator[_Client]:
    async with await asyncio.start_server(broker.hear, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        yield _Client(_Connection(writer))
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def test_a_worker_that_is_no_member_produces_nothing(client: _Client) -> None:
    membership = SimpleNamespace(member_seconds=0.0)
    send_as_member_only(client, lambda: membership.member_seconds)
    with pytest.raises(GroupMembershipLostError) as raised:
        await client.send(1, _PRODUCE)
    assert not raised.value.retriable
    assert client.sent == []
    client.answer.set_result("topics")
    assert await client.send(1, "which topics are there?") == "topics"


async def test_records_in_flight_are_discarded_once_a_worker_is_not_a_member(
    client: _Client, broker: _Broker
) -> None:
    membership = SimpleNamespace(member_seconds=0.02)
    send_as_member_only(client, lambda: membership.member_seconds)
    produced = asyncio.create_task(client.send(1, _PRODUCE))
    # The membership is extended again and again, so the record stays in flight.
    await asyncio.sleep(0.1)
    assert not produced.done()
    membership.member_seconds = 0.0
    with pytest.raises(GroupMembershipLostError):
        await produced
    assert isinstance(await broker.heard, ConnectionResetError)
    assert client.connection.is_closed
    assert client.answer.cancelled()


async def test_a_member_gets_the_outcome_of_its_records(client: _Client) -> None:
    send_as_member_only(client, lambda: 5.0)
    client.answer.set_result("taken")
    assert await client.send(1, _PRODUCE) == "taken"
    client.answer = asyncio.Future()
    client.answer.set_exception(KafkaConnectionError())
    with pytest.raises(KafkaConnectionError):
        await client.send(1, _PRODUCE)
