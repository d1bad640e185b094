"""What becomes of one alert and one pass, in any order and however often."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alert_rules.cooldown import Firing
from alert_rules.passes import Judgement, PassState, Verdict, judge
from contracts.alert_records import CandidateKind
from contracts.early import EarlyFiring, TriggerPhase
from contracts.records import decode, encode

_FIRING = Firing(1_000, "r", 1_200)
_EARLY, _FINAL, _SETTLING = CandidateKind.EARLY, CandidateKind.FINAL, CandidateKind.SETTLING


def _state(phase: TriggerPhase | None, plate: str = "AB1") -> PassState:
    return PassState(phase=phase, plate=plate, scope="", firing=_FIRING)


def _told(phase: TriggerPhase) -> Judgement:
    return Judgement(Verdict.TELL, phase)


_DECIDE, _NOTHING = Judgement(Verdict.DECIDE), Judgement(Verdict.NOTHING)


@pytest.mark.parametrize(
    ("phase", "kind", "plate", "judgement"),
    [
        pytest.param(TriggerPhase.EARLY, _EARLY, "AB1", _DECIDE, id="early again"),
        pytest.param(TriggerPhase.EARLY, _EARLY, "AB2", _NOTHING, id="early for another plate"),
        pytest.param(TriggerPhase.FINAL, _EARLY, "AB1", _NOTHING, id="early after the end"),
        pytest.param(None, _EARLY, "AB1", _NOTHING, id="early after it came to nothing"),
        pytest.param(TriggerPhase.WITHDRAWN, _EARLY, "AB1", _NOTHING, id="early after withdrawal"),
        pytest.param(
            TriggerPhase.EARLY, _FINAL, "AB1", _told(TriggerPhase.CONFIRMED), id="confirmed"
        ),
        pytest.param(
            TriggerPhase.EARLY, _FINAL, "AB2", _told(TriggerPhase.CORRECTED), id="corrected"
        ),
        pytest.param(
            TriggerPhase.CONFIRMED,
            _FINAL,
            "AB1",
            _told(TriggerPhase.CONFIRMED),
            id="confirmed again",
        ),
        pytest.param(
            TriggerPhase.CORRECTED,
            _FINAL,
            "AB2",
            _told(TriggerPhase.CORRECTED),
            id="corrected again",
        ),
        pytest.param(TriggerPhase.WITHDRAWN, _FINAL, "AB2", _NOTHING, id="rule changed in between"),
        pytest.param(TriggerPhase.FINAL, _FINAL, "AB1", _DECIDE, id="final again"),
        pytest.param(None, _FINAL, "AB1", _DECIDE, id="final after it came to nothing"),
        pytest.param(
            TriggerPhase.EARLY, _SETTLING, "AB2", _told(TriggerPhase.CORRECTED), id="another plate"
        ),
        pytest.param(
            TriggerPhase.EARLY, _SETTLING, None, _told(TriggerPhase.WITHDRAWN), id="no plate"
        ),
        pytest.param(
            TriggerPhase.EARLY, _SETTLING, "AB1", _told(TriggerPhase.CONFIRMED), id="same vehicle"
        ),
        pytest.param(
            TriggerPhase.WITHDRAWN, _SETTLING, None, _told(TriggerPhase.WITHDRAWN), id="told again"
        ),
        pytest.param(
            TriggerPhase.CORRECTED,
            _SETTLING,
            None,
            _told(TriggerPhase.CORRECTED),
            id="settled as it was",
        ),
        pytest.param(TriggerPhase.FINAL, _SETTLING, None, _NOTHING, id="fired in the end"),
        pytest.param(None, _SETTLING, None, _NOTHING, id="closed before"),
    ],
)
def test_judgements(
    phase: TriggerPhase | None, kind: CandidateKind, plate: str | None, judgement: Judgement
) -> None:
    assert judge(_state(phase), kind, plate) == judgement


def test_nothing_is_known_at_first() -> None:
    assert judge(None, _EARLY, "AB1") == _DECIDE
    assert judge(None, _FINAL, "AB1") == _DECIDE
    assert judge(None, _SETTLING, None) == Judgement(Verdict.CLOSE)


_STEPS = [(_EARLY, "AB1"), (_EARLY, "AB2"), (_FINAL, "AB2")]


@given(st.lists(st.sampled_from(_STEPS), max_size=12))
def test_whatever_the_order_a_pass_is_first_told_once(
    steps: list[tuple[CandidateKind, str]],
) -> None:
    state: PassState | None = None
    told: list[TriggerPhase] = []
    for kind, plate in steps:
        judgement = judge(state, kind, plate)
        if judgement.verdict is Verdict.DECIDE:
            phase = TriggerPhase.EARLY if kind is _EARLY else TriggerPhase.FINAL
            state = state or _state(phase, plate)
            told.append(phase)
        elif judgement.phase is not None and state is not None:
            state = msgspec.structs.replace(state, phase=judgement.phase)
            told.append(judgement.phase)
    in_turn = [phase for phase, _ in itertools.groupby(told)]
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
    assert state.early == EarlyFiring(plate="AB1", captured_ms=1_000, decided_ms=1_200)
