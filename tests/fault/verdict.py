"""What went in held against what came out: rows, alerts, deliveries. Pure."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from contracts.records import AlertTrigger, Recognition
from tests.fault.receivers import ALL, Receivers, Told
from tests.fault.rules import GATE, Rule

_SHOWN = 5
_FORGOTTEN = "delivery forgotten"
_Fired = Mapping[str, Mapping[UUID, AlertTrigger]]


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
        """Whether deliveries are yet to come."""
        return bool(self.faults.get(_FORGOTTEN))

    def __str__(self) -> str:
        """Return the figures, then the first of each kind of fault."""
        lines = ["  ".join(f"{name} {count}" for name, count in self.figures.items())]
        for kind, found in self.faults.items():
            lines += [f"{len(found)} x {kind}:", *(f"  {each}" for each in found[:_SHOWN])]
        return "\n".join(lines)


def judge(evidence: Evidence, rules: Iterable[Rule]) -> Verdict:
    """Return everything that was lost, doubled, out of policy or forgotten."""
    entered = {seen.id: seen for seen in evidence.entered}
    fired = _by_alert(evidence.fired)
    by_name = {rule.name: rule for rule in rules}
    due = _due(entered, fired, by_name)
    faults = {
        "recognition that was sent is not on the topic": [
            str(seen.id) for seen in evidence.sent if seen.id not in entered
        ],
        "recognition is not one row": _not_once(entered.values(), evidence.rows),
        "alert under two ids": _under_two_ids(evidence.fired),
        "alert is not one row": _alerts_not_once(fired, evidence.alert_rows),
        "alert that should not have fired": list(_unfounded(fired, by_name, entered)),
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


def _by_alert(fired: Iterable[AlertTrigger]) -> _Fired:
    by_alert: defaultdict[str, dict[UUID, AlertTrigger]] = defaultdict(dict)
    for trigger in fired:
        by_alert[trigger.alert.name].setdefault(trigger.recognition.id, trigger)
    return by_alert


def _figures(
    evidence: Evidence, entered: Mapping[UUID, Recognition], fired: _Fired
) -> dict[str, int]:
    alerts = sum(len(each) for each in fired.values())
    deliveries = len({told.cause for told in evidence.told})
    return {
        "recognitions": len(entered),
        "published again": len(evidence.entered) - len(entered),
        "alerts": alerts,
        "told again": len(evidence.fired) - alerts,
        "deliveries": deliveries,
        "delivered again": len(evidence.told) - deliveries,
    }


def _not_once(entered: Iterable[Recognition], rows: Mapping[UUID, int]) -> list[str]:
    return [
        f"{seen.id} {seen.plate}: {rows.get(seen.id, 0)} rows"
        for seen in entered
        if rows.get(seen.id, 0) != 1
    ]


def _alerts_not_once(fired: _Fired, rows: Mapping[UUID, int]) -> list[str]:
    return [
        f"{trigger.id} of {name!r}: {rows.get(trigger.id, 0)} rows"
        for name, triggers in fired.items()
        for trigger in triggers.values()
        if rows.get(trigger.id, 0) != 1
    ]


def _under_two_ids(fired: Iterable[AlertTrigger]) -> list[str]:
    return _not_alone((each.id, (each.alert.alert_id, each.recognition.id)) for each in fired)


def _ids_of_one_cause(told: Iterable[Told]) -> list[str]:
    return _not_alone((one.id, one.cause) for one in told)


def _not_alone(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[str]:
    """Return causes with several ids."""
    ids: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for identifier, cause in pairs:
        ids[cause].add(identifier)
    return [f"{cause}: {sorted(map(str, found))}" for cause, found in ids.items() if len(found) > 1]


def _unfounded(
    fired: _Fired, rules: Mapping[str, Rule], entered: Mapping[UUID, Recognition]
) -> Iterator[str]:
    for name, triggers in fired.items():
        for identifier, trigger in triggers.items():
            seen = entered.get(identifier)
            if seen is None or not rules[name].is_set_off_by(seen):
                yield f"{name!r} for {trigger.recognition.plate} {identifier}"


def _missing(
    fired: _Fired, rules: Mapping[str, Rule], entered: Mapping[UUID, Recognition]
) -> Iterator[str]:
    for name, rule in rules.items():
        triggers = fired.get(name, {})
        by_place: defaultdict[tuple[str, ...], list[Recognition]] = defaultdict(list)
        for trigger in triggers.values():
            by_place[rule.place_of(trigger.recognition)].append(trigger.recognition)
        for seen in entered.values():
            if seen.id in triggers or not rule.is_set_off_by(seen):
                continue
            if not rule.may_miss(seen, by_place[rule.place_of(seen)]):
                yield f"{name!r} for {seen.plate} {seen.id}"


def _broken_cooldowns(fired: _Fired, rules: Mapping[str, Rule]) -> Iterator[str]:
    for name, triggers in fired.items():
        rule = rules[name]
        by_time = sorted((t.recognition for t in triggers.values()), key=lambda r: r.captured_ms)
        # The sort keeps the order in time of those of one place.
        for one, other in pairwise(sorted(by_time, key=rule.place_of)):
            if rule.holds_back(one, other):
                yield f"{name!r}: {one.id} and {other.id}, {other.captured_ms - one.captured_ms} ms"


def _due(
    entered: Iterable[UUID], fired: _Fired, rules: Mapping[str, Rule]
) -> set[tuple[str, str, str]]:
    due = {(ALL, str(identifier), "") for identifier in entered}
    for name, triggers in fired.items():
        for endpoint in _endpoints(rules[name]):
            due |= {(endpoint, str(identifier), name) for identifier in triggers}
    return due


def _endpoints(rule: Rule) -> Iterator[str]:
    yield ALL
    if rule.tells_gate:
        yield GATE
    if rule.tells_guard:
        yield Receivers.MAIL


def _forgotten(told: Iterable[Told], due: set[tuple[str, str, str]]) -> list[str]:
    return [" ".join(cause) for cause in sorted(due - {one.cause for one in told})]


def _invented(told: Iterable[Told], due: set[tuple[str, str, str]]) -> list[str]:
    return [" ".join(cause) for cause in sorted({one.cause for one in told} - due)]
