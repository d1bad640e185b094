"""The records published for each trigger, early and final, and checks of these records. No I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import msgspec

from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.recognitions import Recognition
from tests.fault.rules import Rule

_FIRST = (TriggerPhase.EARLY, TriggerPhase.FINAL)
_COURSES = (
    {TriggerPhase.FINAL},
    *(
        {TriggerPhase.EARLY, end}
        for end in (TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED, TriggerPhase.WITHDRAWN)
    ),
)


@dataclass(frozen=True)
class TriggerHistory:
    """A trigger of a rule: the records published for the trigger, by phase, without repeats."""

    id: UUID
    rule: Rule
    by_phase: Mapping[TriggerPhase, AlertTrigger]

    def __str__(self) -> str:
        phases = ", ".join(
            f"{phase} {one.recognition.plate}" for phase, one in self.by_phase.items()
        )
        return f"{self.rule.name!r} {self.id}: {phases}"

    @property
    def is_resolved_once(self) -> bool:
        """Whether there is only a final record, or an early record with exactly one resolution."""
        return set(self.by_phase) in _COURSES

    @property
    def standing(self) -> Recognition | None:
        """The recognition that the trigger represents, or None if withdrawn or unresolved."""
        ends = (TriggerPhase.FINAL, TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED)
        return next(
            (self.by_phase[phase].recognition for phase in ends if phase in self.by_phase), None
        )

    def spent(self) -> Iterator[Recognition]:
        """Yield the recognitions that suppressed others at any time, dated at their triggers."""
        for trigger in self.by_phase.values():
            if trigger.phase is not TriggerPhase.WITHDRAWN:
                at_ms = trigger.triggered_ms
                yield msgspec.structs.replace(trigger.recognition, captured_ms=at_ms)

    def spends(self) -> Recognition | None:
        """Return the recognition that must respect the cooldown. Return None if the trigger is
        withdrawn or unresolved, or if a correction changed the key, because a correction is
        published without another check of the cooldown.
        """
        early, standing = self.by_phase.get(TriggerPhase.EARLY), self.standing
        if standing is None:
            return None
        if early is None:
            return standing
        if self.rule.place_of(early.recognition) != self.rule.place_of(standing):
            return None
        return msgspec.structs.replace(standing, captured_ms=early.triggered_ms)


def trigger_histories(
    triggers: Iterable[AlertTrigger], rules: Mapping[str, Rule]
) -> list[TriggerHistory]:
    """Return the records of the alerts topic, grouped by trigger."""
    by_id: defaultdict[UUID, dict[TriggerPhase, AlertTrigger]] = defaultdict(dict)
    for trigger in triggers:
        by_id[trigger.id].setdefault(trigger.phase, trigger)
    return [
        TriggerHistory(identifier, rules[next(iter(by_phase.values())).alert.name], by_phase)
        for identifier, by_phase in by_id.items()
    ]


def unresolved(histories: Iterable[TriggerHistory]) -> list[str]:
    """Return triggers that do not have exactly one final record or resolution."""
    return [str(each) for each in histories if not each.is_resolved_once]


def inconsistent(triggers: Iterable[AlertTrigger]) -> list[str]:
    """Return triggers whose repeated record differs from the first record."""
    said: dict[tuple[UUID, TriggerPhase], object] = {}
    return [
        f"{one.alert.name!r} {one.id} {one.phase}: {one.recognition.plate} {one.recognition.id}"
        for one in triggers
        if said.setdefault((one.id, one.phase), _said(one)) != _said(one)
    ]


def _said(one: AlertTrigger) -> object:
    return one.alert.alert_id, one.recognition.id, one.recognition.plate, one.triggered_ms


def causes(triggers: Iterable[AlertTrigger]) -> Iterator[tuple[UUID, tuple[UUID, UUID]]]:
    """Yield the ID of each trigger, with the alert and the pass that caused the trigger."""
    for one in triggers:
        if one.phase in _FIRST:
            yield one.id, (one.alert.alert_id, one.recognition.id)


def unfounded(
    histories: Iterable[TriggerHistory], entered: Mapping[UUID, Recognition]
) -> Iterator[str]:
    """Yield triggers for unknown recognitions, or for recognitions that do not match the rule."""
    for history in histories:
        standing, early = history.standing, history.by_phase.get(TriggerPhase.EARLY)
        if early is not None and not history.rule.is_matched_by(early.recognition):
            yield str(history)
        elif standing is not None:
            seen = entered.get(standing.id)
            if seen is None or not history.rule.is_matched_by(seen) or not _is_right(history):
                yield str(history)


def _is_right(history: TriggerHistory) -> bool:
    """Return whether a confirmation has the early plate, and a correction a different plate."""
    early, standing = history.by_phase.get(TriggerPhase.EARLY), history.standing
    if early is None or standing is None:
        return True
    is_same = early.recognition.plate == standing.plate
    return is_same == (TriggerPhase.CONFIRMED in history.by_phase)


def wrongly_withdrawn(
    histories: Iterable[TriggerHistory], entered: Mapping[UUID, Recognition]
) -> Iterator[str]:
    """Yield triggers that were withdrawn although the recognition matches the rule."""
    for history in histories:
        withdrawn = history.by_phase.get(TriggerPhase.WITHDRAWN)
        seen = None if withdrawn is None else entered.get(withdrawn.recognition.id)
        if seen is not None and history.rule.is_matched_by(seen):
            yield str(history)
