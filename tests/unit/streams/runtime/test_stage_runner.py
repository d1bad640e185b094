import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from common.errors import InvalidInputError, TransientError, UnknownRecordVersionError
from common.records.codec import DeadLetter, decode
from common.retry import RetryPolicy
from streams.runtime.app import Event
from streams.runtime.stage_runner import MessageSource, StageRunner, dead_letter
from tests.unit.streams.runtime.fakes import FakeApp, event


class _EndedError(BaseException):
    """Represents the exit of the process. No handler may catch this error."""


def _end(status: int) -> None:
    raise _EndedError(status)


class _Letters:
    def __init__(self, failures: int = 0) -> None:
        self.sent: list[DeadLetter] = []
        self._failures = failures

    async def __call__(self, key: bytes | None, value: bytes) -> None:
        if self._failures:
            self._failures -= 1
            raise TransientError("Kafka is unavailable")
        self.sent.append(decode(DeadLetter, value))


def _guard(
    app: FakeApp,
    letters: _Letters,
    *,
    bound_seconds: float | None = None,
    dead_letters_per_minute: int = 100,
) -> StageRunner:
    return StageRunner(
        app.as_app(),
        stage="testing",
        send_dead_letter=letters,
        retry=RetryPolicy(
            first_pause_seconds=0.001, longest_pause_seconds=0.001, bound_seconds=bound_seconds
        ),
        dead_letters_per_minute=dead_letters_per_minute,
        max_dead_letter_bytes=10_000,
        end=_end,  # type: ignore[arg-type]
    )


async def _well(_: Event) -> None:
    return


async def test_releases_what_went_well() -> None:
    app, letters = FakeApp(), _Letters()
    await _guard(app, letters).run(event(7), _well)
    assert app.released == [7]
    assert not letters.sent


async def test_retries_in_place_until_the_dependency_has_recovered() -> None:
    app, letters, tries = FakeApp(), _Letters(), []

    async def fails_twice(_: Event) -> None:
        tries.append(app.is_waiting)
        if len(tries) < 3:
            raise TransientError("unavailable")

    await _guard(app, letters).run(event(7), fails_twice)
    assert tries == [False, True, True]
    assert app.released == [7]
    assert not app.is_waiting


async def test_waits_as_long_as_any_of_its_agents_does() -> None:
    app, has_failed, is_recovered = FakeApp(), asyncio.Event(), asyncio.Event()
    runner = _guard(app, _Letters())

    async def fails_until_recovered(_: Event) -> None:
        if not is_recovered.is_set():
            has_failed.set()
            raise TransientError("unavailable")

    async def works(_: Event) -> None:
        assert app.is_waiting

    waiting = asyncio.create_task(runner.run(event(7), fails_until_recovered))
    await has_failed.wait()
    await runner.run(event(8), works)
    assert app.is_waiting
    is_recovered.set()
    await waiting
    assert not app.is_waiting


async def test_ends_the_process_unreleased_when_the_bound_has_passed() -> None:
    app = FakeApp()

    async def fails(_: Event) -> None:
        raise TransientError("unavailable")

    with pytest.raises(_EndedError, match="75"):
        await _guard(app, _Letters(), bound_seconds=0).run(event(7), fails)
    assert app.released == []


async def test_refused_input_is_dead_lettered_with_its_place_and_reason() -> None:
    app, letters = FakeApp(), _Letters(failures=2)

    async def refuses(_: Event) -> None:
        raise InvalidInputError("no such thing", code="no_such_thing")

    await _guard(app, letters).run(event(7, b"what", b"whose"), refuses)
    (letter,) = letters.sent
    assert (letter.stage, letter.topic, letter.partition, letter.offset) == (
        "testing",
        "things",
        3,
        7,
    )
    assert (letter.code, letter.reason) == ("no_such_thing", "no such thing")
    assert (letter.key, letter.value) == (b"whose", b"what")
    assert app.released == [7]


async def test_an_unexpected_error_is_dead_lettered_too() -> None:
    app, letters = FakeApp(), _Letters()

    async def breaks(_: Event) -> None:
        raise KeyError("x")

    await _guard(app, letters).run(event(7), breaks)
    assert [letter.code for letter in letters.sent] == ["unexpected_error"]
    assert app.released == [7]


async def test_ends_the_process_when_dead_letters_run_high() -> None:
    app, letters = FakeApp(), _Letters()
    runner = _guard(app, letters, dead_letters_per_minute=2)
    for offset in (1, 2):
        await runner.reject(event(offset), InvalidInputError("bad"))
    with pytest.raises(_EndedError, match="75"):
        await runner.reject(event(3), InvalidInputError("bad"))
    assert app.released == [1, 2]


@pytest.mark.parametrize("bad", [{0}, {4}, {1, 2}, {0, 1, 2, 3, 4}, set()], ids=str)
async def test_a_batch_is_halved_until_the_events_at_fault_are_alone(bad: set[int]) -> None:
    app, letters = FakeApp(), _Letters()
    stored: list[int] = []

    async def store(events: Sequence[Event]) -> None:
        offsets = [e.message.offset for e in events]
        if bad & set(offsets):
            raise InvalidInputError("one of them")
        stored.extend(offsets)

    await _guard(app, letters).run_batch([event(offset) for offset in range(5)], store)
    assert stored == [offset for offset in range(5) if offset not in bad]
    assert {letter.offset for letter in letters.sent} == bad
    assert sorted(app.released) == list(range(5))


async def test_gives_up_unreleased_when_the_stage_is_leaving() -> None:
    app, letters = FakeApp(), _Letters()

    async def leaves_then_fails(_: Event) -> None:
        app.is_leaving = True
        raise TransientError("unavailable")

    await _guard(app, letters).run(event(7), leaves_then_fails)
    await _guard(app, letters).run(event(8), _well)
    await _guard(app, letters).reject(event(9), InvalidInputError("bad"))
    assert app.released == []
    assert not letters.sent


async def test_in_order_a_cancelled_item_cancels_those_after_it() -> None:
    app, letters, done = FakeApp(), _Letters(), list[int]()
    runner = _guard(app, letters)

    async def handle(one: Event) -> None:
        runner.require_next(one)
        if app.is_leaving:
            raise TransientError("unavailable")
        done.append(one.message.offset)

    first, second, third = event(7), event(8), event(9)
    app.deliver(first, second, third)
    await runner.run(first, handle)

    async def leaves(one: Event) -> None:
        app.is_leaving = True
        await handle(one)

    await runner.run(second, leaves)
    app.is_leaving = False
    await runner.run(third, handle)
    assert done == app.released == [7]
    assert not letters.sent


_SOURCE = MessageSource(topic="things", partition=1, offset=2, key=b"\x00\xff", value=b"v" * 3000)


def _letter(error: Exception, *, max_bytes: int = 100_000) -> DeadLetter:
    return decode(DeadLetter, dead_letter("s", _SOURCE, error, at_ms=5, max_bytes=max_bytes))


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (InvalidInputError("no", code="not_a_thing"), "not_a_thing", "no"),
        (UnknownRecordVersionError("version 9"), "unknown_record_version", "version 9"),
        (KeyError("x"), "unexpected_error", "KeyError('x')"),
    ],
    ids=["invalid", "version", "unforeseen"],
)
def test_says_where_and_why(error: Exception, code: str, reason: str) -> None:
    letter = _letter(error)
    assert (letter.code, letter.reason, letter.at_ms) == (code, reason, 5)
    assert (letter.key, letter.value) == (_SOURCE.key, _SOURCE.value)


def test_a_value_that_does_not_fit_is_left_out() -> None:
    letter = _letter(InvalidInputError("no"), max_bytes=4000)
    assert letter.value is None
    assert letter.key == _SOURCE.key
    assert letter.reason == "no (value of 3000 bytes omitted: too large)"


def test_a_reason_is_cut_to_a_length() -> None:
    assert len(_letter(InvalidInputError("x" * 5000)).reason) == 1000


def test_is_json_that_any_tool_reads() -> None:
    data = dead_letter("s", _SOURCE, InvalidInputError("no"), at_ms=5, max_bytes=100_000)
    assert msgspec.json.decode(data)["offset"] == 2
