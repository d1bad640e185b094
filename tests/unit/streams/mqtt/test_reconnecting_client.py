"""Successive connections, and the calls that wait for a connection."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from common.errors import TransientError
from common.retry import RetryPolicy
from streams.mqtt import broker
from streams.mqtt.broker import RefusedMessageError
from streams.mqtt.messages import Message, MessageKind, retained
from streams.mqtt.metrics import MqttMetrics
from streams.mqtt.reconnecting_client import Publish, ReconnectingClient


@pytest.fixture(autouse=True)
def long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limit of calls that is long enough for a busy machine."""
    monkeypatch.setattr("streams.mqtt.reconnecting_client._WAIT_SECONDS", 30.0)


class Connection(broker.Connection):
    def __init__(self, refused: frozenset[str] = frozenset()) -> None:
        self.sent: list[Message] = []
        self.announced = 0
        self.closed = asyncio.Event()
        self.left = False
        self.ended = asyncio.Event()
        self._refused = refused

    async def report_online(self) -> None:
        self.announced += 1

    async def send(
        self, messages: Sequence[Message], acknowledged: Callable[[Message], None]
    ) -> None:
        for message in messages:
            if message.topic not in self._refused:
                self.sent.append(message)
                acknowledged(message)
        if any(message.topic in self._refused for message in messages):
            raise RefusedMessageError("not authorized")

    async def wait_until_ended(self) -> None:
        await self.ended.wait()

    async def leave(self) -> None:
        self.left = True

    async def close(self) -> None:
        self.closed.set()


class Broker:
    """Returns connections one after another; None means unavailable."""

    def __init__(self, *connections: Connection | None) -> None:
        self._connections = list(connections)

    async def open(self) -> Connection:
        found = self._connections.pop(0) if self._connections else None
        if found is None:
            raise TransientError("unavailable")
        return found


@asynccontextmanager
async def _running(*connections: Connection | None) -> AsyncIterator[ReconnectingClient]:
    retry = RetryPolicy(first_pause_seconds=0.001, longest_pause_seconds=0.001)
    link = ReconnectingClient(Broker(*connections).open, MqttMetrics(), retry=retry)
    running = asyncio.create_task(link.run())
    try:
        yield link
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def _event(topic: str, payload: bytes = b"1") -> Message:
    return Message(topic, payload, MessageKind.RECOGNITION)


async def test_it_reconnects_and_disconnects_cleanly() -> None:
    first, second = Connection(), Connection()
    async with _running(None, None, first, None, second) as link:
        await link.publish([_event("a")])
        first.ended.set()
        await first.closed.wait()
        await link.publish([_event("b")])
    assert [message.topic for message in first.sent] == ["a"]
    assert [message.topic for message in second.sent] == ["b"]
    assert (first.left, second.left, second.closed.is_set()) == (False, True, True)


async def test_publishing_fails_while_the_broker_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("streams.mqtt.reconnecting_client._WAIT_SECONDS", 0.01)
    async with _running() as link:
        with pytest.raises(TransientError, match="unavailable"):
            await link.publish([_event("a")])


async def test_a_batch_that_is_repeated_sends_only_what_is_missing() -> None:
    strict, open_again = Connection(refused=frozenset({"b"})), Connection()
    batch = [_event("a"), _event("b"), _event("c"), _event("a", b"2")]
    async with _running(strict, open_again) as link:
        with pytest.raises(RefusedMessageError):
            await link.publish(batch)
        strict.ended.set()
        await strict.closed.wait()
        await link.publish(batch)
    assert open_again.sent == [batch[1]]


async def test_a_state_that_returns_is_sent_again() -> None:
    connection = Connection()
    messages = [retained("s", b"online"), retained("s", b"offline"), retained("s", b"online")]
    async with _running(connection) as link:
        for message in messages:
            await link.publish([message])
    assert connection.sent == messages


async def test_the_state_is_announced_before_anything_else_and_again_when_asked() -> None:
    connection, greeted = Connection(), asyncio.Event()

    async def greet(publish: Publish) -> None:
        await publish([retained("camera", b"there")])
        greeted.set()

    async with _running(connection) as link:
        link.announce = greet
        await link.publish([_event("a")])
        greeted.clear()
        link.announce_again()
        await asyncio.wait_for(greeted.wait(), 5)
    assert [message.topic for message in connection.sent] == ["camera", "a", "camera"]
    assert connection.announced == 2


async def test_an_unexpected_error_does_not_end_the_connection() -> None:
    connection = Connection()

    async def broken(publish: Publish) -> None:
        link.announce = None
        raise ValueError("of ours")

    async with _running(Connection(), connection) as link:
        link.announce = broken
        await link.publish([_event("a")])
    assert [message.topic for message in connection.sent] == ["a"]
