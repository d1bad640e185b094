"""One pass and one alert: what is told of them, early and in the end. Pure.

A pass that sets an alert off early must fire it once: the recognition that follows confirms or
corrects that firing, or withdraws it where the alert does not fire for what passed. So what an
alert fired for early is remembered under the pass, beside its cooldown. Whatever order the topics
give, and however often, the answers are the same: what comes early after the end is not told.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from alert_rules.cooldown import KEPT_MS, Firing
from contracts.alert_records import CandidateKind
from contracts.early import EarlyFiring, TriggerPhase
from contracts.records import Record


class Verdict(StrEnum):
    """What is to be done with a candidate of a pass."""

    DECIDE = "decide"
    """The cooldown decides, as without early alerts."""
    TELL = "tell"
    """What it fired for early is settled now, or was before."""
    CLOSE = "close"
    """Nothing to tell; but what might come early after this must not fire."""
    NOTHING = "nothing"


class PassState(Record, frozen=True, kw_only=True):
    """What is remembered of one alert and one pass.

    ``phase`` None: nothing fired, and nothing may early. ``plate`` (normalised) is what it fired
    for first, ``scope`` what its cooldown holds back by it. ``settled_ms`` is when it was settled,
    0: it is not. Times are Unix ms, UTC.
    """

    phase: TriggerPhase | None
    plate: str
    scope: str
    firing: Firing
    settled_ms: int = 0
    kept_until_ms: int = 0

    @property
    def early(self) -> EarlyFiring:
        """What the alert fired for early."""
        return EarlyFiring(
            plate=self.plate,
            captured_ms=self.firing.captured_ms,
            decided_ms=self.firing.decided_ms,
        )


@dataclass(frozen=True)
class Judgement:
    """What becomes of a candidate; ``phase`` is there where it is told."""

    verdict: Verdict
    phase: TriggerPhase | None = None


_DECIDE: Final = Judgement(Verdict.DECIDE)
_NOTHING: Final = Judgement(Verdict.NOTHING)


def judge(state: PassState | None, kind: CandidateKind, came_out_as: str | None) -> Judgement:
    """Return what becomes of a candidate of a pass.

    ``came_out_as`` is its plate (normalised): for an early one the plate it was seen with, for one
    that is settled None where the alert does not fire for what passed, or nothing was accepted.
    """
    match kind:
        case CandidateKind.EARLY:
            return _judge_early(state, came_out_as)
        case CandidateKind.FINAL:
            return _judge_final(state, came_out_as)
        case CandidateKind.SETTLING:
            return _judge_settling(state, came_out_as)


def _judge_early(state: PassState | None, plate: str | None) -> Judgement:
    if state is None or (state.phase is TriggerPhase.EARLY and state.plate == plate):
        return _DECIDE
    return _NOTHING


def _judge_final(state: PassState | None, plate: str | None) -> Judgement:
    if state is None or state.phase in (None, TriggerPhase.FINAL):
        return _DECIDE
    if state.phase is TriggerPhase.EARLY:
        return _told(_end_of(state, plate))
    # Withdrawn, and then set off after all: the alert was changed between two replays.
    return _NOTHING if state.phase is TriggerPhase.WITHDRAWN else _told(state.phase)


def _judge_settling(state: PassState | None, plate: str | None) -> Judgement:
    if state is None:
        return Judgement(Verdict.CLOSE)
    if state.phase is TriggerPhase.EARLY:
        return _told(_end_of(state, plate))
    if state.phase in (None, TriggerPhase.FINAL):
        return _NOTHING
    return _told(state.phase)


def _end_of(state: PassState, plate: str | None) -> TriggerPhase:
    if plate is None:
        return TriggerPhase.WITHDRAWN
    return TriggerPhase.CONFIRMED if state.plate == plate else TriggerPhase.CORRECTED


def _told(phase: TriggerPhase) -> Judgement:
    return Judgement(Verdict.TELL, phase)


def kept_until_ms(decided_ms: int) -> int:
    """Return until when a pass is remembered: as long as the topics may tell of it again."""
    return decided_ms + KEPT_MS
