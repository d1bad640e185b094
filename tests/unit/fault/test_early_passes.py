"""The verdict's model agrees with the code of the alerts stage about the passes of the load."""

import random
from collections.abc import Sequence

import pytest

from common.records.alerts import (
    AlertConfig,
    AlertTrigger,
    PlateMatchMode,
    ProvisionalRecognition,
    TriggerPhase,
)
from common.records.deliveries import trigger_event
from common.records.recognitions import Recognition
from common.records.webhooks import EventName
from streams.alerts.rules import RuleStore
from streams.alerts.state import ArrivedCandidate
from tests.fault.early_passes import End, early_pass, ends_after_seconds
from tests.fault.receivers import ALL, ReceivedEvent, Receivers
from tests.fault.rules import GATE, RULES, Rule
from tests.fault.trigger_histories import trigger_histories
from tests.fault.verdict import Evidence, Verdict, judge
from tests.records import CAMERAS, OWNER, alert
from tests.unit.streams.alerts.world import START_MS, World

_PASSES = 120
_EVERY_MS = 800
_Record = ProvisionalRecognition | Recognition


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("disorder", [0, 4], ids=["in order", "out of order, and again"])
async def test_the_model_agrees_with_the_stage(seed: int, disorder: int) -> None:
    records = _records()
    world = World()
    await _play(world, _mixed(records, random.Random(seed), disorder))

    verdict = _judged(records, world.triggers)

    assert not verdict, verdict
    assert min(verdict.figures[end] for end in ("confirmed", "corrected", "withdrawn")) > 0


async def test_an_early_alert_that_is_not_resolved_is_found() -> None:
    records, world = _records(), World()
    ended = [
        each
        for each in records
        if not isinstance(each, ProvisionalRecognition) or not each.final_recognition
    ]
    await _play(world, ended)

    verdict = _judged(records, world.triggers)

    assert "early alert is not resolved once" in verdict.faults


def test_ends_take_turns() -> None:
    made = [early_pass(number, OWNER, CAMERAS[0], START_MS) for number in range(len(End))]
    assert [each.recognition is None for each in made] == [end is End.AS_NOTHING for end in End]
    named = made[End.AS_ANOTHER_RECOGNITION]
    assert named.resolution is not None
    assert named.resolution.final_recognition == named.recognition


def _records() -> list[_Record]:
    """Return the records that the load publishes, in order."""
    due: list[tuple[int, _Record]] = []
    lasting = ends_after_seconds()
    for number in range(_PASSES):
        at_ms = number * _EVERY_MS
        camera_id = CAMERAS[number % 4]
        begun = early_pass(number, OWNER, camera_id, START_MS + at_ms)
        end_ms = at_ms + round(1000 * next(lasting))
        due.append((at_ms, begun.provisional))
        due += [(end_ms, each) for each in (begun.recognition, begun.resolution) if each]
    return [record for _, record in sorted(due, key=lambda each: each[0])]


def _mixed(records: Sequence[_Record], chance: random.Random, disorder: int) -> list[_Record]:
    """Return the records, some shifted by a few positions and some repeated."""
    placed = [(place + chance.uniform(0, disorder), one) for place, one in enumerate(records)]
    if disorder:
        placed += [(place + chance.uniform(0, 20), one) for place, one in placed[::3]]
    return [one for _, one in sorted(placed, key=lambda each: each[0])]


async def _play(world: World, records: Sequence[_Record]) -> None:
    rule_store = RuleStore(world.metrics)
    rule_store.apply([(each.alert_id, each) for each in map(_config, range(len(RULES)), RULES)])
    matching = world.matching(rule_store)
    for record in records:
        world.candidates.clear()
        if isinstance(record, Recognition):
            await matching.handle([(record, world.now_ms)])
        else:
            await matching.handle_provisional([(record, world.now_ms)])
        for each in tuple(world.candidates):
            await world.cooldowns.handle([ArrivedCandidate(3, each)])


def _config(number: int, rule: Rule) -> AlertConfig:
    body = rule.body(GATE)
    return alert(
        number,
        name=rule.name,
        plate_match_mode=PlateMatchMode(rule.mode),
        plates=rule.plates,
        min_confidence=0.0,
        cooldown_minutes=body["cooldownMinutes"],
        cooldown_scope=rule.scope,
        early=body["early"],
    )


def _judged(records: Sequence[_Record], triggers: Sequence[AlertTrigger]) -> Verdict:
    seen = [each for each in records if isinstance(each, Recognition)]
    by_name = {rule.name: rule for rule in RULES}
    received = [
        ReceivedEvent(ALL, str(each.id), str(each.id), EventName.RECOGNITION_CREATED)
        for each in seen
    ]
    for trigger in triggers:
        received += _received(trigger, by_name[trigger.alert.name])
    return judge(
        Evidence(
            sent=seen,
            entered=seen,
            rows=dict.fromkeys((each.id for each in seen), 1),
            triggers=triggers,
            alert_rows=dict.fromkeys((each.id for each in trigger_histories(triggers, by_name)), 1),
            received=received,
        ),
        RULES,
    )


def _received(trigger: AlertTrigger, rule: Rule) -> list[ReceivedEvent]:
    """Return the deliveries of a record on the alerts topic, according to the guide."""
    event, name = trigger_event(trigger.phase), rule.name
    ends = (TriggerPhase.FINAL, TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED)
    received = [ReceivedEvent(ALL, f"{event} {trigger.id}", str(trigger.id), event, name)]
    if rule.notifies_gate and trigger.phase is not TriggerPhase.CONFIRMED:
        received.append(ReceivedEvent(GATE, f"{event} {trigger.id}", str(trigger.id), event, name))
    if rule.notifies_guard and trigger.phase in ends:
        about = str(trigger.recognition.id)
        received.append(
            ReceivedEvent(Receivers.MAIL, about, about, EventName.ALERT_TRIGGERED, name)
        )
    return received
