"""The alerts stage on a real Kafka."""

import itertools
import threading
import time
from uuid import UUID

import msgspec
import pytest

from contracts.ids import trigger_id
from contracts.records import CooldownScope, PlateMatchMode
from contracts.topics import ALERT_CANDIDATES, RECOGNITIONS
from tests.integration.alerts.conftest import StartAlerts
from tests.integration.alerts.world import World, seen_at
from tests.integration.streams.stages import lag, wait_until
from tests.records import alert

pytestmark = pytest.mark.integration

_MINUTE_MS = 60_000
_PROMISED_SECONDS = 1.0


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _settled(world: World) -> bool:
    return not lag(world.kafka, "alerts", RECOGNITIONS) + lag(
        world.kafka, "alerts", ALERT_CANDIDATES
    )


def test_rules_fire_once_in_a_cooldown_and_the_same_again_on_a_replay(
    start_alerts: StartAlerts, world: World
) -> None:
    now_ms = _now_ms()
    wanted = alert(
        1,
        plate_match_mode=PlateMatchMode.SPECIFIC,
        plates=("ab 1*",),
        cooldown_scope=CooldownScope.PLATE,
    )
    off = alert(2, enabled=False)
    world.put(wanted, off)
    first = seen_at(now_ms - 3000, "AB12")
    late = seen_at(now_ms - 60 * _MINUTE_MS, "AB12")
    held = seen_at(now_ms - 2000, "AB12", 8)
    other = seen_at(now_ms - 1000, "AB13", 16)
    stranger = seen_at(now_ms, "ZZ9", 24)
    worker = start_alerts()
    world.spoil(b"{")
    # One key each time: all of these are of one camera, and so in order.
    world.see(first, held, other, stranger, late)
    told = world.await_triggers(3)
    wait_until("all is settled", lambda: _settled(world))
    assert [each.recognition.id for each in told] == [first.id, other.id, late.id]
    assert [each.is_late for each in told] == [False, False, True]
    assert told[0].recognition == first
    assert told[0].id == trigger_id(first.captured_ms, wanted.alert_id, first.id)
    assert told[0].alert == wanted

    worker.kill()
    world.see(late, held, first)
    start_alerts()
    again = world.await_triggers(5)[3:]
    wait_until("all is settled", lambda: _settled(world))
    # To the byte what it was the first time: the table has outlived the worker.
    assert again == [told[2], told[0]]
    assert len(world.triggers()) == 5


def test_a_change_of_a_rule_takes_effect_within_a_second(
    start_alerts: StartAlerts, world: World
) -> None:
    rule, always = alert(1, cooldown_minutes=0), alert(2, cooldown_minutes=0)
    numbers = itertools.count()

    def fires_a_second_later() -> bool:
        time.sleep(_PROMISED_SECONDS)
        seen = seen_at(_now_ms(), "AB1", next(numbers) * 8)
        world.see(seen)
        # Once the other rule has fired and nothing is under way, this one has too or will not.
        world.await_fired_for([seen])
        wait_until("all is settled", lambda: _settled(world))
        fired = {each.alert.alert_id for each in world.triggers() if each.recognition == seen}
        assert always.alert_id in fired
        return rule.alert_id in fired

    world.put(rule, always)
    start_alerts()
    assert fires_a_second_later()
    world.put(msgspec.structs.replace(rule, enabled=False, revision=2))
    assert not fires_a_second_later()
    world.put(msgspec.structs.replace(rule, revision=3))
    assert fires_a_second_later()
    world.delete(rule)
    assert not fires_a_second_later()


@pytest.mark.fault
def test_killed_again_and_again_nothing_is_lost_and_no_cooldown_is_broken(
    start_alerts: StartAlerts, world: World
) -> None:
    """Alerts of several cooldowns under load, the worker killed with -9 every second or so."""
    start_ms = _now_ms() - 60 * _MINUTE_MS
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
        _await_more(world, 20)
        worker.kill()
    thread.join()
    start_alerts()
    wait_until("all is settled", lambda: _settled(world))
    world.await_fired_for(sent)
    told = {(each.alert.alert_id, each.recognition.id): each for each in world.triggers()}
    for each in world.triggers():
        first = told[each.alert.alert_id, each.recognition.id]
        assert each.id == first.id
    by_alert = [
        sorted(
            (each.recognition.captured_ms, each.recognition.plate)
            for (alert_id, _), each in told.items()
            if alert_id == rule.alert_id
        )
        for rule in rules
    ]
    assert len(by_alert[0]) == len(sent)
    _check_cooldown([at for at, _ in by_alert[1]], len(sent))
    for plate in ("AB0", "AB1", "AB2", "AB3"):
        _check_cooldown([at for at, seen in by_alert[2] if seen == plate], len(sent))


def _await_more(world: World, count: int) -> None:
    before = len(world.triggers())
    wait_until("it fires", lambda: len(world.triggers()) > before + count)


def _check_cooldown(times_ms: list[int], count: int) -> None:
    """Nothing within a cooldown of another, and no stretch of two without one."""
    gaps = [later - earlier for earlier, later in itertools.pairwise(times_ms)]
    assert min(gaps) >= _MINUTE_MS
    assert max(gaps) <= 2 * _MINUTE_MS + 20_000
    assert len(times_ms) >= count * 5_000 // (2 * _MINUTE_MS) - 1


def test_two_workers_share_the_rules(start_alerts: StartAlerts, world: World) -> None:
    start_alerts()
    rules = [alert(number, cooldown_minutes=0) for number in range(8)]
    world.put(*rules)
    now_ms = _now_ms()
    first = [seen_at(now_ms + number, "AB1", number) for number in range(20)]
    world.see(*first)
    world.await_triggers(20)
    start_alerts()
    more = [seen_at(now_ms + 100 + number, "AB1", number) for number in range(20)]
    world.see(*more)
    world.await_fired_for(more)
    wanted: set[tuple[UUID, UUID]] = {
        (rule.alert_id, each.id) for rule in rules for each in (*first, *more)
    }
    wait_until("all alerts", lambda: _settled(world))
    fired = world.triggers()
    assert {(each.alert.alert_id, each.recognition.id) for each in fired} == wanted
