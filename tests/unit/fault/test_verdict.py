"""The verdict of the fault tests finds each kind of fault, and reports no fault otherwise."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import msgspec
import pytest

from common.records.alerts import (
    AlertTrigger,
    CooldownScope,
    EarlyTrigger,
    PlateMatchMode,
    TriggerPhase,
)
from common.records.deliveries import trigger_event
from common.records.ids import recognition_id
from common.records.recognitions import Recognition
from common.records.webhooks import EventName
from tests.fault.receivers import ALL, ReceivedEvent, Receivers
from tests.fault.rules import GATE, Rule
from tests.fault.verdict import Evidence, judge
from tests.records import alert, alert_trigger, recognition

_NOW_MS = 1_795_000_000_000
_PAUSE_MS = 4_000
_RULES = (
    Rule("any", PlateMatchMode.ANY, notifies_gate=True),
    Rule("listed", PlateMatchMode.SPECIFIC, ("AB0000?",), 10_000, CooldownScope.ALERT),
    Rule("plate", PlateMatchMode.ANY, (), 10_000, CooldownScope.PLATE, notifies_guard=True),
    Rule("early", PlateMatchMode.SPECIFIC, ("EA*", "AB00005"), notifies_gate=True),
)
_SEEN = tuple(recognition(n, captured_ms=_NOW_MS + n * _PAUSE_MS) for n in range(6))
_TRIGGERED = {"any": _SEEN, "listed": (_SEEN[0], _SEEN[3]), "plate": _SEEN, "early": (_SEEN[5],)}


def _trigger(name: str, seen: Recognition) -> AlertTrigger:
    return alert_trigger(alert(list(_TRIGGERED).index(name), name=name), seen)


def _received_recognition(endpoint: str, seen: Recognition) -> ReceivedEvent:
    name = EventName.RECOGNITION_CREATED
    return ReceivedEvent(endpoint, f"{endpoint} {seen.id}", str(seen.id), name)


def _received_trigger(endpoint: str, trigger: AlertTrigger) -> ReceivedEvent:
    name, about = trigger_event(trigger.phase), str(trigger.id)
    if endpoint == Receivers.MAIL:
        name, about = EventName.ALERT_TRIGGERED, str(trigger.recognition.id)
    return ReceivedEvent(endpoint, f"{endpoint} {name} {about}", about, name, trigger.alert.name)


def _evidence(*early: AlertTrigger) -> Evidence:
    triggers = [_trigger(name, seen) for name, seens in _TRIGGERED.items() for seen in seens]
    triggers += early
    received = [_received_recognition(ALL, seen) for seen in _SEEN]
    received += [_received_trigger(ALL, each) for each in triggers]
    received += [_received_trigger(GATE, each) for each in triggers if _notifies_gate(each)]
    received += [
        _received_trigger(Receivers.MAIL, each) for each in triggers if each.alert.name == "plate"
    ]
    return Evidence(
        sent=_SEEN,
        entered=_SEEN,
        rows=dict.fromkeys((seen.id for seen in _SEEN), 1),
        triggers=triggers,
        alert_rows=dict.fromkeys((each.id for each in triggers), 1),
        received=received,
    )


def _notifies_gate(each: AlertTrigger) -> bool:
    return each.alert.name in ("any", "early") and each.phase is not TriggerPhase.CONFIRMED


def test_complete_evidence_has_no_fault() -> None:
    verdict = judge(_evidence(), _RULES)

    assert not verdict, verdict
    assert not verdict.is_open


def test_repeats_are_counted_but_are_no_fault() -> None:
    whole = _evidence()
    again = replace(
        whole,
        triggers=[*whole.triggers, whole.triggers[0]],
        received=[*whole.received, whole.received[0]],
    )

    verdict = judge(again, _RULES)

    assert not verdict, verdict
    assert (verdict.figures["triggered again"], verdict.figures["delivered again"]) == (1, 1)


def _without_row(whole: Evidence) -> Evidence:
    return replace(whole, rows={**whole.rows, _SEEN[2].id: 0})


def _with_two_rows(whole: Evidence) -> Evidence:
    return replace(whole, rows={**whole.rows, _SEEN[2].id: 2})


def _never_published(whole: Evidence) -> Evidence:
    return replace(whole, sent=[*whole.sent, recognition(7, captured_ms=_NOW_MS)])


def _not_triggered(whole: Evidence) -> Evidence:
    return replace(
        whole, triggers=[each for each in whole.triggers if each.recognition != _SEEN[1]]
    )


def _unfounded(whole: Evidence) -> Evidence:
    stranger = msgspec.structs.replace(_SEEN[5], plate="XY1")
    entered = [*whole.entered[:5], stranger]
    return replace(whole, entered=entered, triggers=[*whole.triggers, _trigger("listed", stranger)])


def _too_soon(whole: Evidence) -> Evidence:
    return replace(whole, triggers=[*whole.triggers, _trigger("listed", _SEEN[4])])


def _other_id(whole: Evidence) -> Evidence:
    other = msgspec.structs.replace(whole.triggers[0], id=UUID(int=1))
    return replace(whole, triggers=[*whole.triggers, other])


def _without_alert_row(whole: Evidence) -> Evidence:
    return replace(whole, alert_rows={**whole.alert_rows, whole.triggers[0].id: 0})


def _undelivered(endpoint: str) -> Callable[[Evidence], Evidence]:
    def change(whole: Evidence) -> Evidence:
        lost = next(one for one in whole.received if one.endpoint == endpoint)
        return replace(whole, received=[one for one in whole.received if one != lost])

    return change


def _delivery_of_nothing(whole: Evidence) -> Evidence:
    return replace(
        whole, received=[*whole.received, _received_trigger(GATE, _trigger("listed", _SEEN[0]))]
    )


def _delivery_with_other_id(whole: Evidence) -> Evidence:
    return replace(whole, received=[*whole.received, replace(whole.received[0], id="other")])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_without_row, "recognition is not one row"),
        (_with_two_rows, "recognition is not one row"),
        (_never_published, "recognition that was sent is not on the topic"),
        (_not_triggered, "alert that did not trigger"),
        (_unfounded, "alert that should not have triggered"),
        (_too_soon, "cooldown broken"),
        (_other_id, "alert under two ids"),
        (_without_alert_row, "alert is not one row"),
        (_undelivered(ALL), "delivery forgotten"),
        (_undelivered(GATE), "delivery forgotten"),
        (_undelivered(Receivers.MAIL), "delivery forgotten"),
        (_delivery_of_nothing, "delivery of nothing"),
        (_delivery_with_other_id, "delivery under two ids"),
    ],
)
def test_each_kind_of_fault_is_found(change: Callable[[Evidence], Evidence], kind: str) -> None:
    verdict = judge(change(_evidence()), _RULES)

    assert kind in verdict.faults, verdict
    assert kind in str(verdict)


# Early alerts for a pass that was published as EA1, and the resolution of the pass.

_EARLY, _END_MS = TriggerPhase.EARLY, 500
_PASS = msgspec.structs.replace(
    _SEEN[5], id=recognition_id(_SEEN[5].captured_ms, _SEEN[5].camera_id, "pass"), plate="EA1"
)


def _early(phase: TriggerPhase, seen: Recognition = _PASS) -> AlertTrigger:
    """Return the record of a phase of a trigger whose first record is for ``_PASS``."""
    first = _trigger("early", _PASS)
    if phase is _EARLY:
        return msgspec.structs.replace(first, phase=phase)
    first_report = EarlyTrigger(
        plate="EA1", captured_ms=_PASS.captured_ms, decided_ms=_PASS.captured_ms
    )
    return msgspec.structs.replace(first, phase=phase, recognition=seen, early=first_report)


_WITHDRAWN, _CORRECTED = TriggerPhase.WITHDRAWN, TriggerPhase.CORRECTED


@pytest.mark.parametrize(
    "end",
    [_early(_WITHDRAWN), _early(_WITHDRAWN, _SEEN[1]), _early(_CORRECTED, _SEEN[5])],
    ids=["withdrawn", "was another plate", "was another recognition"],
)
def test_an_early_alert_that_is_resolved_once_is_no_fault(end: AlertTrigger) -> None:
    verdict = judge(_evidence(_early(_EARLY), _early(_EARLY), end, end), _RULES)

    assert not verdict, verdict
    assert (verdict.figures["early"], verdict.figures["triggered again"]) == (1, 2)


@pytest.mark.parametrize(
    ("published", "kind"),
    [
        ([_early(_EARLY)], "early alert is not resolved once"),
        ([_early(_WITHDRAWN)], "early alert is not resolved once"),
        (
            [_early(_EARLY), _early(_WITHDRAWN), _early(_CORRECTED, _SEEN[5])],
            "early alert is not resolved once",
        ),
        ([_early(_EARLY), _trigger("early", _PASS)], "early alert is not resolved once"),
        ([_early(_EARLY), _early(_CORRECTED, _PASS)], "alert that should not have triggered"),
        ([_early(_EARLY), _early(_CORRECTED, _SEEN[1])], "alert that should not have triggered"),
        (
            [_early(_EARLY), _early(TriggerPhase.CONFIRMED, _SEEN[5])],
            "alert that should not have triggered",
        ),
        (
            [_early(_EARLY), _early(_WITHDRAWN, _SEEN[5])],
            "early alert was withdrawn though it triggers",
        ),
        (
            [_early(_EARLY), _early(_WITHDRAWN), _early(_WITHDRAWN, _SEEN[1])],
            "alert that was repeated says something else",
        ),
        (
            [_early(_EARLY), msgspec.structs.replace(_early(_EARLY), id=UUID(int=1))],
            "alert under two ids",
        ),
    ],
    ids=[
        "never resolved",
        "never published early",
        "resolved twice over",
        "triggered in the end as well",
        "no recognition",
        "not matched",
        "confirmed for another plate",
        "matched",
        "repeated otherwise",
        "another id",
    ],
)
def test_each_fault_of_early_alerts_is_found(published: list[AlertTrigger], kind: str) -> None:
    verdict = judge(_evidence(*published), _RULES)

    assert kind in verdict.faults, verdict
