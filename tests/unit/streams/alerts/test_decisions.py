"""Alerts that trigger while a vehicle is in view, and the resolution of the triggers."""

from uuid import UUID

import pytest

from common.errors import TransientError
from common.records.alerts import (
    AlertCandidate,
    AlertConfig,
    AlertTrigger,
    CandidateKind,
    CooldownScope,
    EarlyTrigger,
    TriggerPhase,
)
from common.records.ids import trigger_id
from common.records.recognitions import Recognition
from streams.alerts.state import ArrivedCandidate
from tests.unit.streams.alerts.passes import other_than, seen_as, specific
from tests.unit.streams.alerts.world import START_MS, World

_EARLY, _FINAL, _RESOLVED = CandidateKind.EARLY, CandidateKind.FINAL, CandidateKind.RESOLVED
_GONE_MS = 3_000


@pytest.fixture
def world() -> World:
    return World()


def _candidate(
    kind: CandidateKind,
    seen: Recognition,
    rule: AlertConfig | None = None,
    final_recognition: Recognition | None = None,
    *,
    is_match: bool = False,
) -> AlertCandidate:
    return AlertCandidate(
        alert=rule or specific(1, "AB*"),
        recognition=seen,
        published_ms=START_MS,
        kind=kind,
        may_be_early=True,
        final_recognition=final_recognition,
        is_match=is_match,
    )


async def _handle(world: World, *candidates: AlertCandidate) -> list[AlertTrigger]:
    """Return the triggers for candidates. Each candidate is a separate batch."""
    before = len(world.triggers)
    for each in candidates:
        await world.cooldowns.handle([ArrivedCandidate(3, each)])
    return world.triggers[before:]


def _early(plate: str = "AB1", rule: AlertConfig | None = None) -> AlertCandidate:
    return _candidate(_EARLY, seen_as(plate), rule)


def _final(plate: str = "AB1", rule: AlertConfig | None = None) -> AlertCandidate:
    return _candidate(_FINAL, seen_as(plate, 800, provisional_plates=["AB1"]), rule)


def _resolved(
    rule: AlertConfig | None = None,
    final_recognition: Recognition | None = None,
    *,
    is_match: bool = False,
) -> AlertCandidate:
    seen = seen_as("ZZ9", 800, provisional_plates=["AB1"])
    return _candidate(_RESOLVED, seen, rule, final_recognition, is_match=is_match)


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
async def test_an_early_trigger_is_confirmed_under_the_same_id(
    world: World, rule: AlertConfig
) -> None:
    early, final = _early(rule=rule), _final(rule=rule)
    (first,) = await _handle(world, early)
    world.now_ms += _GONE_MS
    (second,) = await _handle(world, final)
    assert (first.phase, first.early, first.decided_ms) == (TriggerPhase.EARLY, None, START_MS)
    assert first.id == trigger_id(START_MS, rule.alert_id, early.recognition.id) == second.id
    assert (second.phase, second.recognition) == (TriggerPhase.CONFIRMED, final.recognition)
    assert second.early == EarlyTrigger(plate="AB1", captured_ms=START_MS, decided_ms=START_MS)
    assert (second.decided_ms, second.triggered_ms) == (START_MS + _GONE_MS, START_MS)


@_ALL
async def test_a_replay_publishes_the_same_triggers(world: World, rule: AlertConfig) -> None:
    steps = [_early(rule=rule), _final("AB2", rule)]
    triggers = await _handle(world, *steps)
    table = dict(world.table)
    world.now_ms += _GONE_MS
    # The replay contains the end, and then the provisional recognitions.
    assert await _handle(world, steps[1], steps[0]) == triggers[1:]
    assert world.table == table


@_ALL
async def test_an_early_trigger_that_could_not_be_published_is_published_on_retry(
    world: World, rule: AlertConfig
) -> None:
    world.failing.add("alerts")
    with pytest.raises(TransientError):
        await _handle(world, _early(rule=rule))
    world.failing.clear()
    world.now_ms += _GONE_MS
    triggers = await _handle(world, _early(rule=rule), _final(rule=rule))
    assert [each.phase for each in triggers] == [TriggerPhase.EARLY, TriggerPhase.CONFIRMED]
    assert triggers[0].decided_ms == START_MS


@_ALL
async def test_a_crash_between_both_writes_changes_nothing(world: World, rule: AlertConfig) -> None:
    steps = [_early(rule=rule), _final("AB2", rule)]
    undisturbed = World()
    triggers = await _handle(undisturbed, *steps)
    for step in steps:
        world.failing.add("passes")
        with pytest.raises(TransientError):
            await _handle(world, step)
        world.failing.clear()
        await _handle(world, step)
    assert world.triggers == triggers
    assert world.table == undisturbed.table


@_ALL
async def test_without_an_early_trigger_the_final_one_is_complete(
    world: World, rule: AlertConfig
) -> None:
    (final,) = await _handle(world, _final(rule=rule))
    assert (final.phase, final.early) == (TriggerPhase.FINAL, None)
    # The delayed provisional recognition arrives after the pass has triggered.
    assert await _handle(world, _early(rule=rule)) == []
    assert await _handle(world, _final(rule=rule)) == [final]


@_ALL
async def test_another_plate_that_matches_as_well_corrects_the_early_trigger(
    world: World, rule: AlertConfig
) -> None:
    first, second = await _handle(world, _early(rule=rule), _final("AB2", rule))
    assert (second.id, second.phase) == (first.id, TriggerPhase.CORRECTED)
    assert (second.recognition.plate, second.early and second.early.plate) == ("AB2", "AB1")


@_ALL
@pytest.mark.parametrize("final_recognition", [None, other_than("ZZ9")], ids=["nothing", "another"])
async def test_a_final_plate_that_does_not_match_withdraws_and_frees_the_cooldown(
    world: World, rule: AlertConfig, final_recognition: Recognition | None
) -> None:
    end = _resolved(rule, final_recognition)
    first, second = await _handle(world, _early(rule=rule), end)
    assert (second.id, second.phase) == (first.id, TriggerPhase.WITHDRAWN)
    assert second.recognition == (final_recognition or end.recognition)
    another = _candidate(_FINAL, seen_as("AB1", 60_000, track=UUID(int=2)), rule)
    (after,) = await _handle(world, another)
    assert after.phase is TriggerPhase.FINAL


@_ALL
@pytest.mark.parametrize(
    ("plate", "phase"), [("AB1", TriggerPhase.CONFIRMED), ("AB2", TriggerPhase.CORRECTED)]
)
async def test_a_pass_that_is_another_recognition_is_resolved_by_that_one(
    world: World, rule: AlertConfig, plate: str, phase: TriggerPhase
) -> None:
    end = _resolved(rule, other_than(plate), is_match=True)
    first, second, again = await _handle(world, _early(rule=rule), end, end)
    assert (second.id, second.phase) == (first.id, phase)
    assert second.recognition == other_than(plate)
    assert again == second


async def test_a_correction_moves_the_plate_that_the_cooldown_suppresses(world: World) -> None:
    rule = specific(1, "AB*", cooldown_scope=CooldownScope.PLATE)
    await _handle(world, _early(rule=rule), _final("AB2", rule))

    async def does_trigger(plate: str, number: int) -> bool:
        seen = seen_as(plate, 60_000, track=UUID(int=number))
        return bool(await _handle(world, _candidate(_FINAL, seen, rule)))

    assert not await does_trigger("AB2", 2)
    assert await does_trigger("AB1", 3)


async def test_a_trigger_that_is_resolved_twice_stays_as_it_is(world: World) -> None:
    await _handle(world, _early(), _final())
    (again,) = await _handle(world, _resolved())
    assert again.phase is TriggerPhase.CONFIRMED


async def test_an_early_trigger_starts_the_cooldown(world: World) -> None:
    await _handle(world, _early())
    other = _candidate(_EARLY, seen_as("AB3", 1000, track=UUID(int=2)))
    after = _candidate(_FINAL, seen_as("AB3", 1000, track=UUID(int=2), provisional_plates=["AB3"]))
    assert await _handle(world, other, after) == []
    assert world.outcomes("suppressed") == 2


@_ALL
async def test_the_beginning_and_end_of_a_pass_in_one_batch_both_trigger(
    world: World, rule: AlertConfig
) -> None:
    batch = [ArrivedCandidate(3, _early(rule=rule)), ArrivedCandidate(3, _final(rule=rule))]
    world.failing.add("alerts")
    with pytest.raises(TransientError):
        await world.cooldowns.handle(batch)
    world.failing.clear()

    await world.cooldowns.handle(batch)

    assert [each.phase for each in world.triggers] == [TriggerPhase.EARLY, TriggerPhase.CONFIRMED]


async def test_an_early_candidate_after_a_suppressed_end_does_not_trigger(world: World) -> None:
    rule = specific(1, "AB*", cooldown_scope=CooldownScope.PLATE)
    other = seen_as("AB2", track=UUID(int=8))
    await _handle(world, _candidate(_FINAL, other, rule))

    assert await _handle(world, _final("AB2", rule), _early("AB1", rule)) == []


async def test_a_candidate_suppressed_by_cooldown_writes_nothing(world: World) -> None:
    rule = specific(1, "AB*")
    await _handle(world, _candidate(_FINAL, seen_as("AB1", track=UUID(int=8)), rule))
    world.failing.add("table")

    assert (
        await _handle(world, _candidate(_FINAL, seen_as("AB1", 900, track=UUID(int=9)), rule)) == []
    )


async def test_an_early_candidate_that_was_suppressed_has_nothing_to_withdraw(world: World) -> None:
    await _handle(world, _candidate(_FINAL, seen_as("AB3", track=UUID(int=2))))
    held = [_early(), _resolved(), _early(), _resolved()]
    assert await _handle(world, *held) == []


async def test_a_withdrawal_that_overtakes_its_early_candidate_keeps_it_from_triggering(
    world: World,
) -> None:
    assert await _handle(world, _resolved(), _early()) == []


async def test_a_second_plate_of_a_pass_does_not_trigger_again(world: World) -> None:
    rule = specific(1, "AB*", cooldown_minutes=0)
    assert len(await _handle(world, _early("AB1", rule), _early("AB2", rule))) == 1


async def test_a_pass_without_a_provisional_recognition_is_not_remembered(world: World) -> None:
    seen = seen_as("AB1")
    await _handle(world, _candidate(_FINAL, seen, specific(1, cooldown_minutes=0)))
    assert (len(world.triggers), world.table) == (1, {})


async def test_one_batch_triggers_the_same_as_many(world: World) -> None:
    one_by_one = World()
    steps = [_early(), _final("AB2"), _resolved()]
    triggers = await _handle(one_by_one, *steps)
    await world.cooldowns.handle([ArrivedCandidate(3, each) for each in steps])
    assert world.triggers == triggers
    assert world.table == one_by_one.table
