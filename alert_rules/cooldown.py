"""Whether an alert's cooldown holds back a firing. Pure, and decided in capture time.

The rule: two firings of one scope lie at least the cooldown apart, measured by when their
recognitions were captured, whichever was decided first. So a recognition that comes late (its
camera was cut off) fires by its own time: what fired an hour after it does not hold it back, what
fired within the cooldown before *or after* it does.

A firing is remembered with its recognition: the same one again, after a crash or a replay, gets the
same answer. Memory is bounded: firings are kept for a week, or for the cooldown where that is
longer (a week is what the topics keep, so nothing older is read again), and at most
:data:`MOST_FIRINGS` of one scope. A recognition from before the oldest of so many is held back:
whether one near it has fired is not known any more.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from contracts.alerts import AlertConfig, CooldownScope
from contracts.records import Record

MOST_FIRINGS: Final = 2_000
KEPT_MS: Final = 7 * 24 * 60 * 60 * 1000

_MINUTE_MS = 60_000


class Firing(msgspec.Struct, frozen=True, array_like=True, order=True):
    """An alert fired for a recognition. Times are Unix ms, UTC."""

    captured_ms: int
    recognition_id: str
    decided_ms: int
    is_late: bool = False


class Firings(Record, frozen=True, kw_only=True):
    """What is remembered of one scope of one alert, oldest first.

    ``forgotten_before_ms``: firings of recognitions captured before may have been dropped, as there
    were too many. ``kept_until_ms`` is when all of it may be forgotten.
    """

    firings: tuple[Firing, ...] = ()
    forgotten_before_ms: int = 0
    kept_until_ms: int = 0


class CandidateOutcome(StrEnum):
    """What becomes of a candidate: what its cooldown decides, or how its pass is settled."""

    FIRED = "fired"
    REPEATED = "repeated"
    """It had fired for this very recognition before, and so does again."""
    HELD_BACK = "held_back"
    TOO_OLD = "too_old"
    """So many have fired since that it is not known whether one near it has."""
    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    WITHDRAWN = "withdrawn"
    """It had fired early, and the pass is settled: see :class:`contracts.early.TriggerPhase`."""
    SETTLED = "settled"
    """Nothing is to be told any more: the pass is settled, or had set nothing off."""


@dataclass(frozen=True)
class Decision:
    """What becomes of a candidate.

    ``firing`` is its own where it fires, and where it is held back the one that does it. ``after``
    is what is to be remembered, the same object as before where nothing changes.
    """

    outcome: CandidateOutcome
    firing: Firing | None
    after: Firings

    @property
    def fires(self) -> bool:
        """Whether the alert fires."""
        return self.outcome in (CandidateOutcome.FIRED, CandidateOutcome.REPEATED)


def cooldown_ms(alert: AlertConfig) -> int:
    """Return an alert's cooldown; 0: it has none."""
    return round(alert.cooldown_minutes * _MINUTE_MS)


def scope_of(alert: AlertConfig, camera_id: UUID, plate: str) -> str:
    """Return the name of what a firing holds back, within the alert. ``plate`` is normalised."""
    match alert.cooldown_scope:
        case CooldownScope.ALERT:
            return ""
        case CooldownScope.PLATE:
            return plate
        case CooldownScope.PLATE_CAMERA:
            return f"{camera_id} {plate}"


def decide(before: Firings, candidate: Firing, length_ms: int) -> Decision:
    """Return what becomes of a candidate under a cooldown of ``length_ms``."""
    same = _same(before.firings, candidate)
    if same is not None:
        return Decision(CandidateOutcome.REPEATED, same, before)
    if _is_forgotten(before, candidate.captured_ms):
        return Decision(CandidateOutcome.TOO_OLD, None, before)
    holding = nearest(before.firings, candidate.captured_ms)
    if holding is not None and abs(holding.captured_ms - candidate.captured_ms) < length_ms:
        return Decision(CandidateOutcome.HELD_BACK, holding, before)
    return Decision(CandidateOutcome.FIRED, candidate, _with(before, candidate, length_ms))


def without(before: Firings, taken_back: Firing) -> Firings:
    """Return what is remembered when a firing is taken back, so that it holds nothing back."""
    kept = tuple(
        each
        for each in before.firings
        if (each.captured_ms, each.recognition_id)
        != (taken_back.captured_ms, taken_back.recognition_id)
    )
    if len(kept) == len(before.firings):
        return before
    return msgspec.structs.replace(before, firings=kept)


def with_firing(before: Firings, added: Firing, length_ms: int) -> Firings:
    """Return what is remembered when an alert has fired, whatever its cooldown says."""
    if _same(before.firings, added) is not None:
        return before
    return _with(before, added, length_ms)


def nearest(firings: tuple[Firing, ...], captured_ms: int) -> Firing | None:
    """Return the firing that lies nearest in capture time; ``firings`` are in its order."""
    at = bisect_left(firings, captured_ms, key=_captured_ms)
    near = firings[max(0, at - 1) : at + 1]
    return min(near, key=lambda each: abs(each.captured_ms - captured_ms), default=None)


def _same(firings: tuple[Firing, ...], candidate: Firing) -> Firing | None:
    at = bisect_left(firings, candidate.captured_ms, key=_captured_ms)
    for firing in firings[at:]:
        if firing.captured_ms != candidate.captured_ms:
            break
        if firing.recognition_id == candidate.recognition_id:
            return firing
    return None


def _captured_ms(firing: Firing) -> int:
    return firing.captured_ms


def _is_forgotten(before: Firings, captured_ms: int) -> bool:
    if captured_ms < before.forgotten_before_ms:
        return True
    is_full = len(before.firings) >= MOST_FIRINGS
    return is_full and captured_ms < before.firings[0].captured_ms


def _with(before: Firings, added: Firing, length_ms: int) -> Firings:
    kept_ms = max(KEPT_MS, length_ms)
    firings = [each for each in before.firings if each.captured_ms >= added.decided_ms - kept_ms]
    insort(firings, added)
    kept = tuple(firings[-MOST_FIRINGS:])
    is_cut = len(kept) < len(firings)
    return Firings(
        firings=kept,
        forgotten_before_ms=kept[0].captured_ms if is_cut else before.forgotten_before_ms,
        kept_until_ms=max(before.kept_until_ms, added.decided_ms + kept_ms),
    )
