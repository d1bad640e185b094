"""Compares input with output: rows, alerts and deliveries. No I/O."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.deliveries import trigger_event
from common.records.recognitions import Recognition
from common.records.webhooks import EventName
from tests.fault.receivers import ALL, Cause, ReceivedEvent, Receivers
from tests.fault.rules import GATE, Rule
from tests.fault.trigger_histories import (
    TriggerHistory,
    causes,
    inconsistent,
    trigger_histories,
    unfounded,
    unresolved,
    wrongly_withdrawn,
)

_SHOWN = 5
_FORGOTTEN = "delivery forgotten"
_UNRESOLVED = "early alert is not resolved once"


@dataclass(frozen=True)
class Evidence:
    """The records and counts collected after a run.

    ``sent`` are the recognitions that the test published, ``entered`` all recognitions on the
    topic. ``triggers`` is the content of the alerts topic, ``received`` all deliveries including
    repeats. ``rows`` and ``alert_rows`` count the visible rows in ClickHouse for each ID.
    """

    sent: Sequence[Recognition]
    entered: Sequence[Recognition]
    rows: Mapping[UUID, int]
    triggers: Sequence[AlertTrigger]
    alert_rows: Mapping[UUID, int]
    received: Sequence[ReceivedEvent]


@dataclass(frozen=True)
class Verdict:
    """Faults by kind, each with its evidence, and the number of repeats."""

    faults: Mapping[str, tuple[str, ...]]
    figures: Mapping[str, int]

    def __bool__(self) -> bool:
        """Whether a fault was found."""
        return any(self.faults.values())

    @property
    def is_open(self) -> bool:
        """Whether deliveries or ends of passes are still pending."""
        return any(self.faults.get(kind) for kind in (_FORGOTTEN, _UNRESOLVED))

    def __str__(self) -> str:
        """Return the counts, then the first fault of each kind."""
        lines = ["  ".join(f"{name} {count}" for name, count in self.figures.items())]
        for kind, found in self.faults.items():
            lines += [f"{len(found)} x {kind}:", *(f"  {each}" for each in found[:_SHOWN])]
        return "\n".join(lines)


def judge(evidence: Evidence, rules: Iterable[Rule]) -> Verdict:
    """Return what is lost, duplicated, missing, or against the rules."""
    entered = {seen.id: seen for seen in evidence.entered}
    by_name = {rule.name: rule for rule in rules}
    histories = trigger_histories(evidence.triggers, by_name)
    due = _due(entered, histories)
    faults = {
        "recognition that was sent is not on the topic": [
            str(seen.id) for seen in evidence.sent if seen.id not in entered
        ],
        "recognition is not one row": _not_once(entered.values(), evidence.rows),
        "alert under two ids": _not_alone(causes(evidence.triggers)),
        "alert that was repeated says something else": inconsistent(evidence.triggers),
        _UNRESOLVED: unresolved(histories),
        "early alert was withdrawn though it triggers": list(wrongly_withdrawn(histories, entered)),
        "alert is not one row": _alerts_not_once(histories, evidence.alert_rows),
        "alert that should not have triggered": list(unfounded(histories, entered)),
        "alert that did not trigger": list(_missing(histories, by_name, entered)),
        "cooldown broken": list(_broken_cooldowns(histories, by_name)),
        _FORGOTTEN: _forgotten(evidence.received, due),
        "delivery of nothing": _invented(evidence.received, due),
        "delivery under two ids": _ids_of_one_cause(evidence.received),
    }
    return Verdict(
        {kind: tuple(found) for kind, found in faults.items() if found},
        _figures(evidence, entered, histories),
    )


def _figures(
    evidence: Evidence, entered: Mapping[UUID, Recognition], histories: Sequence[TriggerHistory]
) -> dict[str, int]:
    phases = Counter(phase for each in histories for phase in each.by_phase)
    deliveries = len({one.cause for one in evidence.received})
    return {
        "recognitions": len(entered),
        "published again": len(evidence.entered) - len(entered),
        "alerts": len(histories),
        "early": phases[TriggerPhase.EARLY],
        "confirmed": phases[TriggerPhase.CONFIRMED],
        "corrected": phases[TriggerPhase.CORRECTED],
        "withdrawn": phases[TriggerPhase.WITHDRAWN],
        "triggered again": len(evidence.triggers) - phases.total(),
        "deliveries": deliveries,
        "delivered again": len(evidence.received) - deliveries,
    }


def _not_once(entered: Iterable[Recognition], rows: Mapping[UUID, int]) -> list[str]:
    return [
        f"{seen.id} {seen.plate}: {rows.get(seen.id, 0)} rows"
        for seen in entered
        if rows.get(seen.id, 0) != 1
    ]


def _alerts_not_once(histories: Iterable[TriggerHistory], rows: Mapping[UUID, int]) -> list[str]:
    return [
        f"{each}: {rows.get(each.id, 0)} rows" for each in histories if rows.get(each.id, 0) != 1
    ]


def _ids_of_one_cause(received: Iterable[ReceivedEvent]) -> list[str]:
    return _not_alone((one.id, one.cause) for one in received)


def _not_alone(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[str]:
    ids: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for identifier, cause in pairs:
        ids[cause].add(identifier)
    return [f"{cause}: {sorted(map(str, found))}" for cause, found in ids.items() if len(found) > 1]


def _missing(
    histories: Iterable[TriggerHistory],
    rules: Mapping[str, Rule],
    entered: Mapping[UUID, Recognition],
) -> Iterator[str]:
    triggered: defaultdict[str, set[UUID]] = defaultdict(set)
    spent: defaultdict[tuple[str, ...], list[Recognition]] = defaultdict(list)
    for history in histories:
        if history.standing is not None:
            triggered[history.rule.name].add(history.standing.id)
        # A withdrawn trigger suppressed others until the withdrawal.
        for one in history.spent():
            spent[history.rule.name, *history.rule.place_of(one)].append(one)
    for name, rule in rules.items():
        for seen in entered.values():
            if seen.id in triggered[name] or not rule.is_matched_by(seen):
                continue
            if not rule.may_miss(seen, spent[name, *rule.place_of(seen)]):
                yield f"{name!r} for {seen.plate} {seen.id}"


def _broken_cooldowns(
    histories: Iterable[TriggerHistory], rules: Mapping[str, Rule]
) -> Iterator[str]:
    spent: defaultdict[str, list[Recognition]] = defaultdict(list)
    for history in histories:
        one = history.spends()
        if one is not None:
            spent[history.rule.name].append(one)
    for name, of_rule in spent.items():
        rule = rules[name]
        by_time = sorted(of_rule, key=lambda seen: seen.captured_ms)
        # Sorting is stable, so recognitions with the same key stay in order of time.
        for one, other in pairwise(sorted(by_time, key=rule.place_of)):
            if rule.suppresses(one, other):
                yield f"{name!r}: {one.id} and {other.id}, {other.captured_ms - one.captured_ms} ms"


def _due(entered: Iterable[UUID], histories: Iterable[TriggerHistory]) -> set[Cause]:
    due = {(ALL, EventName.RECOGNITION_CREATED, str(seen), "") for seen in entered}
    return due.union(*(set(_due_of(history)) for history in histories))


def _due_of(history: TriggerHistory) -> Iterator[Cause]:
    name, about = history.rule.name, str(history.id)
    for phase in history.by_phase:
        event = trigger_event(phase)
        yield ALL, event, about, name
        # A correct early alert is not sent again.
        if history.rule.notifies_gate and phase is not TriggerPhase.CONFIRMED:
            yield GATE, event, about, name
    if history.rule.notifies_guard and history.standing is not None:
        # The email is sent once, at the end.
        yield Receivers.MAIL, EventName.ALERT_TRIGGERED, str(history.standing.id), name


def _forgotten(received: Iterable[ReceivedEvent], due: set[Cause]) -> list[str]:
    return [" ".join(cause) for cause in sorted(due - {one.cause for one in received})]


def _invented(received: Iterable[ReceivedEvent], due: set[Cause]) -> list[str]:
    return [" ".join(cause) for cause in sorted({one.cause for one in received} - due)]
