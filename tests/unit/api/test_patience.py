"""How long a call waits for a part of the service."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from api import patience
from api.parts import Part, PartAwayError
from api.patience import Patience

SLOW_SECONDS = 0.02
PROBE_SECONDS = 0.05
LONG_SECONDS = 0.3
NEVER_SECONDS = 60.0


class Server:
    """Gives signs of life, unless it stands still; may refuse."""

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
async def waits(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Patience]:
    monkeypatch.setattr(patience, "_PAUSE_SECONDS", 0.01)
    made = Patience(
        Part.SEARCH, server.probe, slow_seconds=SLOW_SECONDS, probe_seconds=PROBE_SECONDS
    )
    yield made
    made.close()


async def _call(waits: Patience, seconds: float) -> float:
    """Make a call that takes so long, and return how long it did."""
    began = time.monotonic()
    async with waits.waiting(NEVER_SECONDS):
        await asyncio.sleep(seconds)
    return time.monotonic() - began


async def test_a_quick_call_asks_nothing(waits: Patience, server: Server) -> None:
    await _call(waits, 0)
    await asyncio.sleep(2 * SLOW_SECONDS)

    assert server.asked == 0


async def test_a_long_call_of_a_server_that_lives_is_not_cut(
    waits: Patience, server: Server
) -> None:
    assert await _call(waits, LONG_SECONDS) >= LONG_SECONDS
    assert server.asked > 1


async def test_a_refusal_is_a_sign_of_life(waits: Patience, server: Server) -> None:
    server.error = ConnectionRefusedError()
    assert await _call(waits, LONG_SECONDS) >= LONG_SECONDS


async def test_calls_to_a_server_that_stands_still_are_given_up_together(
    waits: Patience, server: Server
) -> None:
    server.stands_still = True
    began = time.monotonic()
    calls = [asyncio.create_task(_call(waits, NEVER_SECONDS)) for _ in range(5)]
    for call in calls:
        with pytest.raises(PartAwayError, match="^the search database does not answer$") as away:
            await call
    assert time.monotonic() - began < NEVER_SECONDS / 2
    assert away.value.sentence == "The search database does not answer; try again later."


async def test_an_answer_to_another_call_is_a_sign_of_life(waits: Patience, server: Server) -> None:
    server.stands_still = True
    long = asyncio.create_task(_call(waits, LONG_SECONDS))
    while not long.done():
        await _call(waits, PROBE_SECONDS / 10)

    assert await long >= LONG_SECONDS
    assert server.asked > 0


async def test_others_fail_at_once_until_it_is_back(waits: Patience, server: Server) -> None:
    server.stands_still = True
    with pytest.raises(PartAwayError):
        await _call(waits, NEVER_SECONDS)
    entered = False
    with pytest.raises(PartAwayError):
        async with waits.waiting(NEVER_SECONDS):
            entered = True
    assert not entered

    server.stands_still = False
    async with asyncio.timeout(NEVER_SECONDS / 2):
        while True:
            try:
                await _call(waits, 0)
            except PartAwayError:
                await asyncio.sleep(PROBE_SECONDS)
            else:
                break
    asked = server.asked
    await asyncio.sleep(2 * PROBE_SECONDS)
    assert server.asked == asked


async def test_a_call_ends_after_its_own_time(waits: Patience) -> None:
    with pytest.raises(PartAwayError, match=r"took over 0\.01 s"):
        async with waits.waiting(0.01):
            await asyncio.sleep(NEVER_SECONDS)


async def test_what_a_call_raises_goes_on(waits: Patience) -> None:
    with pytest.raises(KeyError):
        async with waits.waiting(NEVER_SECONDS):
            raise KeyError("x")
