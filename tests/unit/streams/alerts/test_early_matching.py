"""Which alerts fire before a vehicle is gone, and whom its end concerns."""

from uuid import UUID

import msgspec
import pytest

from contracts.alert_records import AlertSighting, CandidateKind, SightingKind
from contracts.alerts import AlertConfig, PlateMatchMode
from contracts.early import EarlyAlerts
from contracts.errors import InvalidInputError
from contracts.recognitions import Recognition
from contracts.records import encode
from streams.alerts.matching import EARLY_WITHIN_MS, Published, Sighted, read_sighting
from streams.alerts.rules import RuleKeeper
from tests.records import alert
from tests.unit.streams.alerts.passes import other_than, seen_as, specific
from tests.unit.streams.alerts.world import START_MS, World

_EARLY, _FINAL, _SETTLING = CandidateKind.EARLY, CandidateKind.FINAL, CandidateKind.SETTLING


@pytest.fixture
def world() -> World:
    return World()


def _keeper(world: World, *rules: AlertConfig) -> RuleKeeper:
    keeper = RuleKeeper(world.metrics, clock=lambda: world.now_ms / 1000)
    keeper.post([(each.alert_id, each) for each in rules])
    return keeper


def _sighted(plate: str = "AB1", kind: SightingKind = SightingKind.AGREED) -> Sighted:
    return Sighted(AlertSighting(kind=kind, recognition=seen_as(plate)), START_MS)


def _kinds(world: World) -> list[tuple[UUID, CandidateKind]]:
    return [(each.alert.alert_id, each.kind) for each in world.candidates]


@pytest.mark.parametrize(
    ("early", "expected"),
    [(EarlyAlerts.OFF, []), (EarlyAlerts.SPECIFIC, [1]), (EarlyAlerts.ALL, [1, 2, 3])],
)
async def test_which_rules_fire_early(
    world: World, early: EarlyAlerts, expected: list[int]
) -> None:
    allowlist = alert(3, plate_match_mode=PlateMatchMode.ALLOWLIST, plates=("ZZ9",))
    keeper = _keeper(world, specific(1, "AB1"), alert(2), allowlist, specific(4, "ZZ9"))
    await world.matching(keeper, early).handle_sightings([_sighted()])
    assert _kinds(world) == [(alert(number).alert_id, _EARLY) for number in expected]


async def test_an_early_alert_that_comes_late_is_none(world: World) -> None:
    matching = world.matching(_keeper(world, specific(1, "AB1")))
    world.now_ms += EARLY_WITHIN_MS
    await matching.handle_sightings([_sighted()])
    world.now_ms += 1
    await matching.handle_sightings([_sighted()])
    assert len(world.candidates) == 1


async def test_an_alert_that_was_made_after_does_not_fire_early(world: World) -> None:
    keeper = _keeper(world, specific(1, "AB1", created_ms=START_MS + 1))
    await world.matching(keeper).handle_sightings([_sighted()])
    assert world.candidates == []


async def test_the_end_addresses_what_had_fired_early_and_what_fires_now(world: World) -> None:
    both, before, now = specific(1, "AB1", "AB2"), specific(2, "AB1"), specific(3, "AB2")
    never = specific(4, "AB1", min_confidence=0.95)
    matching = world.matching(_keeper(world, both, before, now, never))
    await matching.handle([Published(seen_as("AB2", sighted=["AB1"]), START_MS)])
    assert _kinds(world) == [
        (both.alert_id, _FINAL),
        (now.alert_id, _FINAL),
        (before.alert_id, _SETTLING),
    ]
    assert not any(each.is_set_off for each in world.candidates)


@pytest.mark.parametrize(
    ("came_out", "is_set_off"),
    [
        (None, False),
        (other_than("AB9"), False),
        (other_than("AB1"), True),
        (other_than("AB7"), True),
    ],
    ids=["nothing", "another", "the same", "one for which it fires as well"],
)
async def test_a_pass_that_is_over_addresses_what_had_fired(
    world: World, came_out: Recognition | None, is_set_off: bool
) -> None:
    matching = world.matching(_keeper(world, specific(1, "AB1", "AB7"), specific(2, "AB2")))
    seen = seen_as("AB1", sighted=["AB1"])
    told = AlertSighting(kind=SightingKind.SETTLED, recognition=seen, came_out=came_out)
    world.now_ms += 24 * 3_600_000
    await matching.handle_sightings([Sighted(told, START_MS)])
    (found,) = world.candidates
    assert (found.alert.alert_id, found.kind) == (alert(1).alert_id, _SETTLING)
    assert (found.came_out, found.is_set_off) == (came_out, is_set_off)


@pytest.mark.parametrize("change", ["deleted", "off", "changed"])
async def test_a_rule_that_was_changed_meanwhile_settles_what_it_told(
    world: World, change: str
) -> None:
    rule = specific(1, "AB1")
    keeper = _keeper(world, rule)
    after = {
        "deleted": None,
        "off": msgspec.structs.replace(rule, enabled=False),
        "changed": msgspec.structs.replace(rule, plates=("ZZ9",)),
    }
    keeper.post([(rule.alert_id, after[change])])
    matching, end = world.matching(keeper), Published(seen_as("AB1", sighted=["AB1"]), START_MS)
    await matching.handle([end])
    assert [(each.alert, each.kind) for each in world.candidates] == [(rule, _SETTLING)]
    assert world.candidates[0].is_set_off
    world.now_ms += 121_000
    await matching.handle([end])
    assert len(world.candidates) == 1


async def test_a_rule_that_was_changed_over_and_over_settles_what_it_told(world: World) -> None:
    rule = specific(1, "AB1")
    keeper = _keeper(world, rule)
    for plate in ("ZZ7", "ZZ8", "ZZ9"):
        keeper.post([(rule.alert_id, msgspec.structs.replace(rule, plates=(plate,)))])
    matching = world.matching(keeper)
    await matching.handle([Published(seen_as("AB1", sighted=["AB1"]), START_MS)])
    (found,) = world.candidates
    assert (found.alert, found.kind, found.is_set_off) == (rule, _SETTLING, True)


async def test_no_more_former_rules_are_remembered_than_an_owner_may_have(world: World) -> None:
    rules = [specific(number, "AB1") for number in range(300)]
    keeper = _keeper(world, *rules)
    keeper.post([(each.alert_id, None) for each in rules])
    matching = world.matching(keeper)
    await matching.handle([Published(seen_as("AB1", sighted=["AB1"]), START_MS)])
    assert [each.alert for each in world.candidates] == rules[100:]


def test_a_sighting_of_another_time_is_refused() -> None:
    told = _sighted().told
    assert read_sighting(encode(told)) == told
    seen = msgspec.structs.replace(told.recognition, captured_ms=0)
    with pytest.raises(InvalidInputError):
        read_sighting(encode(msgspec.structs.replace(told, recognition=seen)))
