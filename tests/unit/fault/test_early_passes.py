"""The load's passes through the alerts stage's own code: the checker's model agrees with it."""

import random
from collections.abc import Sequence

import pytest

from contracts.alert_records import AlertSighting, AlertTrigger
from contracts.alerts import AlertConfig, PlateMatchMode
from contracts.deliveries import trigger_event
from contracts.early import TriggerPhase
from contracts.recognitions import Recognition
from contracts.webhooks import EventName
from streams.alerts.matching import Published, Sighted
from streams.alerts.remembered import Arrival
from streams.alerts.rules import RuleKeeper
from tests.fault.early_passes import End, early_pass, ends_after_seconds
from tests.fault.firings import firings
from tests.fault.receivers import ALL, Receivers, Told
from tests.fault.rules import GATE, RULES, Rule
from tests.fault.verdict import Evidence, Verdict, judge
from tests.records import CAMERAS, OWNER, alert
from tests.unit.streams.alerts.world import START_MS, World

_PASSES = 120
_EVERY_MS = 800
_Record = AlertSighting | Recognition


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("disorder", [0, 4], ids=["in order", "out of order, and again"])
async def test_the_model_agrees_with_the_stage(seed: int, disorder: int) -> None:
    records = _records()
    world = World()
    await _play(world, _mixed(records, random.Random(seed), disorder))

    verdict = _judged(records, world.triggers)

    assert not verdict, verdict
    assert min(verdict.figures[end] for end in ("confirmed", "corrected", "withdrawn")) > 0


async def test_what_is_not_settled_is_found() -> None:
    records, world = _records(), World()
    ended = [each for each in records if not isinstance(each, AlertSighting) or not each.came_out]
    await _play(world, ended)

    verdict = _judged(records, world.triggers)

    assert "early alert is not settled once" in verdict.faults


def test_ends_take_turns() -> None:
    made = [early_pass(number, OWNER, CAMERAS[0], START_MS) for number in range(len(End))]
    assert [each.recognition is None for each in made] == [end is End.AS_NOTHING for end in End]
    named = made[End.AS_ANOTHER_RECOGNITION]
    assert named.dismissal is not None
    assert named.dismissal.came_out == named.recognition


def _records() -> list[_Record]:
    """Return what the load publishes, in order."""
    due: list[tuple[int, _Record]] = []
    lasting = ends_after_seconds()
    for number in range(_PASSES):
        at_ms = number * _EVERY_MS
        camera_id = CAMERAS[number % 4]
        begun = early_pass(number, OWNER, camera_id, START_MS + at_ms)
        end_ms = at_ms + round(1000 * next(lasting))
        due.append((at_ms, begun.sighting))
        due += [(end_ms, each) for each in (begun.recognition, begun.dismissal) if each]
    return [record for _, record in sorted(due, key=lambda each: each[0])]


def _mixed(records: Sequence[_Record], chance: random.Random, disorder: int) -> list[_Record]:
    """Return the records, displaced by a few places, and some again."""
    placed = [(place + chance.uniform(0, disorder), one) for place, one in enumerate(records)]
    if disorder:
        placed += [(place + chance.uniform(0, 20), one) for place, one in placed[::3]]
    return [one for _, one in sorted(placed, key=lambda each: each[0])]


async def _play(world: World, records: Sequence[_Record]) -> None:
    keeper = RuleKeeper(world.metrics)
    keeper.post([(each.alert_id, each) for each in map(_config, range(len(RULES)), RULES)])
    matching = world.matching(keeper)
    for record in records:
        world.candidates.clear()
        if isinstance(record, Recognition):
            await matching.handle([Published(record, world.now_ms)])
        else:
            await matching.handle_sightings([Sighted(record, world.now_ms)])
        for each in tuple(world.candidates):
            await world.cooldowns.handle([Arrival(3, each)])


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
    )


def _judged(records: Sequence[_Record], fired: Sequence[AlertTrigger]) -> Verdict:
    seen = [each for each in records if isinstance(each, Recognition)]
    by_name = {rule.name: rule for rule in RULES}
    told = [Told(ALL, str(each.id), str(each.id), EventName.RECOGNITION_CREATED) for each in seen]
    for trigger in fired:
        told += _told_of(trigger, by_name[trigger.alert.name])
    return judge(
        Evidence(
            sent=seen,
            entered=seen,
            rows=dict.fromkeys((each.id for each in seen), 1),
            fired=fired,
            alert_rows=dict.fromkeys((each.id for each in firings(fired, by_name)), 1),
            told=told,
        ),
        RULES,
    )


def _told_of(trigger: AlertTrigger, rule: Rule) -> list[Told]:
    """Return the deliveries of a record of the alerts topic, as the guide for receivers says."""
    event, name = trigger_event(trigger.phase), rule.name
    ends = (TriggerPhase.FINAL, TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED)
    told = [Told(ALL, f"{event} {trigger.id}", str(trigger.id), event, name)]
    if rule.tells_gate and trigger.phase is not TriggerPhase.CONFIRMED:
        told.append(Told(GATE, f"{event} {trigger.id}", str(trigger.id), event, name))
    if rule.tells_guard and trigger.phase in ends:
        about = str(trigger.recognition.id)
        told.append(Told(Receivers.MAIL, about, about, EventName.ALERT_TRIGGERED, name))
    return told
