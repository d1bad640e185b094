"""What went in held against what came out: rows, alerts, deliveries. Pure."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from contracts.alert_records import AlertTrigger
from contracts.deliveries import trigger_event
from contracts.early import TriggerPhase
from contracts.recognitions import Recognition
from contracts.webhooks import EventName
from tests.fault.firings import (
    Firing,
    causes,
    firings,
    inconsistent,
    unfounded,
    unsettled,
    wrongly_withdrawn,
)
from tests.fault.receivers import ALL, Cause, Receivers, Told
from tests.fault.rules import GATE, Rule

_SHOWN = 5
_FORGOTTEN = "delivery forgotten"
_UNSETTLED = "early alert is not settled once"


@dataclass(frozen=True)
class Evidence:
    """Everything that is known after a run.

    ``sent`` are recognitions that the test published itself, ``entered`` what lies on the topic;
    ``fired`` what lies on the alerts topic, and ``told`` what reached receivers, repeats included;
    ``rows`` and ``alert_rows`` count the rows that ClickHouse shows for an id.
    """

    sent: Sequence[Recognition]
    entered: Sequence[Recognition]
    rows: Mapping[UUID, int]
    fired: Sequence[AlertTrigger]
    alert_rows: Mapping[UUID, int]
    told: Sequence[Told]


@dataclass(frozen=True)
class Verdict:
    """Faults by kind, each with its evidence; and how often what was repeated."""

    faults: Mapping[str, tuple[str, ...]]
    figures: Mapping[str, int]

    def __bool__(self) -> bool:
        """Whether anything is wrong."""
        return any(self.faults.values())

    @property
    def is_open(self) -> bool:
        """Whether deliveries, or the ends of passes, are yet to come."""
        return any(self.faults.get(kind) for kind in (_FORGOTTEN, _UNSETTLED))

    def __str__(self) -> str:
        """Return the figures, then the first of each kind of fault."""
        lines = ["  ".join(f"{name} {count}" for name, count in self.figures.items())]
        for kind, found in self.faults.items():
            lines += [f"{len(found)} x {kind}:", *(f"  {each}" for each in found[:_SHOWN])]
        return "\n".join(lines)


def judge(evidence: Evidence, rules: Iterable[Rule]) -> Verdict:
    """Return everything that was lost, doubled, out of policy or forgotten."""
    entered = {seen.id: seen for seen in evidence.entered}
    by_name = {rule.name: rule for rule in rules}
    fired = firings(evidence.fired, by_name)
    due = _due(entered, fired)
    faults = {
        "recognition that was sent is not on the topic": [
            str(seen.id) for seen in evidence.sent if seen.id not in entered
        ],
        "recognition is not one row": _not_once(entered.values(), evidence.rows),
        "alert under two ids": _not_alone(causes(evidence.fired)),
        "alert that was repeated says something else": inconsistent(evidence.fired),
        _UNSETTLED: unsettled(fired),
        "early alert was withdrawn though it fires": list(wrongly_withdrawn(fired, entered)),
        "alert is not one row": _alerts_not_once(fired, evidence.alert_rows),
        "alert that should not have fired": list(unfounded(fired, entered)),
        "alert that did not fire": list(_missing(fired, by_name, entered)),
        "cooldown broken": list(_broken_cooldowns(fired, by_name)),
        _FORGOTTEN: _forgotten(evidence.told, due),
        "delivery of nothing": _invented(evidence.told, due),
        "delivery under two ids": _ids_of_one_cause(evidence.told),
    }
    return Verdict(
        {kind: tuple(found) for kind, found in faults.items() if found},
        _figures(evidence, entered, fired),
    )


def _figures(
    evidence: Evidence, entered: Mapping[UUID, Recognition], fired: Sequence[Firing]
) -> dict[str, int]:
    phases = Counter(phase for each in fired for phase in each.told)
    deliveries = len({told.cause for told in evidence.told})
    return {
        "recognitions": len(entered),
        "published again": len(evidence.entered) - len(entered),
        "alerts": len(fired),
        "early": phases[TriggerPhase.EARLY],
        "confirmed": phases[TriggerPhase.CONFIRMED],
        "corrected": phases[TriggerPhase.CORRECTED],
        "withdrawn": phases[TriggerPhase.WITHDRAWN],
        "told again": len(evidence.fired) - phases.total(),
        "deliveries": deliveries,
        "delivered again": len(evidence.told) - deliveries,
    }


def _not_once(entered: Iterable[Recognition], rows: Mapping[UUID, int]) -> list[str]:
    return [
        f"{seen.id} {seen.plate}: {rows.get(seen.id, 0)} rows"
        for seen in entered
        if rows.get(seen.id, 0) != 1
    ]


def _alerts_not_once(fired: Iterable[Firing], rows: Mapping[UUID, int]) -> list[str]:
    return [f"{each}: {rows.get(each.id, 0)} rows" for each in fired if rows.get(each.id, 0) != 1]


def _ids_of_one_cause(told: Iterable[Told]) -> list[str]:
    return _not_alone((one.id, one.cause) for one in told)


def _not_alone(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[str]:
    """Return causes with several ids."""
    ids: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for identifier, cause in pairs:
        ids[cause].add(identifier)
    return [f"{cause}: {sorted(map(str, found))}" for cause, found in ids.items() if len(found) > 1]


def _missing(
    fired: Iterable[Firing], rules: Mapping[str, Rule], entered: Mapping[UUID, Recognition]
) -> Iterator[str]:
    told: defaultdict[str, set[UUID]] = defaultdict(set)
    spent: defaultdict[tuple[str, ...], list[Recognition]] = defaultdict(list)
    for firing in fired:
        if firing.standing is not None:
            told[firing.rule.name].add(firing.standing.id)
        # One that was taken back held others back until then.
        for one in firing.spent():
            spent[firing.rule.name, *firing.rule.place_of(one)].append(one)
    for name, rule in rules.items():
        for seen in entered.values():
            if seen.id in told[name] or not rule.is_set_off_by(seen):
                continue
            if not rule.may_miss(seen, spent[name, *rule.place_of(seen)]):
                yield f"{name!r} for {seen.plate} {seen.id}"


def _broken_cooldowns(fired: Iterable[Firing], rules: Mapping[str, Rule]) -> Iterator[str]:
    spent: defaultdict[str, list[Recognition]] = defaultdict(list)
    for firing in fired:
        one = firing.spends()
        if one is not None:
            spent[firing.rule.name].append(one)
    for name, of_rule in spent.items():
        rule = rules[name]
        by_time = sorted(of_rule, key=lambda seen: seen.captured_ms)
        # The sort keeps the order in time of those of one place.
        for one, other in pairwise(sorted(by_time, key=rule.place_of)):
            if rule.holds_back(one, other):
                yield f"{name!r}: {one.id} and {other.id}, {other.captured_ms - one.captured_ms} ms"


def _due(entered: Iterable[UUID], fired: Iterable[Firing]) -> set[Cause]:
    due = {(ALL, EventName.RECOGNITION_CREATED, str(seen), "") for seen in entered}
    return due.union(*(set(_due_of(firing)) for firing in fired))


def _due_of(firing: Firing) -> Iterator[Cause]:
    name, about = firing.rule.name, str(firing.id)
    for phase in firing.told:
        event = trigger_event(phase)
        yield ALL, event, about, name
        # Where an early alert was right, it is not told again.
        if firing.rule.tells_gate and phase is not TriggerPhase.CONFIRMED:
            yield GATE, event, about, name
    if firing.rule.tells_guard and firing.standing is not None:
        # Once, in the end.
        yield Receivers.MAIL, EventName.ALERT_TRIGGERED, str(firing.standing.id), name


def _forgotten(told: Iterable[Told], due: set[Cause]) -> list[str]:
    return [" ".join(cause) for cause in sorted(due - {one.cause for one in told})]


def _invented(told: Iterable[Told], due: set[Cause]) -> list[str]:
    return [" ".join(cause) for cause in sorted({one.cause for one in told} - due)]
