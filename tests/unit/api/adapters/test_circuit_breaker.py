"""How long calls wait for a dependency."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from api.adapters import circuit_breaker
from api.adapters.circuit_breaker import CircuitBreaker
from api.errors import Dependency, DependencyUnavailableError

SLOW_SECONDS = 0.02
PROBE_SECONDS = 0.05
LONG_SECONDS = 0.3
NEVER_SECONDS = 60.0


class Server:
    """Responds to health checks unless it is frozen, and can raise an error."""

    def __init__(self) -> None:
        self.stands_still = False
        self.error: Exception | None = None
        self.asked = 0

    async def probe(self) -> None:
        self.asked += 1
        if self.stands_still:
            await asyncio.sleep(NEVER_SECONDS)
        if self.error is not None:
            raise self.error


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def waits(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CircuitBreaker]:
    monkeypatch.setattr(circuit_breaker, "_PAUSE_SECONDS", 0.01)
    made = CircuitBreaker(
        Dependency.SEARCH,
        server.probe,
        slow_seconds=SLOW_SECONDS,
        health_check_seconds=PROBE_SECONDS,
    )
    yield made
    made.close()


async def _call(waits: CircuitBreaker, seconds: float) -> float:
    """Make a call that takes ``seconds``, and return its duration."""
    began = time.monotonic()
    async with waits.call(NEVER_SECONDS):
        await asyncio.sleep(seconds)
    return time.monotonic() - began


async def test_a_quick_call_asks_nothing(waits: CircuitBreaker, server: Server) -> None:
    await _call(waits, 0)
    await asyncio.sleep(2 * SLOW_SECONDS)

    assert server.asked == 0


async def test_a_long_call_of_a_server_that_lives_is_not_cut(
    waits: CircuitBreaker, server: Server
) -> None:
    assert await _call(waits, LONG_SECONDS) >= LONG_SECONDS
    assert server.asked > 1


async def test_a_refusal_is_a_sign_of_life(waits: CircuitBreaker, server: Server) -> None:
    server.error = ConnectionRefusedError()
    assert await _call(waits, LONG_SECONDS) >= LONG_SECONDS


async def test_calls_to_a_frozen_server_time_out_together(
    waits: CircuitBreaker, server: Server
) -> None:
    server.stands_still = True
    began = time.monotonic()
    calls = [asyncio.create_task(_call(waits, NEVER_SECONDS)) for _ in range(5)]
    for call in calls:
        with pytest.raises(
            DependencyUnavailableError, match="^the search database is not responding$"
        ) as caught:
            await call
    assert time.monotonic() - began < NEVER_SECONDS / 2
    assert caught.value.sentence == "The search database is not responding. Try again later."


async def test_an_answer_to_another_call_is_a_sign_of_life(
    waits: CircuitBreaker, server: Server
) -> None:
    server.stands_still = True
    long = asyncio.create_task(_call(waits, LONG_SECONDS))
    while not long.done():
        await _call(waits, PROBE_SECONDS / 10)

    assert await long >= LONG_SECONDS
    assert server.asked > 0


async def test_others_fail_at_once_until_it_has_recovered(
    waits: CircuitBreaker, server: Server
) -> None:
    server.stands_still = True
    with pytest.raises(DependencyUnavailableError):
        await _call(waits, NEVER_SECONDS)
    entered = False
    with pytest.raises(DependencyUnavailableError):
        async with waits.call(NEVER_SECONDS):
            entered = True
    assert not entered

    server.stands_still = False
    async with asyncio.timeout(NEVER_SECONDS / 2):
        while True:
            try:
                await _call(waits, 0)
            except DependencyUnavailableError:
                await asyncio.sleep(PROBE_SECONDS)
            else:
                break
    asked = server.asked
    await asyncio.sleep(2 * PROBE_SECONDS)
    assert server.asked == asked


async def test_a_call_ends_after_its_own_time(waits: CircuitBreaker) -> None:
    with pytest.raises(DependencyUnavailableError, match="timed out after 0\\.01 s"):
        async with waits.call(0.01):
            await asyncio.sleep(NEVER_SECONDS)


async def test_what_a_call_raises_goes_on(waits: CircuitBreaker) -> None:
    with pytest.raises(KeyError):
        async with waits.call(NEVER_SECONDS):
            raise KeyError("x")
