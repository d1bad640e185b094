"""What was told of each firing, early and in the end, and what of it cannot be. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import msgspec

from contracts.alert_records import AlertTrigger
from contracts.early import TriggerPhase
from contracts.recognitions import Recognition
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
class Firing:
    """One firing of a rule: what was told of it, by phase, repeats left out."""

    id: UUID
    rule: Rule
    told: Mapping[TriggerPhase, AlertTrigger]

    def __str__(self) -> str:
        """Return it in words."""
        phases = ", ".join(f"{phase} {one.recognition.plate}" for phase, one in self.told.items())
        return f"{self.rule.name!r} {self.id}: {phases}"

    @property
    def is_settled_once(self) -> bool:
        """Whether it fired at once in the end, or early with exactly one word of what became."""
        return set(self.told) in _COURSES

    @property
    def standing(self) -> Recognition | None:
        """What it stands for in the end, None: it was taken back, or is not settled."""
        ends = (TriggerPhase.FINAL, TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED)
        return next((self.told[phase].recognition for phase in ends if phase in self.told), None)

    def spent(self) -> Iterator[Recognition]:
        """Return what it held back others by at some time: each with the time that it fired at."""
        for trigger in self.told.values():
            if trigger.phase is not TriggerPhase.WITHDRAWN:
                at_ms = trigger.fired_ms
                yield msgspec.structs.replace(trigger.recognition, captured_ms=at_ms)

    def spends(self) -> Recognition | None:
        """Return what its cooldown holds back by for good, None where that was moved meanwhile.

        A correction that moves it asks nobody: the alert was told of already.
        """
        early, standing = self.told.get(TriggerPhase.EARLY), self.standing
        if standing is None:
            return None
        if early is None:
            return standing
        if self.rule.place_of(early.recognition) != self.rule.place_of(standing):
            return None
        return msgspec.structs.replace(standing, captured_ms=early.fired_ms)


def firings(fired: Iterable[AlertTrigger], rules: Mapping[str, Rule]) -> list[Firing]:
    """Return what lies on the alerts topic by firing."""
    by_id: defaultdict[UUID, dict[TriggerPhase, AlertTrigger]] = defaultdict(dict)
    for trigger in fired:
        by_id[trigger.id].setdefault(trigger.phase, trigger)
    return [
        Firing(identifier, rules[next(iter(told.values())).alert.name], told)
        for identifier, told in by_id.items()
    ]


def unsettled(all_firings: Iterable[Firing]) -> list[str]:
    """Return firings that were told early and never settled, settled twice over, or never told."""
    return [str(each) for each in all_firings if not each.is_settled_once]


def inconsistent(fired: Iterable[AlertTrigger]) -> list[str]:
    """Return what was told again and said something else."""
    said: dict[tuple[UUID, TriggerPhase], object] = {}
    return [
        f"{one.alert.name!r} {one.id} {one.phase}: {one.recognition.plate} {one.recognition.id}"
        for one in fired
        if said.setdefault((one.id, one.phase), _said(one)) != _said(one)
    ]


def _said(one: AlertTrigger) -> object:
    return one.alert.alert_id, one.recognition.id, one.recognition.plate, one.fired_ms


def causes(fired: Iterable[AlertTrigger]) -> Iterator[tuple[UUID, tuple[UUID, UUID]]]:
    """Return the id of each firing, and the alert and the pass that it began with."""
    for one in fired:
        if one.phase in _FIRST:
            yield one.id, (one.alert.alert_id, one.recognition.id)


def unfounded(all_firings: Iterable[Firing], entered: Mapping[UUID, Recognition]) -> Iterator[str]:
    """Return firings that stand for what is no recognition, or for none that sets them off."""
    for firing in all_firings:
        standing, early = firing.standing, firing.told.get(TriggerPhase.EARLY)
        if early is not None and not firing.rule.is_set_off_by(early.recognition):
            yield str(firing)
        elif standing is not None:
            seen = entered.get(standing.id)
            if seen is None or not firing.rule.is_set_off_by(seen) or not _is_right(firing):
                yield str(firing)


def _is_right(firing: Firing) -> bool:
    """Return whether it was confirmed for the same plate, or corrected for another one."""
    early, standing = firing.told.get(TriggerPhase.EARLY), firing.standing
    if early is None or standing is None:
        return True
    is_same = early.recognition.plate == standing.plate
    return is_same == (TriggerPhase.CONFIRMED in firing.told)


def wrongly_withdrawn(
    all_firings: Iterable[Firing], entered: Mapping[UUID, Recognition]
) -> Iterator[str]:
    """Return firings that were taken back although what passed sets them off."""
    for firing in all_firings:
        withdrawn = firing.told.get(TriggerPhase.WITHDRAWN)
        seen = None if withdrawn is None else entered.get(withdrawn.recognition.id)
        if seen is not None and firing.rule.is_set_off_by(seen):
            yield str(firing)
