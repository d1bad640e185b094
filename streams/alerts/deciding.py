"""What becomes of candidates: cooldowns, and what passes had set off early."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from alert_rules.cooldown import (
    CandidateOutcome,
    Decision,
    Firing,
    Firings,
    cooldown_ms,
    decide,
    with_firing,
    without,
)
from alert_rules.passes import PassState, Verdict, judge, kept_until_ms
from contracts.alert_records import AlertCandidate, AlertTrigger, CandidateKind
from contracts.early import EarlyFiring, TriggerPhase
from contracts.ids import trigger_id
from contracts.plates import normalise_plate
from streams.alerts.remembered import Arrival, Remembered

_SETTLED: Final = {
    TriggerPhase.CONFIRMED: CandidateOutcome.CONFIRMED,
    TriggerPhase.CORRECTED: CandidateOutcome.CORRECTED,
    TriggerPhase.WITHDRAWN: CandidateOutcome.WITHDRAWN,
}


@dataclass(frozen=True)
class Result:
    """What becomes of a candidate, and what is told of it, if anything."""

    outcome: CandidateOutcome
    trigger: AlertTrigger | None = None


class Deciding:
    """Decides on the candidates of one batch, in order."""

    def __init__(self, remembered: Remembered, *, late_ms: int, now_ms: Callable[[], int]) -> None:
        """``late_ms`` after its capture a plate is told of as late."""
        self._remembered = remembered
        self._late_ms = late_ms
        self._now_ms = now_ms

    def decide(self, arrival: Arrival) -> Result:
        """Return what becomes of a candidate; what it changes is remembered."""
        candidate = arrival.candidate
        if not _may_have_fired_early(candidate):
            return self._by_cooldown(arrival, self._firing(candidate), TriggerPhase.FINAL)
        state = self._remembered.pass_state(arrival)
        judgement = judge(state, candidate.kind, _plate(candidate))
        if judgement.phase is not None and state is not None:
            return self._settle(arrival, state, judgement.phase)
        if judgement.verdict is Verdict.DECIDE:
            return self._fire(arrival, state)
        if judgement.verdict is Verdict.CLOSE and candidate.may_be_early:
            self._remember(arrival, None, self._firing(candidate))
        return Result(CandidateOutcome.SETTLED)

    def _fire(self, arrival: Arrival, state: PassState | None) -> Result:
        is_early = arrival.candidate.kind is CandidateKind.EARLY
        phase = TriggerPhase.EARLY if is_early else TriggerPhase.FINAL
        is_repeated = state is not None and state.phase is phase
        firing = state.firing if state and is_repeated else self._firing(arrival.candidate)
        result = self._by_cooldown(arrival, firing, phase)
        if result.trigger is not None and not is_repeated and arrival.candidate.may_be_early:
            decided = msgspec.structs.replace(
                firing, decided_ms=result.trigger.decided_ms, is_late=result.trigger.is_late
            )
            self._remember(arrival, phase, decided)
        elif result.trigger is None and not is_early and arrival.candidate.may_be_early:
            # Held back in the end: what comes early after this must not fire.
            self._remember(arrival, None, firing)
        return result

    def _by_cooldown(self, arrival: Arrival, firing: Firing, phase: TriggerPhase) -> Result:
        decision = self._decision(arrival, firing)
        if not decision.fires or decision.firing is None:
            return Result(decision.outcome)
        return Result(decision.outcome, trigger_of(arrival.candidate, decision.firing, phase))

    def _decision(self, arrival: Arrival, firing: Firing) -> Decision:
        length_ms = cooldown_ms(arrival.candidate.alert)
        if not length_ms:
            # Nothing is held back, and so nothing needs to be remembered.
            return Decision(CandidateOutcome.FIRED, firing, Firings())
        key = arrival.key(arrival.scope)
        decision = decide(self._remembered.firings(key), firing, length_ms)
        self._remembered.keep_firings(arrival.partition, key, decision.after)
        return decision

    def _settle(self, arrival: Arrival, state: PassState, phase: TriggerPhase) -> Result:
        if state.phase is phase:
            return Result(
                CandidateOutcome.REPEATED, _settled_trigger(arrival.candidate, state, phase)
            )
        scope = arrival.scope if phase is TriggerPhase.CORRECTED else state.scope
        after = msgspec.structs.replace(state, phase=phase, scope=scope, settled_ms=self._now_ms())
        if phase is TriggerPhase.WITHDRAWN or scope != state.scope:
            self._take_back(arrival, state)
        if phase is TriggerPhase.CORRECTED and scope != state.scope:
            self._hold_back_by(arrival, after)
        self._remembered.keep_pass(arrival, after)
        return Result(_SETTLED[phase], _settled_trigger(arrival.candidate, after, phase))

    def _take_back(self, arrival: Arrival, state: PassState) -> None:
        key = arrival.key(state.scope)
        after = without(self._remembered.firings(key), state.firing)
        self._remembered.keep_firings(arrival.partition, key, after)

    def _hold_back_by(self, arrival: Arrival, state: PassState) -> None:
        length_ms = cooldown_ms(arrival.candidate.alert)
        if length_ms:
            key = arrival.key(state.scope)
            after = with_firing(self._remembered.firings(key), state.firing, length_ms)
            self._remembered.keep_firings(arrival.partition, key, after)

    def _remember(self, arrival: Arrival, phase: TriggerPhase | None, firing: Firing) -> None:
        state = PassState(
            phase=phase,
            plate=normalise_plate(arrival.candidate.recognition.plate),
            scope=arrival.scope,
            firing=firing,
            kept_until_ms=kept_until_ms(firing.decided_ms),
        )
        self._remembered.keep_pass(arrival, state)

    def _firing(self, candidate: AlertCandidate) -> Firing:
        now_ms, captured_ms = self._now_ms(), candidate.recognition.captured_ms
        return Firing(
            captured_ms,
            str(candidate.recognition.id),
            now_ms,
            is_late=now_ms - captured_ms > self._late_ms,
        )


def trigger_of(candidate: AlertCandidate, firing: Firing, phase: TriggerPhase) -> AlertTrigger:
    """Return the record of a firing that is not settled, or needs not to be."""
    return _trigger(candidate, firing, phase, firing.decided_ms, None)


def _settled_trigger(
    candidate: AlertCandidate, state: PassState, phase: TriggerPhase
) -> AlertTrigger:
    return _trigger(candidate, state.firing, phase, state.settled_ms, state.early)


def _trigger(
    candidate: AlertCandidate,
    firing: Firing,
    phase: TriggerPhase,
    decided_ms: int,
    early: EarlyFiring | None,
) -> AlertTrigger:
    alert = candidate.alert
    return AlertTrigger(
        id=trigger_id(firing.captured_ms, alert.alert_id, UUID(firing.recognition_id)),
        owner_id=alert.owner_id,
        alert=alert,
        recognition=candidate.passed,
        decided_ms=decided_ms,
        is_late=firing.is_late,
        phase=phase,
        early=early,
    )


def _may_have_fired_early(candidate: AlertCandidate) -> bool:
    return candidate.kind is not CandidateKind.FINAL or bool(candidate.recognition.sighted)


def _plate(candidate: AlertCandidate) -> str | None:
    if candidate.kind is CandidateKind.SETTLING and not candidate.is_set_off:
        return None
    return normalise_plate(candidate.passed.plate)
