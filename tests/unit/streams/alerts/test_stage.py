"""Matching, cooldowns and expiry with fake dependencies."""

import asyncio

import msgspec
import pytest

from common.alerting.cooldown import PastTrigger, PastTriggers
from common.errors import InvalidInputError, TransientError
from common.records.alerts import AlertCandidate, PlateMatchMode, by_reference
from common.records.codec import encode
from common.records.ids import MAX_PASS_MS
from common.records.recognitions import Recognition
from streams.alerts.matching import read_recognition
from streams.alerts.rules import RuleStore
from streams.alerts.state import ArrivedCandidate, Expiry, expired
from tests.records import alert, recognition
from tests.unit.streams.alerts.world import START_MS, World

_MINUTE_MS = 60_000


@pytest.fixture
def world() -> World:
    return World()


def _candidate(minute: float, number: int = 0, **rule: object) -> AlertCandidate:
    seen = recognition(number, captured_ms=START_MS + round(minute * _MINUTE_MS))
    return AlertCandidate(alert=alert(1, **rule), recognition=seen, published_ms=START_MS)


def _arrivals(*candidates: AlertCandidate) -> list[ArrivedCandidate]:
    return [ArrivedCandidate(3, candidate) for candidate in candidates]


async def test_one_batch_decides_the_same_as_many(world: World) -> None:
    batch = _arrivals(_candidate(0), _candidate(4, 1), _candidate(5, 2), _candidate(-5, 3))
    await world.cooldowns.handle(batch)
    assert [each.recognition for each in world.triggers] == [
        batch[at].candidate.recognition for at in (0, 2, 3)
    ]
    # The cooldowns of the batch are written once, before any trigger is published.
    assert world.done == ["table", "alert", "alert", "alert"]
    assert (world.outcomes("triggered"), world.outcomes("suppressed")) == (3, 1)


async def test_a_trigger_that_could_not_be_published_is_published_later_as_it_was_decided(
    world: World,
) -> None:
    batch = _arrivals(_candidate(0), _candidate(1, 1))
    world.failing.add("alerts")
    with pytest.raises(TransientError):
        await world.cooldowns.handle(batch)
    world.failing.clear()
    world.now_ms += 10 * _MINUTE_MS
    await world.cooldowns.handle(batch)
    (trigger,) = world.triggers
    assert trigger.recognition == batch[0].candidate.recognition
    assert (trigger.decided_ms, trigger.is_late) == (START_MS, False)
    assert world.outcomes("repeated") == 1


async def test_a_trigger_that_could_not_be_stored_is_not_published(world: World) -> None:
    world.failing.add("table")
    with pytest.raises(TransientError):
        await world.cooldowns.handle(_arrivals(_candidate(0)))
    assert not world.done


async def test_an_alert_without_cooldown_remembers_nothing(world: World) -> None:
    await world.cooldowns.handle(
        _arrivals(*(_candidate(0, n, cooldown_minutes=0) for n in range(3)))
    )
    assert (len(world.triggers), world.table) == (3, {})


async def test_a_late_trigger_says_so(world: World) -> None:
    world.now_ms += _MINUTE_MS
    await world.cooldowns.handle(_arrivals(_candidate(0)))
    world.now_ms += 1
    await world.cooldowns.handle(_arrivals(_candidate(0, alert_id=alert(2).alert_id)))
    assert [each.is_late for each in world.triggers] == [False, True]


async def test_a_state_of_another_release_is_dropped(world: World) -> None:
    await world.cooldowns.handle(_arrivals(_candidate(0)))
    (key,) = world.table
    world.table[key] = encode(PastTriggers(version=9))
    await world.cooldowns.handle(_arrivals(_candidate(1, 1)))
    assert len(world.triggers) == 2


async def test_every_rule_that_matches_gives_a_candidate(world: World) -> None:
    rule_store = RuleStore(world.metrics)
    rules = [alert(number) for number in range(3)]
    other = alert(9, plate_match_mode=PlateMatchMode.SPECIFIC, plates=("ZZ",))
    rule_store.apply([(each.alert_id, each) for each in (*rules, other)])
    matching = world.matching(rule_store)
    seen = [recognition(number) for number in range(2)]
    await matching.handle([(each, START_MS) for each in seen])
    assert [(each.alert, each.recognition) for each in world.candidates] == [
        (by_reference(rule), each) for each in seen for rule in rules
    ]
    assert {each.published_ms for each in world.candidates} == {START_MS}


async def test_an_alert_does_not_match_what_was_published_before_it_was_created(
    world: World,
) -> None:
    rule_store = RuleStore(world.metrics)
    older, newer = alert(1, created_ms=START_MS), alert(2, created_ms=START_MS + 1)
    rule_store.apply([(each.alert_id, each) for each in (older, newer)])
    matching = world.matching(rule_store)
    # The publication time counts, because the vehicle was seen long before the alerts were created.
    seen = recognition(1, captured_ms=START_MS - 60 * _MINUTE_MS)
    batch = [(seen, START_MS + after_ms) for after_ms in (-1, 0, 1)]
    await matching.handle(batch)
    published = [(each.alert.alert_id, each.published_ms - START_MS) for each in world.candidates]
    assert published == [(older.alert_id, 0), (older.alert_id, 1), (newer.alert_id, 1)]


async def test_a_batch_lets_others_run_between_two_recognitions(world: World) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    matching = world.matching(RuleStore(world.metrics))
    await matching.handle([(recognition(number), START_MS) for number in range(20)])
    task.cancel()
    assert turns >= 20


def test_a_rule_that_becomes_unusable_no_longer_matches(world: World) -> None:
    rule_store = RuleStore(world.metrics)
    rule = alert(1, schedule_enabled=True)
    rule_store.apply([(rule.alert_id, rule)])
    assert len(rule_store.index) == 1
    strange = msgspec.structs.replace(rule, timezone="Mars/Olympus")
    rule_store.apply([(rule.alert_id, strange)])
    assert len(rule_store.index) == 0
    assert world.registry.get_sample_value("platestream_alerts_invalid_rules_total") == 1
    rule_store.apply([(rule.alert_id, None), (alert(2).alert_id, alert(2))])
    assert world.registry.get_sample_value("platestream_alerts_rules") == 1


def test_a_recognition_of_another_time_is_refused() -> None:
    def read(seen: Recognition) -> Recognition:
        return read_recognition(encode(seen))

    good = recognition(1)
    assert read(good) == good
    with pytest.raises(InvalidInputError) as caught:
        read(msgspec.structs.replace(good, captured_ms=good.captured_ms + MAX_PASS_MS + 1))
    assert caught.value.code == "id_of_other_time"


def _kept(until_ms: int) -> bytes:
    trigger = PastTrigger(until_ms, "x", until_ms)
    return encode(PastTriggers(triggers=(trigger,), kept_until_ms=until_ms))


def test_what_is_over_is_forgotten_and_then_what_is_too_much() -> None:
    items = [(b"3|%d" % until, _kept(until)) for until in (50, 10, 30, 40, 20)]
    items.append((b"13|x", _kept(0)))
    assert expired(items, 3, 0, 10) == []
    assert expired(items, 3, 21, 10) == [b"3|10", b"3|20"]
    assert expired(items, 3, 0, 2) == [b"3|10", b"3|20", b"3|30"]


async def test_a_sweep_waits_for_its_time(world: World) -> None:
    forgetting = Expiry(world, world.metrics, limit=10)
    world.table = {b"3|a": _kept(5), b"4|a": _kept(5)}
    await forgetting.sweep([3], 6)
    assert list(world.table) == [b"4|a"]
    world.table[b"3|b"] = _kept(5)
    await forgetting.sweep([3, 4], 7)
    assert list(world.table) == [b"3|b"]
    await forgetting.sweep([3], 300_006)
    assert not world.table


async def test_a_sweep_that_has_more_to_do_goes_on(world: World) -> None:
    forgetting = Expiry(world, world.metrics, limit=10)
    world.table = {b"3|%d" % number: _kept(5) for number in range(1_500)}
    await forgetting.sweep([3], 6)
    assert len(world.table) == 500
    await forgetting.sweep([3], 7)
    assert not world.table
