"""Decides whether an alert's cooldown suppresses a trigger, in capture time. No I/O.

Two triggers of the same scope are at least the cooldown apart, measured by the capture times of
their recognitions, regardless of the order of the decisions. If a recognition arrives late because
its camera was disconnected, its capture time counts: only a trigger within the cooldown before *or
after* that time suppresses it.

A trigger is stored with its recognition, so the same recognition gets the same decision after a
crash or a replay. Memory is bounded: triggers are stored for a week or for the cooldown, whichever
is longer (topics are retained for a week, so nothing older is read again), and at most
:data:`MAX_PAST_TRIGGERS` per scope. At this maximum, older recognitions are suppressed, because a
trigger near them may have been dropped.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from common.records.alerts import AlertConfig, CooldownScope
from common.records.codec import Record

MAX_PAST_TRIGGERS: Final = 2_000
RETENTION_MS: Final = 7 * 24 * 60 * 60 * 1000

_MINUTE_MS = 60_000


class PastTrigger(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A trigger of an alert by a recognition. Times are Unix ms, UTC."""

    captured_ms: int
    recognition_id: str
    decided_ms: int
    is_late: bool = False


class PastTriggers(Record, frozen=True, kw_only=True):
    """The triggers of one scope of one alert, oldest first.

    Triggers captured before ``forgotten_before_ms`` may have been dropped because there were too
    many. ``kept_until_ms`` is the time at which the whole entry expires.
    """

    triggers: tuple[PastTrigger, ...] = ()
    forgotten_before_ms: int = 0
    kept_until_ms: int = 0


class CandidateOutcome(StrEnum):
    """The outcome of a candidate: the cooldown's decision, or the resolution of the pass."""

    TRIGGERED = "triggered"
    REPEATED = "repeated"
    """The recognition has already triggered the alert, so the same trigger is published again."""
    SUPPRESSED_BY_COOLDOWN = "suppressed"
    TOO_OLD = "too_old"
    """A trigger near the candidate may have been dropped because too many triggers followed."""
    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    WITHDRAWN = "withdrawn"
    """The resolutions of an early trigger, as in :class:`~common.records.alerts.TriggerPhase`."""
    RESOLVED = "resolved"
    """Nothing is published, because the pass was already resolved or triggered nothing."""


@dataclass(frozen=True)
class Decision:
    """The decision on a candidate.

    ``trigger`` is the candidate's own trigger, or the trigger that suppresses the candidate.
    ``after`` is the state to store, or the same object as before if the state is unchanged.
    """

    outcome: CandidateOutcome
    trigger: PastTrigger | None
    after: PastTriggers

    @property
    def is_triggered(self) -> bool:
        """Whether the alert triggers."""
        return self.outcome in (CandidateOutcome.TRIGGERED, CandidateOutcome.REPEATED)


def cooldown_ms(alert: AlertConfig) -> int:
    """Return an alert's cooldown, or 0 if the alert has no cooldown."""
    return round(alert.cooldown_minutes * _MINUTE_MS)


def scope_of(alert: AlertConfig, camera_id: UUID, plate: str) -> str:
    """Return the name of the scope of a trigger's cooldown. ``plate`` is normalised."""
    match alert.cooldown_scope:
        case CooldownScope.ALERT:
            return ""
        case CooldownScope.PLATE:
            return plate
        case CooldownScope.PLATE_CAMERA:
            return f"{camera_id} {plate}"


def decide(before: PastTriggers, candidate: PastTrigger, length_ms: int) -> Decision:
    """Return the decision on a candidate under a cooldown of ``length_ms``."""
    same = _same(before.triggers, candidate)
    if same is not None:
        return Decision(CandidateOutcome.REPEATED, same, before)
    if _is_forgotten(before, candidate.captured_ms):
        return Decision(CandidateOutcome.TOO_OLD, None, before)
    suppressing = nearest(before.triggers, candidate.captured_ms)
    if suppressing is not None and abs(suppressing.captured_ms - candidate.captured_ms) < length_ms:
        return Decision(CandidateOutcome.SUPPRESSED_BY_COOLDOWN, suppressing, before)
    return Decision(CandidateOutcome.TRIGGERED, candidate, _with(before, candidate, length_ms))


def without(before: PastTriggers, withdrawn: PastTrigger) -> PastTriggers:
    """Return the state without a withdrawn trigger, which no longer suppresses anything."""
    kept = tuple(
        each
        for each in before.triggers
        if (each.captured_ms, each.recognition_id)
        != (withdrawn.captured_ms, withdrawn.recognition_id)
    )
    if len(kept) == len(before.triggers):
        return before
    return msgspec.structs.replace(before, triggers=kept)


def with_trigger(before: PastTriggers, added: PastTrigger, length_ms: int) -> PastTriggers:
    """Return the state after an alert has triggered, regardless of its cooldown."""
    if _same(before.triggers, added) is not None:
        return before
    return _with(before, added, length_ms)


def nearest(triggers: tuple[PastTrigger, ...], captured_ms: int) -> PastTrigger | None:
    """Return the trigger captured nearest to ``captured_ms``, or None. ``triggers`` are sorted."""
    at = bisect_left(triggers, captured_ms, key=_captured_ms)
    near = triggers[max(0, at - 1) : at + 1]
    return min(near, key=lambda each: abs(each.captured_ms - captured_ms), default=None)


def _same(triggers: tuple[PastTrigger, ...], candidate: PastTrigger) -> PastTrigger | None:
    at = bisect_left(triggers, candidate.captured_ms, key=_captured_ms)
    for trigger in triggers[at:]:
        if trigger.captured_ms != candidate.captured_ms:
            break
        if trigger.recognition_id == candidate.recognition_id:
            return trigger
    return None


def _captured_ms(trigger: PastTrigger) -> int:
    return trigger.captured_ms


def _is_forgotten(before: PastTriggers, captured_ms: int) -> bool:
    if captured_ms < before.forgotten_before_ms:
        return True
    is_full = len(before.triggers) >= MAX_PAST_TRIGGERS
    return is_full and captured_ms < before.triggers[0].captured_ms


def _with(before: PastTriggers, added: PastTrigger, length_ms: int) -> PastTriggers:
    kept_ms = max(RETENTION_MS, length_ms)
    triggers = [each for each in before.triggers if each.captured_ms >= added.decided_ms - kept_ms]
    insort(triggers, added)
    kept = tuple(triggers[-MAX_PAST_TRIGGERS:])
    is_cut = len(kept) < len(triggers)
    return PastTriggers(
        triggers=kept,
        forgotten_before_ms=kept[0].captured_ms if is_cut else before.forgotten_before_ms,
        kept_until_ms=max(before.kept_until_ms, added.decided_ms + kept_ms),
    )
