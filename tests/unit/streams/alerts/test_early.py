"""Alerts that fire before a vehicle is gone, and what becomes of that."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
import pytest

from contracts.alert_records import (
    AlertCandidate,
    AlertSighting,
    AlertTrigger,
    CandidateKind,
    SightingKind,
)
from contracts.alerts import AlertConfig, CooldownScope, PlateMatchMode
from contracts.early import EarlyAlerts, EarlyFiring, SightedPlate, TriggerPhase
from contracts.errors import InvalidInputError, TransientError
from contracts.ids import recognition_id, trigger_id
from contracts.recognitions import Recognition
from contracts.records import encode
from streams.alerts.matching import EARLY_WITHIN_MS, Published, Sighted, read_sighting
from streams.alerts.remembered import Arrival
from streams.alerts.rules import RuleKeeper
from tests.records import alert, recognition
from tests.unit.streams.alerts.world import START_MS, World

_TRACK = UUID(int=0x7AC)
_EARLY, _FINAL, _SETTLING = CandidateKind.EARLY, CandidateKind.FINAL, CandidateKind.SETTLING
_GONE_MS = 3_000


@pytest.fixture
def world() -> World:
    return World()


def _seen(
    plate: str, after_ms: int = 0, *, track: UUID = _TRACK, sighted: Sequence[str] = ()
) -> Recognition:
    captured_ms = START_MS + after_ms
    made = recognition(1, captured_ms=captured_ms)
    return msgspec.structs.replace(
        made,
        id=recognition_id(START_MS, made.camera_id, str(track)),
        plate=plate,
        sighted=tuple(
            SightedPlate(plate=each, confidence=0.9, captured_ms=START_MS) for each in sighted
        ),
    )


def _specific(number: int = 1, *plates: str, **changed: object) -> AlertConfig:
    fields: dict[str, object] = {"plate_match_mode": PlateMatchMode.SPECIFIC, "plates": plates}
    return alert(number, **(fields | changed))


def _candidate(
    kind: CandidateKind,
    seen: Recognition,
    rule: AlertConfig | None = None,
    came_out: Recognition | None = None,
    *,
    is_set_off: bool = False,
) -> AlertCandidate:
    return AlertCandidate(
        alert=rule or _specific(1, "AB*"),
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
    return _candidate(_EARLY, _seen(plate), rule)


def _final(plate: str = "AB1", rule: AlertConfig | None = None) -> AlertCandidate:
    return _candidate(_FINAL, _seen(plate, 800, sighted=["AB1"]), rule)


def _other(plate: str) -> Recognition:
    """Return the recognition that the vehicle is under another id."""
    return _seen(plate, 700, track=UUID(int=0x07))


def _settling(
    rule: AlertConfig | None = None,
    came_out: Recognition | None = None,
    *,
    is_set_off: bool = False,
) -> AlertCandidate:
    seen = _seen("ZZ9", 800, sighted=["AB1"])
    return _candidate(_SETTLING, seen, rule, came_out, is_set_off=is_set_off)


def _rules_of_all_cooldowns() -> list[AlertConfig]:
    return [
        _specific(1, "AB*", cooldown_minutes=0),
        *(_specific(1, "AB*", cooldown_scope=scope) for scope in CooldownScope),
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
@pytest.mark.parametrize("came_out", [None, _other("ZZ9")], ids=["nothing", "another"])
async def test_what_it_does_not_fire_for_withdraws_and_frees_the_cooldown(
    world: World, rule: AlertConfig, came_out: Recognition | None
) -> None:
    end = _settling(rule, came_out)
    first, second = await _handle(world, _early(rule=rule), end)
    assert (second.id, second.phase) == (first.id, TriggerPhase.WITHDRAWN)
    assert second.recognition == (came_out or end.recognition)
    another = _candidate(_FINAL, _seen("AB1", 60_000, track=UUID(int=2)), rule)
    (told,) = await _handle(world, another)
    assert told.phase is TriggerPhase.FINAL


@_ALL
@pytest.mark.parametrize(
    ("plate", "phase"), [("AB1", TriggerPhase.CONFIRMED), ("AB2", TriggerPhase.CORRECTED)]
)
async def test_a_pass_that_is_another_recognition_is_settled_by_that_one(
    world: World, rule: AlertConfig, plate: str, phase: TriggerPhase
) -> None:
    end = _settling(rule, _other(plate), is_set_off=True)
    first, second, again = await _handle(world, _early(rule=rule), end, end)
    assert (second.id, second.phase) == (first.id, phase)
    assert second.recognition == _other(plate)
    assert again == second


async def test_a_correction_moves_what_the_cooldown_of_a_plate_holds_back(world: World) -> None:
    rule = _specific(1, "AB*", cooldown_scope=CooldownScope.PLATE)
    await _handle(world, _early(rule=rule), _final("AB2", rule))

    async def fires(plate: str, number: int) -> bool:
        seen = _seen(plate, 60_000, track=UUID(int=number))
        return bool(await _handle(world, _candidate(_FINAL, seen, rule)))

    assert not await fires("AB2", 2)
    assert await fires("AB1", 3)


async def test_a_firing_that_is_settled_twice_over_stays_as_it_is(world: World) -> None:
    await _handle(world, _early(), _final())
    (again,) = await _handle(world, _settling())
    assert again.phase is TriggerPhase.CONFIRMED


async def test_an_early_firing_spends_the_cooldown(world: World) -> None:
    await _handle(world, _early())
    other = _candidate(_EARLY, _seen("AB3", 1000, track=UUID(int=2)))
    after = _candidate(_FINAL, _seen("AB3", 1000, track=UUID(int=2), sighted=["AB3"]))
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
    rule = _specific(1, "AB*", cooldown_scope=CooldownScope.PLATE)
    other = _seen("AB2", track=UUID(int=8))
    await _handle(world, _candidate(_FINAL, other, rule))

    assert await _handle(world, _final("AB2", rule), _early("AB1", rule)) == []


async def test_what_is_held_back_writes_nothing(world: World) -> None:
    rule = _specific(1, "AB*")
    await _handle(world, _candidate(_FINAL, _seen("AB1", track=UUID(int=8)), rule))
    world.failing.add("table")

    assert (
        await _handle(world, _candidate(_FINAL, _seen("AB1", 900, track=UUID(int=9)), rule)) == []
    )


async def test_what_was_held_back_early_has_nothing_to_withdraw(world: World) -> None:
    await _handle(world, _candidate(_FINAL, _seen("AB3", track=UUID(int=2))))
    held = [_early(), _settling(), _early(), _settling()]
    assert await _handle(world, *held) == []


async def test_a_withdrawal_that_overtakes_its_alert_keeps_it_from_firing(world: World) -> None:
    assert await _handle(world, _settling(), _early()) == []


async def test_a_second_plate_of_a_pass_fires_no_second_time(world: World) -> None:
    rule = _specific(1, "AB*", cooldown_minutes=0)
    assert len(await _handle(world, _early("AB1", rule), _early("AB2", rule))) == 1


async def test_a_pass_that_was_never_sighted_is_not_remembered(world: World) -> None:
    seen = _seen("AB1")
    await _handle(world, _candidate(_FINAL, seen, _specific(1, cooldown_minutes=0)))
    assert (len(world.triggers), world.table) == (1, {})


async def test_one_batch_does_as_many_do(world: World) -> None:
    one_by_one = World()
    steps = [_early(), _final("AB2"), _settling()]
    told = await _handle(one_by_one, *steps)
    await world.cooldowns.handle([Arrival(3, each) for each in steps])
    assert world.triggers == told
    assert world.table == one_by_one.table


# Matching


def _keeper(world: World, *rules: AlertConfig) -> RuleKeeper:
    keeper = RuleKeeper(world.metrics, clock=lambda: world.now_ms / 1000)
    keeper.post([(each.alert_id, each) for each in rules])
    return keeper


def _sighted(plate: str = "AB1", kind: SightingKind = SightingKind.AGREED) -> Sighted:
    return Sighted(AlertSighting(kind=kind, recognition=_seen(plate)), START_MS)


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
    keeper = _keeper(world, _specific(1, "AB1"), alert(2), allowlist, _specific(4, "ZZ9"))
    await world.matching(keeper, early).handle_sightings([_sighted()])
    assert _kinds(world) == [(alert(number).alert_id, _EARLY) for number in expected]


async def test_an_early_alert_that_comes_late_is_none(world: World) -> None:
    matching = world.matching(_keeper(world, _specific(1, "AB1")))
    world.now_ms += EARLY_WITHIN_MS
    await matching.handle_sightings([_sighted()])
    world.now_ms += 1
    await matching.handle_sightings([_sighted()])
    assert len(world.candidates) == 1


async def test_an_alert_that_was_made_after_does_not_fire_early(world: World) -> None:
    keeper = _keeper(world, _specific(1, "AB1", created_ms=START_MS + 1))
    await world.matching(keeper).handle_sightings([_sighted()])
    assert world.candidates == []


async def test_the_end_addresses_what_had_fired_early_and_what_fires_now(world: World) -> None:
    both, before, now = _specific(1, "AB1", "AB2"), _specific(2, "AB1"), _specific(3, "AB2")
    never = _specific(4, "AB1", min_confidence=0.95)
    matching = world.matching(_keeper(world, both, before, now, never))
    await matching.handle([Published(_seen("AB2", sighted=["AB1"]), START_MS)])
    assert _kinds(world) == [
        (both.alert_id, _FINAL),
        (now.alert_id, _FINAL),
        (before.alert_id, _SETTLING),
    ]
    assert not any(each.is_set_off for each in world.candidates)


@pytest.mark.parametrize(
    ("came_out", "is_set_off"),
    [(None, False), (_other("AB9"), False), (_other("AB1"), True), (_other("AB7"), True)],
    ids=["nothing", "another", "the same", "one for which it fires as well"],
)
async def test_a_pass_that_is_over_addresses_what_had_fired(
    world: World, came_out: Recognition | None, is_set_off: bool
) -> None:
    matching = world.matching(_keeper(world, _specific(1, "AB1", "AB7"), _specific(2, "AB2")))
    seen = _seen("AB1", sighted=["AB1"])
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
    rule = _specific(1, "AB1")
    keeper = _keeper(world, rule)
    after = {
        "deleted": None,
        "off": msgspec.structs.replace(rule, enabled=False),
        "changed": msgspec.structs.replace(rule, plates=("ZZ9",)),
    }
    keeper.post([(rule.alert_id, after[change])])
    matching, end = world.matching(keeper), Published(_seen("AB1", sighted=["AB1"]), START_MS)
    await matching.handle([end])
    assert [(each.alert, each.kind) for each in world.candidates] == [(rule, _SETTLING)]
    assert world.candidates[0].is_set_off
    world.now_ms += 121_000
    await matching.handle([end])
    assert len(world.candidates) == 1


async def test_a_rule_that_was_changed_over_and_over_settles_what_it_told(world: World) -> None:
    rule = _specific(1, "AB1")
    keeper = _keeper(world, rule)
    for plate in ("ZZ7", "ZZ8", "ZZ9"):
        keeper.post([(rule.alert_id, msgspec.structs.replace(rule, plates=(plate,)))])
    matching = world.matching(keeper)
    await matching.handle([Published(_seen("AB1", sighted=["AB1"]), START_MS)])
    (found,) = world.candidates
    assert (found.alert, found.kind, found.is_set_off) == (rule, _SETTLING, True)


async def test_no_more_former_rules_are_remembered_than_an_owner_may_have(world: World) -> None:
    rules = [_specific(number, "AB1") for number in range(300)]
    keeper = _keeper(world, *rules)
    keeper.post([(each.alert_id, None) for each in rules])
    matching = world.matching(keeper)
    await matching.handle([Published(_seen("AB1", sighted=["AB1"]), START_MS)])
    assert [each.alert for each in world.candidates] == rules[100:]


def test_a_sighting_of_another_time_is_refused() -> None:
    told = _sighted().told
    assert read_sighting(encode(told)) == told
    seen = msgspec.structs.replace(told.recognition, captured_ms=0)
    with pytest.raises(InvalidInputError):
        read_sighting(encode(msgspec.structs.replace(told, recognition=seen)))
