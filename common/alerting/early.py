"""Decides how a pass triggers an alert, before and after the pass ends. No I/O.

A pass that triggers an alert early must trigger the alert only once. The recognition that follows
confirms or corrects the trigger, or withdraws it if the alert does not match the final plate. So an
early trigger is stored per pass, in addition to the alert's cooldown. Candidates can be repeated or
out of order: an early candidate that arrives after the pass has ended is ignored.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from common.alerting.cooldown import RETENTION_MS, PastTrigger
from common.records.alerts import CandidateKind, EarlyTrigger, TriggerPhase
from common.records.codec import Record


class PassAction(StrEnum):
    """The action for a candidate of a pass."""

    APPLY_COOLDOWN = "apply_cooldown"
    """The cooldown decides, as for alerts without early triggers."""
    PUBLISH = "publish"
    """The early trigger is resolved now, or was already resolved."""
    CLOSE = "close"
    """Nothing is published now, and early candidates that arrive later must not trigger."""
    IGNORE = "ignore"


class PassState(Record, frozen=True, kw_only=True):
    """The state of one alert and one pass.

    ``phase`` is None if nothing triggered and an early trigger is no longer possible. ``plate``
    (normalised) is the plate of the first trigger, ``scope`` the name of its cooldown's scope.
    ``resolved_ms`` is the time of the trigger's resolution, or 0. Times are Unix ms, UTC.
    """

    phase: TriggerPhase | None
    plate: str
    scope: str
    trigger: PastTrigger
    resolved_ms: int = 0
    kept_until_ms: int = 0

    @property
    def early(self) -> EarlyTrigger:
        """The early trigger, as stored in records."""
        return EarlyTrigger(
            plate=self.plate,
            captured_ms=self.trigger.captured_ms,
            decided_ms=self.trigger.decided_ms,
        )


@dataclass(frozen=True)
class PassDecision:
    """The decision on a candidate. ``phase`` is set if a trigger is published."""

    action: PassAction
    phase: TriggerPhase | None = None


_APPLY_COOLDOWN: Final = PassDecision(PassAction.APPLY_COOLDOWN)
_IGNORE: Final = PassDecision(PassAction.IGNORE)


def decide_pass(state: PassState | None, kind: CandidateKind, plate: str | None) -> PassDecision:
    """Return the decision on a candidate of a pass.

    ``plate`` (normalised) is the plate read so far or, once the pass has ended, the final plate. It
    is None if the alert does not match the final plate, or no reading was accepted.
    """
    match kind:
        case CandidateKind.EARLY:
            return _decide_early(state, plate)
        case CandidateKind.FINAL:
            return _decide_final(state, plate)
        case CandidateKind.RESOLVED:
            return _decide_resolved(state, plate)


def _decide_early(state: PassState | None, plate: str | None) -> PassDecision:
    if state is None or (state.phase is TriggerPhase.EARLY and state.plate == plate):
        return _APPLY_COOLDOWN
    return _IGNORE


def _decide_final(state: PassState | None, plate: str | None) -> PassDecision:
    if state is None or state.phase in (None, TriggerPhase.FINAL):
        return _APPLY_COOLDOWN
    if state.phase is TriggerPhase.EARLY:
        return _publish(_end_of(state, plate))
    # The trigger was withdrawn but matches now, because the alert was changed between two replays.
    return _IGNORE if state.phase is TriggerPhase.WITHDRAWN else _publish(state.phase)


def _decide_resolved(state: PassState | None, plate: str | None) -> PassDecision:
    if state is None:
        return PassDecision(PassAction.CLOSE)
    if state.phase is TriggerPhase.EARLY:
        return _publish(_end_of(state, plate))
    if state.phase in (None, TriggerPhase.FINAL):
        return _IGNORE
    return _publish(state.phase)


def _end_of(state: PassState, plate: str | None) -> TriggerPhase:
    if plate is None:
        return TriggerPhase.WITHDRAWN
    return TriggerPhase.CONFIRMED if state.plate == plate else TriggerPhase.CORRECTED


def _publish(phase: TriggerPhase) -> PassDecision:
    return PassDecision(PassAction.PUBLISH, phase)


def kept_until_ms(decided_ms: int) -> int:
    """Return the time until which a pass is stored, because topics may repeat its records."""
    return decided_ms + RETENTION_MS
