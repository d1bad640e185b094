"""Cooldowns against a slow, obvious model."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from alert_rules.cooldown import (
    KEPT_MS,
    MOST_FIRINGS,
    CandidateOutcome,
    Decision,
    Firing,
    Firings,
    cooldown_ms,
    decide,
    scope_of,
)
from contracts.alerts import CooldownScope
from contracts.records import decode, encode
from tests.records import alert

_MINUTE_MS = 60_000
_START_MS = 1_795_000_000_000


def _firing(minute: float, name: str = "", decided: float | None = None) -> Firing:
    captured_ms = _START_MS + round(minute * _MINUTE_MS)
    decided_ms = captured_ms if decided is None else _START_MS + round(decided * _MINUTE_MS)
    return Firing(captured_ms, name or f"at {minute}", decided_ms)


def _decide(before: Firings, firing: Firing, minutes: float = 5) -> Decision:
    return decide(before, firing, round(minutes * _MINUTE_MS))


def _after(*minutes: float, length: float = 5) -> Firings:
    state = Firings()
    for minute in minutes:
        state = _decide(state, _firing(minute), length).after
    return state


def test_the_next_may_fire_when_the_cooldown_is_over() -> None:
    before = _after(0)
    held = _decide(before, _firing(4.999))
    assert (held.outcome, held.firing, held.after) == (
        CandidateOutcome.HELD_BACK,
        _firing(0),
        before,
    )
    assert _decide(before, _firing(5)).outcome is CandidateOutcome.FIRED


def test_a_late_one_fires_by_its_own_time() -> None:
    before = _after(60)
    assert _decide(before, _firing(0, decided=61)).outcome is CandidateOutcome.FIRED
    assert _decide(before, _firing(56, decided=61)).outcome is CandidateOutcome.HELD_BACK


def test_the_same_recognition_gets_the_same_answer() -> None:
    before = _after(0, 10)
    again = _decide(before, Firing(_START_MS, "at 0", _START_MS + 999_999, is_late=True))
    assert (again.outcome, again.firing, again.after) == (
        CandidateOutcome.REPEATED,
        _firing(0),
        before,
    )
    assert again.fires


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=40),
    st.integers(1, 20),
    st.lists(st.integers(0, 39), max_size=20),
)
def test_any_order_and_any_replay(minutes: list[int], length: int, replays: list[int]) -> None:
    arrivals = [_firing(minute, f"{n}") for n, minute in enumerate(minutes)]
    state, model = Firings(), dict[str, int]()
    for each in arrivals:
        decision = _decide(state, each, length)
        is_free = all(abs(minute - _minute(each)) >= length for minute in model.values())
        assert decision.fires == is_free
        if is_free:
            model[each.recognition_id] = _minute(each)
        state = decode(Firings, encode(decision.after))
    for number in replays:
        each = arrivals[number % len(arrivals)]
        again = _decide(state, each, length)
        assert again.fires == (each.recognition_id in model)
        assert again.after is state


def _minute(firing: Firing) -> int:
    return (firing.captured_ms - _START_MS) // _MINUTE_MS


def test_memory_is_bounded_by_number_and_what_was_forgotten_does_not_fire_again() -> None:
    state = _after(*range(MOST_FIRINGS + 10), length=1)
    assert len(state.firings) == MOST_FIRINGS
    assert _decide(state, _firing(9), 1).outcome is CandidateOutcome.TOO_OLD
    assert _decide(state, _firing(10), 1).outcome is CandidateOutcome.REPEATED
    full = _after(*range(10, MOST_FIRINGS + 10), length=1)
    assert _decide(full, _firing(2), 1).outcome is CandidateOutcome.TOO_OLD


def test_memory_is_bounded_by_age() -> None:
    week = KEPT_MS / _MINUTE_MS
    state = _after(0, week, week + 1, week + 5, week + 11)
    assert [_minute(each) for each in state.firings] == [week, week + 5, week + 11]
    assert state.kept_until_ms == state.firings[-1].decided_ms + KEPT_MS


def test_a_cooldown_longer_than_a_week_is_remembered_as_long() -> None:
    days = 30 * 24 * 60
    before = _decide(Firings(), _firing(0), days).after
    held = _decide(before, _firing(days - 1), days)
    assert held.outcome is CandidateOutcome.HELD_BACK
    assert _decide(before, _firing(days), days).outcome is CandidateOutcome.FIRED
    assert before.kept_until_ms == _START_MS + days * _MINUTE_MS


def test_scopes() -> None:
    camera = UUID(int=7)
    by = {scope: scope_of(alert(1, cooldown_scope=scope), camera, "AB1") for scope in CooldownScope}
    assert by == {
        CooldownScope.ALERT: "",
        CooldownScope.PLATE: "AB1",
        CooldownScope.PLATE_CAMERA: f"{camera} AB1",
    }


def test_cooldowns_may_have_fractions() -> None:
    assert cooldown_ms(alert(1, cooldown_minutes=0.5)) == 30_000
    assert cooldown_ms(alert(1, cooldown_minutes=0)) == 0
