"""The alerts stage with a real Kafka."""

import itertools
import statistics
import threading
import time
from uuid import UUID

import msgspec
import pytest

from common.records.alerts import (
    AlertConfig,
    AlertTrigger,
    CooldownScope,
    PlateMatchMode,
    ProvisionalKind,
    ProvisionalRecognition,
    TriggerPhase,
    by_reference,
)
from common.records.ids import trigger_id
from common.records.recognitions import ProvisionalPlate, Recognition
from common.records.topics import ALERT_CANDIDATES, RECOGNITIONS, SIGHTINGS
from common.timestamps import now_ms
from tests.integration.streams.alerts.conftest import StartAlerts
from tests.integration.streams.alerts.world import World, seen_at
from tests.integration.streams.conftest import four_partitions
from tests.integration.streams.stages import lag
from tests.records import alert
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

partition_count = four_partitions

_MINUTE_MS = 60_000
_PROMISED_SECONDS = 1.0


def _is_processed(world: World) -> bool:
    topics = (RECOGNITIONS, SIGHTINGS, ALERT_CANDIDATES)
    return not sum(lag(world.kafka, "alerts", topic) for topic in topics)


def test_rules_trigger_once_in_a_cooldown_and_the_same_again_on_a_replay(
    start_alerts: StartAlerts, world: World
) -> None:
    present_ms = now_ms()
    wanted = alert(
        1,
        plate_match_mode=PlateMatchMode.SPECIFIC,
        plates=("ab 1*",),
        cooldown_scope=CooldownScope.PLATE,
    )
    off = alert(2, enabled=False)
    world.put(wanted, off)
    first = seen_at(present_ms - 3000, "AB12")
    late = seen_at(present_ms - 60 * _MINUTE_MS, "AB12")
    held = seen_at(present_ms - 2000, "AB12", 8)
    other = seen_at(present_ms - 1000, "AB13", 16)
    stranger = seen_at(present_ms, "ZZ9", 24)
    worker = start_alerts()
    world.spoil(b"{")
    # All these records are of one camera, so they have the same key and stay in order.
    world.see(first, held, other, stranger, late)
    triggers = world.await_triggers(3)
    wait_until("everything is processed", lambda: _is_processed(world))
    assert [each.recognition.id for each in triggers] == [first.id, other.id, late.id]
    assert [each.is_late for each in triggers] == [False, False, True]
    assert triggers[0].recognition == first
    assert triggers[0].id == trigger_id(first.captured_ms, wanted.alert_id, first.id)
    assert triggers[0].alert == by_reference(wanted)

    worker.kill()
    world.see(late, held, first)
    start_alerts()
    again = world.await_triggers(5)[3:]
    wait_until("everything is processed", lambda: _is_processed(world))
    # The triggers are identical to the first ones, because the table survived the kill.
    assert again == [triggers[2], triggers[0]]
    assert len(world.triggers()) == 5


def test_changes_of_a_rule_take_effect_within_a_second(
    start_alerts: StartAlerts, world: World
) -> None:
    rule, always = alert(1, cooldown_minutes=0), alert(2, cooldown_minutes=0)
    numbers = itertools.count()

    def does_trigger() -> bool:
        seen = seen_at(now_ms(), "AB1", next(numbers) * 8)
        world.see(seen)
        # Once the other alert has triggered and nothing is in flight, this alert cannot trigger.
        world.await_triggered_for([seen])
        wait_until("everything is processed", lambda: _is_processed(world))
        triggered = {each.alert.alert_id for each in world.triggers() if each.recognition == seen}
        assert always.alert_id in triggered
        return rule.alert_id in triggered

    def seconds_until(expected: bool) -> float:
        """Return the time from now to the last pass for which the change was not yet in effect."""
        begin = sent = time.monotonic()
        while does_trigger() is not expected:
            assert sent < begin + 30
            sent = time.monotonic()
        return sent - begin

    world.put(rule, always)
    start_alerts()
    seconds_until(expected=True)
    seconds = []
    for revision in (2, 4, 6):
        world.put(msgspec.structs.replace(rule, enabled=False, revision=revision))
        seconds.append(seconds_until(expected=False))
        world.put(msgspec.structs.replace(rule, revision=revision + 1))
        seconds.append(seconds_until(expected=True))
    world.delete(rule)
    seconds.append(seconds_until(expected=False))
    # The median counts, because a stalled machine is not a slow alert.
    assert statistics.median(seconds) < _PROMISED_SECONDS


@pytest.mark.long
@pytest.mark.fault
def test_killed_again_and_again_nothing_is_lost_and_no_cooldown_is_broken(
    start_alerts: StartAlerts, world: World
) -> None:
    """Alerts with several cooldowns under load, while the worker is killed about every second."""
    start_ms = now_ms() - 60 * _MINUTE_MS
    rules = [
        alert(1, cooldown_minutes=0),
        alert(2, cooldown_minutes=1),
        alert(3, cooldown_minutes=1, cooldown_scope=CooldownScope.PLATE),
    ]
    world.put(*rules)
    sent = [seen_at(start_ms + number * 5_000, f"AB{number % 4}", number) for number in range(600)]
    done = threading.Event()

    def feed() -> None:
        for first in range(0, len(sent), 20):
            world.see(*sent[first : first + 20])
            done.wait(0.2)
        done.set()

    thread = threading.Thread(target=feed)
    thread.start()
    while not done.is_set():
        worker = start_alerts()
        _await_more(world, 20, done)
        worker.kill()
    thread.join()
    start_alerts()
    wait_until("everything is processed", lambda: _is_processed(world))
    world.await_triggered_for(sent)
    triggers = {(each.alert.alert_id, each.recognition.id): each for each in world.triggers()}
    for each in world.triggers():
        first = triggers[each.alert.alert_id, each.recognition.id]
        assert each.id == first.id
    by_alert = [
        sorted(
            (each.recognition.captured_ms, each.recognition.plate)
            for (alert_id, _), each in triggers.items()
            if alert_id == rule.alert_id
        )
        for rule in rules
    ]
    assert len(by_alert[0]) == len(sent)
    _check_cooldown([at for at, _ in by_alert[1]], len(sent))
    for plate in ("AB0", "AB1", "AB2", "AB3"):
        _check_cooldown([at for at, seen in by_alert[2] if seen == plate], len(sent))


@pytest.mark.long
def test_early_alerts_are_confirmed_corrected_and_withdrawn_and_outlive_a_crash(
    start_alerts: StartAlerts, world: World
) -> None:
    specific = {"plate_match_mode": PlateMatchMode.SPECIFIC, "early": True}
    held = alert(1, plates=("AB*",), cooldown_scope=CooldownScope.PLATE, **specific)
    free = alert(2, plates=("AB1",), cooldown_minutes=0, **specific)
    other = alert(3, plates=("AB2",), **specific)
    everything = alert(4, cooldown_minutes=0)
    world.put(held, free, other, everything)
    worker = start_alerts()
    # Only new passes trigger early, so the worker must be running.
    there = seen_at(now_ms(), "ZZ9")
    world.see(there)
    world.await_triggered_for([there])
    first = _early(1, "AB1")
    world.report_provisional(first)
    early = world.await_triggers(3)[1:]
    assert [(each.alert.alert_id, each.phase) for each in _sorted(early)] == [
        (held.alert_id, TriggerPhase.EARLY),
        (free.alert_id, TriggerPhase.EARLY),
    ]

    worker.kill()
    # The pass ends with another plate, and the provisional recognition is repeated.
    end = _end(first, "AB2")
    world.see(end)
    world.report_provisional(first)
    start_alerts()
    wanted = {
        (held.alert_id, TriggerPhase.EARLY),
        (held.alert_id, TriggerPhase.CORRECTED),
        (free.alert_id, TriggerPhase.EARLY),
        (free.alert_id, TriggerPhase.WITHDRAWN),
        (other.alert_id, TriggerPhase.FINAL),
        (everything.alert_id, TriggerPhase.FINAL),
    }
    wait_until("all triggers are there", lambda: wanted <= set(_triggers_of(world, first)))
    triggers = _triggers_of(world, first)
    assert set(triggers) == wanted
    assert len({triggers[held.alert_id, phase].id for phase in _SUPPRESSING}) == 1
    assert len({triggers[free.alert_id, phase].id for phase in _FREE}) == 1

    # The misread plate is free again. Of two concurrent passes, one is confirmed, one withdrawn.
    second, third = _early(2, "AB1"), _early(3, "AB1")
    world.report_provisional(second, third)
    world.await_triggered_for([second.recognition])
    world.see(_end(second, "AB1"))
    world.report_provisional(_resolved_as_nothing(third))
    confirmed = {(held.alert_id, TriggerPhase.CONFIRMED), (free.alert_id, TriggerPhase.CONFIRMED)}
    wait_until("it is confirmed", lambda: confirmed <= set(_triggers_of(world, second)))
    withdrawn = {(free.alert_id, TriggerPhase.EARLY), (free.alert_id, TriggerPhase.WITHDRAWN)}
    wait_until("it is withdrawn", lambda: withdrawn <= set(_triggers_of(world, third)))
    wait_until("everything is processed", lambda: _is_processed(world))
    assert set(_triggers_of(world, third)) == withdrawn

    _check_resolved_by_another(world, free, _early(4, "AB1"), _end(second, "AB1"))


def _check_resolved_by_another(
    world: World, rule: AlertConfig, early: ProvisionalRecognition, passed: Recognition
) -> None:
    """Check a vehicle's second track, whose resolution names the existing recognition."""
    world.report_provisional(early)
    key = (rule.alert_id, TriggerPhase.EARLY)
    wait_until("it triggers", lambda: key in _triggers_of(world, early))
    identifier = _triggers_of(world, early)[key].id
    world.report_provisional(
        msgspec.structs.replace(_resolved_as_nothing(early), final_recognition=passed)
    )
    ends = {TriggerPhase.EARLY, TriggerPhase.CONFIRMED}
    wait_until("it is confirmed", lambda: {each.phase for each in _of(world, identifier)} == ends)
    assert _of(world, identifier)[-1].recognition == passed


def _of(world: World, identifier: UUID) -> list[AlertTrigger]:
    return [each for each in world.triggers() if each.id == identifier]


_SUPPRESSING = (TriggerPhase.EARLY, TriggerPhase.CORRECTED)
_FREE = (TriggerPhase.EARLY, TriggerPhase.WITHDRAWN)


def _triggers_of(
    world: World, early: ProvisionalRecognition
) -> dict[tuple[UUID, TriggerPhase], AlertTrigger]:
    return {
        (each.alert.alert_id, each.phase): each
        for each in world.triggers()
        if each.recognition.id == early.recognition.id
    }


def _sorted(triggers: list[AlertTrigger]) -> list[AlertTrigger]:
    return sorted(triggers, key=lambda each: each.alert.alert_id)


def _early(number: int, plate: str) -> ProvisionalRecognition:
    """Return the provisional recognition of pass ``number``."""
    seen = seen_at(now_ms() + number, plate, number * 8)
    return ProvisionalRecognition(kind=ProvisionalKind.AGREED, recognition=seen)


def _resolved_as_nothing(early: ProvisionalRecognition) -> ProvisionalRecognition:
    seen = msgspec.structs.replace(
        early.recognition, provisional_plates=_end(early, "").provisional_plates
    )
    return ProvisionalRecognition(kind=ProvisionalKind.RESOLVED, recognition=seen)


def _end(early: ProvisionalRecognition, plate: str) -> Recognition:
    seen = early.recognition
    read = ProvisionalPlate(
        plate=seen.plate, confidence=seen.confidence, captured_ms=seen.captured_ms
    )
    return msgspec.structs.replace(
        seen_at(seen.captured_ms + 400, plate), id=seen.id, provisional_plates=(read,)
    )


def _await_more(world: World, count: int, done: threading.Event) -> None:
    before = len(world.triggers())
    wait_until("it triggers", lambda: done.is_set() or len(world.triggers()) > before + count)


def _check_cooldown(times_ms: list[int], count: int) -> None:
    """Check that triggers are at least a cooldown apart, but not much longer."""
    gaps = [later - earlier for earlier, later in itertools.pairwise(times_ms)]
    assert min(gaps) >= _MINUTE_MS
    assert max(gaps) <= 2 * _MINUTE_MS + 20_000
    assert len(times_ms) >= count * 5_000 // (2 * _MINUTE_MS) - 1


def test_two_workers_share_the_rules(start_alerts: StartAlerts, world: World) -> None:
    start_alerts()
    rules = [alert(number, cooldown_minutes=0) for number in range(8)]
    world.put(*rules)
    present_ms = now_ms()
    first = [seen_at(present_ms + number, "AB1", number) for number in range(20)]
    world.see(*first)
    world.await_triggers(20)
    start_alerts()
    more = [seen_at(present_ms + 100 + number, "AB1", number) for number in range(20)]
    world.see(*more)
    world.await_triggered_for(more)
    wanted: set[tuple[UUID, UUID]] = {
        (rule.alert_id, each.id) for rule in rules for each in (*first, *more)
    }
    wait_until("all alerts", lambda: _is_processed(world))
    triggers = world.triggers()
    assert {(each.alert.alert_id, each.recognition.id) for each in triggers} == wanted
