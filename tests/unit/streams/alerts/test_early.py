"""Alerts that fire before a vehicle is gone, and what becomes of that."""

from uuid import UUID

import pytest

from contracts.alert_records import (
    AlertCandidate,
    AlertTrigger,
    CandidateKind,
)
from contracts.alerts import AlertConfig, CooldownScope
from contracts.early import EarlyFiring, TriggerPhase
from contracts.errors import TransientError
from contracts.ids import trigger_id
from contracts.recognitions import Recognition
from streams.alerts.remembered import Arrival
from tests.unit.streams.alerts.passes import other_than, seen_as, specific
from tests.unit.streams.alerts.world import START_MS, World

_EARLY, _FINAL, _SETTLING = CandidateKind.EARLY, CandidateKind.FINAL, CandidateKind.SETTLING
_GONE_MS = 3_000


@pytest.fixture
def world() -> World:
    return World()


def _candidate(
    kind: CandidateKind,
    seen: Recognition,
    rule: AlertConfig | None = None,
    came_out: Recognition | None = None,
    *,
    is_set_off: bool = False,
) -> AlertCandidate:
    return AlertCandidate(
        alert=rule or specific(1, "AB*"),
        recognition=seen,
        published_ms=START_MS,
        kind=kind,
        may_be_early=True,
        came_out=came_out,
        is_set_off=is_set_off,
    )


async def _handle(world: World, *candidates: AlertCandidate) -> list[AlertTrigger]:
    """Return what is told of candidates, each a batch of its own."""
    before = len(world.triggers)
    for each in candidates:
        await world.cooldowns.handle([Arrival(3, each)])
    return world.triggers[before:]


def _early(plate: str = "AB1", rule: AlertConfig | None = None) -> AlertCandidate:
    return _candidate(_EARLY, seen_as(plate), rule)


def _final(plate: str = "AB1", rule: AlertConfig | None = None) -> AlertCandidate:
    return _candidate(_FINAL, seen_as(plate, 800, sighted=["AB1"]), rule)


def _settling(
    rule: AlertConfig | None = None,
    came_out: Recognition | None = None,
    *,
    is_set_off: bool = False,
) -> AlertCandidate:
    seen = seen_as("ZZ9", 800, sighted=["AB1"])
    return _candidate(_SETTLING, seen, rule, came_out, is_set_off=is_set_off)


def _rules_of_all_cooldowns() -> list[AlertConfig]:
    return [
        specific(1, "AB*", cooldown_minutes=0),
        *(specific(1, "AB*", cooldown_scope=scope) for scope in CooldownScope),
    ]


_ALL = pytest.mark.parametrize(
    "rule",
    _rules_of_all_cooldowns(),
    ids=["no cooldown", *(scope.value for scope in CooldownScope)],
)


@_ALL
async def test_a_firing_is_confirmed_by_the_same_id(world: World, rule: AlertConfig) -> None:
    early, final = _early(rule=rule), _final(rule=rule)
    (first,) = await _handle(world, early)
    world.now_ms += _GONE_MS
    (second,) = await _handle(world, final)
    assert (first.phase, first.early, first.decided_ms) == (TriggerPhase.EARLY, None, START_MS)
    assert first.id == trigger_id(START_MS, rule.alert_id, early.recognition.id) == second.id
    assert (second.phase, second.recognition) == (TriggerPhase.CONFIRMED, final.recognition)
    assert second.early == EarlyFiring(plate="AB1", captured_ms=START_MS, decided_ms=START_MS)
    assert (second.decided_ms, second.fired_ms) == (START_MS + _GONE_MS, START_MS)


@_ALL
async def test_done_again_all_is_told_the_same(world: World, rule: AlertConfig) -> None:
    steps = [_early(rule=rule), _final("AB2", rule)]
    told = await _handle(world, *steps)
    table = dict(world.table)
    world.now_ms += _GONE_MS
    # A replay of the end alone, and of sightings behind it.
    assert await _handle(world, steps[1], steps[0]) == told[1:]
    assert world.table == table


@_ALL
async def test_what_could_not_be_told_early_is_told_when_done_again(
    world: World, rule: AlertConfig
) -> None:
    world.failing.add("alerts")
    with pytest.raises(TransientError):
        await _handle(world, _early(rule=rule))
    world.failing.clear()
    world.now_ms += _GONE_MS
    told = await _handle(world, _early(rule=rule), _final(rule=rule))
    assert [each.phase for each in told] == [TriggerPhase.EARLY, TriggerPhase.CONFIRMED]
    assert told[0].decided_ms == START_MS


@_ALL
async def test_a_crash_between_both_writes_changes_nothing(world: World, rule: AlertConfig) -> None:
    steps = [_early(rule=rule), _final("AB2", rule)]
    straight = World()
    told = await _handle(straight, *steps)
    for step in steps:
        world.failing.add("passes")
        with pytest.raises(TransientError):
            await _handle(world, step)
        world.failing.clear()
        await _handle(world, step)
    assert world.triggers == told
    assert world.table == straight.table


@_ALL
async def test_an_early_firing_that_never_was_takes_nothing_from_the_final_one(
    world: World, rule: AlertConfig
) -> None:
    (told,) = await _handle(world, _final(rule=rule))
    assert (told.phase, told.early) == (TriggerPhase.FINAL, None)
    # What lagged behind comes now: the pass has fired.
    assert await _handle(world, _early(rule=rule)) == []
    assert await _handle(world, _final(rule=rule)) == [told]


@_ALL
async def test_another_plate_for_which_it_fires_as_well_corrects(
    world: World, rule: AlertConfig
) -> None:
    first, second = await _handle(world, _early(rule=rule), _final("AB2", rule))
    assert (second.id, second.phase) == (first.id, TriggerPhase.CORRECTED)
    assert (second.recognition.plate, second.early and second.early.plate) == ("AB2", "AB1")


@_ALL
@pytest.mark.parametrize("came_out", [None, other_than("ZZ9")], ids=["nothing", "another"])
async def test_what_it_does_not_fire_for_withdraws_and_frees_the_cooldown(
    world: World, rule: AlertConfig, came_out: Recognition | None
) -> None:
    end = _settling(rule, came_out)
    first, second = await _handle(world, _early(rule=rule), end)
    assert (second.id, second.phase) == (first.id, TriggerPhase.WITHDRAWN)
    assert second.recognition == (came_out or end.recognition)
    another = _candidate(_FINAL, seen_as("AB1", 60_000, track=UUID(int=2)), rule)
    (told,) = await _handle(world, another)
    assert told.phase is TriggerPhase.FINAL


@_ALL
@pytest.mark.parametrize(
    ("plate", "phase"), [("AB1", TriggerPhase.CONFIRMED), ("AB2", TriggerPhase.CORRECTED)]
)
async def test_a_pass_that_is_another_recognition_is_settled_by_that_one(
    world: World, rule: AlertConfig, plate: str, phase: TriggerPhase
) -> None:
    end = _settling(rule, other_than(plate), is_set_off=True)
    first, second, again = await _handle(world, _early(rule=rule), end, end)
    assert (second.id, second.phase) == (first.id, phase)
    assert second.recognition == other_than(plate)
    assert again == second


async def test_a_correction_moves_what_the_cooldown_of_a_plate_holds_back(world: World) -> None:
    rule = specific(1, "AB*", cooldown_scope=CooldownScope.PLATE)
    await _handle(world, _early(rule=rule), _final("AB2", rule))

    async def fires(plate: str, number: int) -> bool:
        seen = seen_as(plate, 60_000, track=UUID(int=number))
        return bool(await _handle(world, _candidate(_FINAL, seen, rule)))

    assert not await fires("AB2", 2)
    assert await fires("AB1", 3)


async def test_a_firing_that_is_settled_twice_over_stays_as_it_is(world: World) -> None:
    await _handle(world, _early(), _final())
    (again,) = await _handle(world, _settling())
    assert again.phase is TriggerPhase.CONFIRMED


async def test_an_early_firing_spends_the_cooldown(world: World) -> None:
    await _handle(world, _early())
    other = _candidate(_EARLY, seen_as("AB3", 1000, track=UUID(int=2)))
    after = _candidate(_FINAL, seen_as("AB3", 1000, track=UUID(int=2), sighted=["AB3"]))
    assert await _handle(world, other, after) == []
    assert world.outcomes("held_back") == 2


@_ALL
async def test_beginning_and_end_in_one_batch_are_both_told(
    world: World, rule: AlertConfig
) -> None:
    batch = [Arrival(3, _early(rule=rule)), Arrival(3, _final(rule=rule))]
    world.failing.add("alerts")
    with pytest.raises(TransientError):
        await world.cooldowns.handle(batch)
    world.failing.clear()

    await world.cooldowns.handle(batch)

    assert [each.phase for each in world.triggers] == [TriggerPhase.EARLY, TriggerPhase.CONFIRMED]


async def test_what_comes_early_after_an_end_that_was_held_back_is_not_told(world: World) -> None:
    rule = specific(1, "AB*", cooldown_scope=CooldownScope.PLATE)
    other = seen_as("AB2", track=UUID(int=8))
    await _handle(world, _candidate(_FINAL, other, rule))

    assert await _handle(world, _final("AB2", rule), _early("AB1", rule)) == []


async def test_what_is_held_back_writes_nothing(world: World) -> None:
    rule = specific(1, "AB*")
    await _handle(world, _candidate(_FINAL, seen_as("AB1", track=UUID(int=8)), rule))
    world.failing.add("table")

    assert (
        await _handle(world, _candidate(_FINAL, seen_as("AB1", 900, track=UUID(int=9)), rule)) == []
    )


async def test_what_was_held_back_early_has_nothing_to_withdraw(world: World) -> None:
    await _handle(world, _candidate(_FINAL, seen_as("AB3", track=UUID(int=2))))
    held = [_early(), _settling(), _early(), _settling()]
    assert await _handle(world, *held) == []


async def test_a_withdrawal_that_overtakes_its_alert_keeps_it_from_firing(world: World) -> None:
    assert await _handle(world, _settling(), _early()) == []


async def test_a_second_plate_of_a_pass_fires_no_second_time(world: World) -> None:
    rule = specific(1, "AB*", cooldown_minutes=0)
    assert len(await _handle(world, _early("AB1", rule), _early("AB2", rule))) == 1


async def test_a_pass_that_was_never_sighted_is_not_remembered(world: World) -> None:
    seen = seen_as("AB1")
    await _handle(world, _candidate(_FINAL, seen, specific(1, cooldown_minutes=0)))
    assert (len(world.triggers), world.table) == (1, {})


async def test_one_batch_does_as_many_do(world: World) -> None:
    one_by_one = World()
    steps = [_early(), _final("AB2"), _settling()]
    told = await _handle(one_by_one, *steps)
    await world.cooldowns.handle([Arrival(3, each) for each in steps])
    assert world.triggers == told
    assert world.table == one_by_one.table
