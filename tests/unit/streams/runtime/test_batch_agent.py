"""Outcomes of the messages of a batch."""

from collections.abc import Sequence

from common.errors import InvalidInputError
from common.records.codec import DeadLetter, decode
from streams.runtime.app import Event
from streams.runtime.batch_agent import BatchAgent
from tests.unit.streams.runtime.fakes import FakeApp, event, guard_of


def _number(value: bytes) -> int:
    if not value.isdigit():
        raise InvalidInputError("no number", code="no_number")
    return int(value)


async def test_the_readable_ones_are_handled_together_and_the_rest_is_dead_lettered() -> None:
    app, handled, letters = FakeApp(), list[list[int]](), list[DeadLetter]()

    async def send(key: bytes | None, value: bytes) -> None:
        letters.append(decode(DeadLetter, value))

    async def handle(part: Sequence[tuple[Event, int]]) -> None:
        assert all(int(each.message.value or b"") == number for each, number in part)
        handled.append([number for _, number in part])

    agent = BatchAgent(guard_of(app, send), _number, handle)
    await agent.take([event(1, b"1"), event(2, b"x"), event(3, b"3")])
    assert handled == [[1, 3]]
    assert [(letter.offset, letter.code) for letter in letters] == [(2, "no_number")]
    assert sorted(app.released) == [1, 2, 3]
    await agent.take([event(4, b"y")])
    assert len(handled) == 1
