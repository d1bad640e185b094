"""Cooldowns compared with a slow, simple model."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from common.alerting.cooldown import (
    MAX_PAST_TRIGGERS,
    RETENTION_MS,
    CandidateOutcome,
    Decision,
    PastTrigger,
    PastTriggers,
    cooldown_ms,
    decide,
    scope_of,
)
from common.records.alerts import CooldownScope
from common.records.codec import decode, encode
from tests.records import alert

_MINUTE_MS = 60_000
_START_MS = 1_795_000_000_000


def _trigger(minute: float, name: str = "", decided: float | None = None) -> PastTrigger:
    captured_ms = _START_MS + round(minute * _MINUTE_MS)
    decided_ms = captured_ms if decided is None else _START_MS + round(decided * _MINUTE_MS)
    return PastTrigger(captured_ms, name or f"at {minute}", decided_ms)


def _decide(before: PastTriggers, trigger: PastTrigger, minutes: float = 5) -> Decision:
    return decide(before, trigger, round(minutes * _MINUTE_MS))


def _after(*minutes: float, length: float = 5) -> PastTriggers:
    state = PastTriggers()
    for minute in minutes:
        state = _decide(state, _trigger(minute), length).after
    return state


def test_the_next_may_trigger_when_the_cooldown_is_over() -> None:
    before = _after(0)
    held = _decide(before, _trigger(4.999))
    assert (held.outcome, held.trigger, held.after) == (
        CandidateOutcome.SUPPRESSED_BY_COOLDOWN,
        _trigger(0),
        before,
    )
    assert _decide(before, _trigger(5)).outcome is CandidateOutcome.TRIGGERED


def test_a_late_one_triggers_by_its_own_time() -> None:
    before = _after(60)
    assert _decide(before, _trigger(0, decided=61)).outcome is CandidateOutcome.TRIGGERED
    assert (
        _decide(before, _trigger(56, decided=61)).outcome is CandidateOutcome.SUPPRESSED_BY_COOLDOWN
    )


def test_the_same_recognition_gets_the_same_answer() -> None:
    before = _after(0, 10)
    again = _decide(before, PastTrigger(_START_MS, "at 0", _START_MS + 999_999, is_late=True))
    assert (again.outcome, again.trigger, again.after) == (
        CandidateOutcome.REPEATED,
        _trigger(0),
        before,
    )
    assert again.is_triggered


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=40),
    st.integers(1, 20),
    st.lists(st.integers(0, 39), max_size=20),
)
def test_any_order_and_any_replay_keep_the_cooldown(
    minutes: list[int], length: int, replays: list[int]
) -> None:
    arrivals = [_trigger(minute, f"{n}") for n, minute in enumerate(minutes)]
    state, model = PastTriggers(), dict[str, int]()
    for each in arrivals:
        decision = _decide(state, each, length)
        is_free = all(abs(minute - _minute(each)) >= length for minute in model.values())
        assert decision.is_triggered == is_free
        if is_free:
            model[each.recognition_id] = _minute(each)
        state = decode(PastTriggers, encode(decision.after))
    for number in replays:
        each = arrivals[number % len(arrivals)]
        again = _decide(state, each, length)
        assert again.is_triggered == (each.recognition_id in model)
        assert again.after is state


def _minute(trigger: PastTrigger) -> int:
    return (trigger.captured_ms - _START_MS) // _MINUTE_MS


def test_memory_is_bounded_by_number_and_what_was_forgotten_does_not_trigger_again() -> None:
    state = _after(*range(MAX_PAST_TRIGGERS + 10), length=1)
    assert len(state.triggers) == MAX_PAST_TRIGGERS
    assert _decide(state, _trigger(9), 1).outcome is CandidateOutcome.TOO_OLD
    assert _decide(state, _trigger(10), 1).outcome is CandidateOutcome.REPEATED
    full = _after(*range(10, MAX_PAST_TRIGGERS + 10), length=1)
    assert _decide(full, _trigger(2), 1).outcome is CandidateOutcome.TOO_OLD


def test_memory_is_bounded_by_age() -> None:
    week = RETENTION_MS / _MINUTE_MS
    state = _after(0, week, week + 1, week + 5, week + 11)
    assert [_minute(each) for each in state.triggers] == [week, week + 5, week + 11]
    assert state.kept_until_ms == state.triggers[-1].decided_ms + RETENTION_MS


def test_a_cooldown_longer_than_a_week_is_remembered_as_long() -> None:
    days = 30 * 24 * 60
    before = _decide(PastTriggers(), _trigger(0), days).after
    held = _decide(before, _trigger(days - 1), days)
    assert held.outcome is CandidateOutcome.SUPPRESSED_BY_COOLDOWN
    assert _decide(before, _trigger(days), days).outcome is CandidateOutcome.TRIGGERED
    assert before.kept_until_ms == _START_MS + days * _MINUTE_MS


def test_each_scope_has_its_key() -> None:
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
