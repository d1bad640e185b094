"""The resolution of an alert's early trigger by a pass, in any order and with repeats."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.alerting.cooldown import PastTrigger
from common.alerting.early import PassAction, PassDecision, PassState, decide_pass
from common.records.alerts import CandidateKind, EarlyTrigger, TriggerPhase
from common.records.codec import decode, encode

_TRIGGER = PastTrigger(1_000, "r", 1_200)
_EARLY, _FINAL, _RESOLVED = CandidateKind.EARLY, CandidateKind.FINAL, CandidateKind.RESOLVED


def _state(phase: TriggerPhase | None, plate: str = "AB1") -> PassState:
    return PassState(phase=phase, plate=plate, scope="", trigger=_TRIGGER)


def _published(phase: TriggerPhase) -> PassDecision:
    return PassDecision(PassAction.PUBLISH, phase)


_DECIDE, _NOTHING = PassDecision(PassAction.APPLY_COOLDOWN), PassDecision(PassAction.IGNORE)


@pytest.mark.parametrize(
    ("phase", "kind", "plate", "judgement"),
    [
        pytest.param(TriggerPhase.EARLY, _EARLY, "AB1", _DECIDE, id="early again"),
        pytest.param(TriggerPhase.EARLY, _EARLY, "AB2", _NOTHING, id="early for another plate"),
        pytest.param(TriggerPhase.FINAL, _EARLY, "AB1", _NOTHING, id="early after the end"),
        pytest.param(None, _EARLY, "AB1", _NOTHING, id="early after no decision"),
        pytest.param(TriggerPhase.WITHDRAWN, _EARLY, "AB1", _NOTHING, id="early after withdrawal"),
        pytest.param(
            TriggerPhase.EARLY, _FINAL, "AB1", _published(TriggerPhase.CONFIRMED), id="confirmed"
        ),
        pytest.param(
            TriggerPhase.EARLY, _FINAL, "AB2", _published(TriggerPhase.CORRECTED), id="corrected"
        ),
        pytest.param(
            TriggerPhase.CONFIRMED,
            _FINAL,
            "AB1",
            _published(TriggerPhase.CONFIRMED),
            id="confirmed again",
        ),
        pytest.param(
            TriggerPhase.CORRECTED,
            _FINAL,
            "AB2",
            _published(TriggerPhase.CORRECTED),
            id="corrected again",
        ),
        pytest.param(TriggerPhase.WITHDRAWN, _FINAL, "AB2", _NOTHING, id="rule changed in between"),
        pytest.param(TriggerPhase.FINAL, _FINAL, "AB1", _DECIDE, id="final again"),
        pytest.param(None, _FINAL, "AB1", _DECIDE, id="final after no decision"),
        pytest.param(
            TriggerPhase.EARLY,
            _RESOLVED,
            "AB2",
            _published(TriggerPhase.CORRECTED),
            id="another plate",
        ),
        pytest.param(
            TriggerPhase.EARLY, _RESOLVED, None, _published(TriggerPhase.WITHDRAWN), id="no plate"
        ),
        pytest.param(
            TriggerPhase.EARLY,
            _RESOLVED,
            "AB1",
            _published(TriggerPhase.CONFIRMED),
            id="same vehicle",
        ),
        pytest.param(
            TriggerPhase.WITHDRAWN,
            _RESOLVED,
            None,
            _published(TriggerPhase.WITHDRAWN),
            id="withdrawn again",
        ),
        pytest.param(
            TriggerPhase.CORRECTED,
            _RESOLVED,
            None,
            _published(TriggerPhase.CORRECTED),
            id="resolved as it was",
        ),
        pytest.param(TriggerPhase.FINAL, _RESOLVED, None, _NOTHING, id="triggered in the end"),
        pytest.param(None, _RESOLVED, None, _NOTHING, id="closed before"),
    ],
)
def test_each_candidate_is_decided_as_it_should_be(
    phase: TriggerPhase | None, kind: CandidateKind, plate: str | None, judgement: PassDecision
) -> None:
    assert decide_pass(_state(phase), kind, plate) == judgement


def test_nothing_is_known_at_first() -> None:
    assert decide_pass(None, _EARLY, "AB1") == _DECIDE
    assert decide_pass(None, _FINAL, "AB1") == _DECIDE
    assert decide_pass(None, _RESOLVED, None) == PassDecision(PassAction.CLOSE)


_STEPS = [(_EARLY, "AB1"), (_EARLY, "AB2"), (_FINAL, "AB2")]


@given(st.lists(st.sampled_from(_STEPS), max_size=12))
def test_whatever_the_order_a_pass_triggers_once_at_first(
    steps: list[tuple[CandidateKind, str]],
) -> None:
    state: PassState | None = None
    phases: list[TriggerPhase] = []
    for kind, plate in steps:
        judgement = decide_pass(state, kind, plate)
        if judgement.action is PassAction.APPLY_COOLDOWN:
            phase = TriggerPhase.EARLY if kind is _EARLY else TriggerPhase.FINAL
            state = state or _state(phase, plate)
            phases.append(phase)
        elif judgement.phase is not None and state is not None:
            state = msgspec.structs.replace(state, phase=judgement.phase)
            phases.append(judgement.phase)
    in_turn = [phase for phase, _ in itertools.groupby(phases)]
    assert in_turn in (
        [],
        [TriggerPhase.FINAL],
        [TriggerPhase.EARLY],
        [TriggerPhase.EARLY, TriggerPhase.CONFIRMED],
        [TriggerPhase.EARLY, TriggerPhase.CORRECTED],
    )


def test_a_state_survives_its_table() -> None:
    state = _state(TriggerPhase.EARLY)
    assert decode(PassState, encode(state)) == state
    assert state.early == EarlyTrigger(plate="AB1", captured_ms=1_000, decided_ms=1_200)
