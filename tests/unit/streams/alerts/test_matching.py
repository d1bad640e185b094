"""Alerts that trigger while a vehicle is in view, and alerts that the end of its pass concerns."""

from uuid import UUID

import msgspec
import pytest

from common.errors import InvalidInputError
from common.records.alerts import (
    AlertConfig,
    CandidateKind,
    ProvisionalKind,
    ProvisionalRecognition,
    by_reference,
)
from common.records.codec import encode
from common.records.recognitions import Recognition
from streams.alerts.matching import (
    EARLY_WITHIN_MS,
    read_provisional,
)
from streams.alerts.rules import RuleStore
from tests.records import alert
from tests.unit.streams.alerts.passes import other_than, seen_as, specific
from tests.unit.streams.alerts.world import START_MS, World

_EARLY, _FINAL, _RESOLVED = CandidateKind.EARLY, CandidateKind.FINAL, CandidateKind.RESOLVED


@pytest.fixture
def world() -> World:
    return World()


def _rule_store(world: World, *rules: AlertConfig) -> RuleStore:
    rule_store = RuleStore(world.metrics, clock=lambda: world.now_ms / 1000)
    rule_store.apply([(each.alert_id, each) for each in rules])
    return rule_store


def _published_provisional(
    plate: str = "AB1", kind: ProvisionalKind = ProvisionalKind.AGREED
) -> tuple[ProvisionalRecognition, int]:
    return (ProvisionalRecognition(kind=kind, recognition=seen_as(plate)), START_MS)


def _kinds(world: World) -> list[tuple[UUID, CandidateKind]]:
    return [(each.alert.alert_id, each.kind) for each in world.candidates]


@pytest.mark.parametrize(("setting", "expected"), [(False, []), (True, [2])])
async def test_which_rules_may_trigger_early(
    world: World, setting: bool, expected: list[int]
) -> None:
    rule_store = _rule_store(world, specific(1, "AB1", early=False), alert(2, early=True))
    await world.matching(rule_store, early=setting).handle_provisional([_published_provisional()])
    assert _kinds(world) == [(alert(number).alert_id, _EARLY) for number in expected]


async def test_a_provisional_recognition_that_comes_late_is_no_early_candidate(
    world: World,
) -> None:
    matching = world.matching(_rule_store(world, specific(1, "AB1")))
    world.now_ms += EARLY_WITHIN_MS
    await matching.handle_provisional([_published_provisional()])
    world.now_ms += 1
    await matching.handle_provisional([_published_provisional()])
    assert len(world.candidates) == 1


async def test_an_alert_created_after_the_recognition_is_no_early_candidate(world: World) -> None:
    rule_store = _rule_store(world, specific(1, "AB1", created_ms=START_MS + 1))
    await world.matching(rule_store).handle_provisional([_published_provisional()])
    assert world.candidates == []


async def test_the_end_of_a_pass_concerns_rules_that_matched_early_and_that_match_now(
    world: World,
) -> None:
    both, before, now = specific(1, "AB1", "AB2"), specific(2, "AB1"), specific(3, "AB2")
    never = specific(4, "AB1", min_confidence=0.95)
    matching = world.matching(_rule_store(world, both, before, now, never))
    await matching.handle([(seen_as("AB2", provisional_plates=["AB1"]), START_MS)])
    assert _kinds(world) == [
        (both.alert_id, _FINAL),
        (now.alert_id, _FINAL),
        (before.alert_id, _RESOLVED),
    ]
    assert not any(each.is_match for each in world.candidates)


@pytest.mark.parametrize(
    ("final_recognition", "is_match"),
    [
        (None, False),
        (other_than("AB9"), False),
        (other_than("AB1"), True),
        (other_than("AB7"), True),
    ],
    ids=["nothing", "another", "the same", "one that matches as well"],
)
async def test_a_resolved_pass_concerns_the_rules_that_matched_early(
    world: World, final_recognition: Recognition | None, is_match: bool
) -> None:
    matching = world.matching(_rule_store(world, specific(1, "AB1", "AB7"), specific(2, "AB2")))
    seen = seen_as("AB1", provisional_plates=["AB1"])
    resolution = ProvisionalRecognition(
        kind=ProvisionalKind.RESOLVED, recognition=seen, final_recognition=final_recognition
    )
    world.now_ms += 24 * 3_600_000
    await matching.handle_provisional([(resolution, START_MS)])
    (found,) = world.candidates
    assert (found.alert.alert_id, found.kind) == (alert(1).alert_id, _RESOLVED)
    assert (found.final_recognition, found.is_match) == (final_recognition, is_match)


@pytest.mark.parametrize("change", ["deleted", "off", "changed"])
async def test_a_rule_changed_meanwhile_still_resolves_its_early_candidates(
    world: World, change: str
) -> None:
    rule = specific(1, "AB1")
    rule_store = _rule_store(world, rule)
    after = {
        "deleted": None,
        "off": msgspec.structs.replace(rule, enabled=False),
        "changed": msgspec.structs.replace(rule, plates=("ZZ9",)),
    }
    rule_store.apply([(rule.alert_id, after[change])])
    matching, end = (
        world.matching(rule_store),
        (seen_as("AB1", provisional_plates=["AB1"]), START_MS),
    )
    await matching.handle([end])
    assert [(each.alert, each.kind) for each in world.candidates] == [
        (by_reference(rule), _RESOLVED)
    ]
    assert world.candidates[0].is_match
    world.now_ms += 121_000
    await matching.handle([end])
    assert len(world.candidates) == 1


async def test_a_rule_changed_several_times_still_resolves_its_early_candidates(
    world: World,
) -> None:
    rule = specific(1, "AB1")
    rule_store = _rule_store(world, rule)
    for plate in ("ZZ7", "ZZ8", "ZZ9"):
        rule_store.apply([(rule.alert_id, msgspec.structs.replace(rule, plates=(plate,)))])
    matching = world.matching(rule_store)
    await matching.handle([(seen_as("AB1", provisional_plates=["AB1"]), START_MS)])
    (found,) = world.candidates
    assert (found.alert, found.kind, found.is_match) == (
        by_reference(rule),
        _RESOLVED,
        True,
    )


async def test_no_more_former_rules_are_remembered_than_an_owner_may_have(world: World) -> None:
    rules = [specific(number, "AB1") for number in range(300)]
    rule_store = _rule_store(world, *rules)
    rule_store.apply([(each.alert_id, None) for each in rules])
    matching = world.matching(rule_store)
    await matching.handle([(seen_as("AB1", provisional_plates=["AB1"]), START_MS)])
    assert [each.alert for each in world.candidates] == [by_reference(rule) for rule in rules[100:]]


def test_a_provisional_recognition_of_another_time_is_refused() -> None:
    provisional, _ = _published_provisional()
    assert read_provisional(encode(provisional)) == provisional
    seen = msgspec.structs.replace(provisional.recognition, captured_ms=0)
    with pytest.raises(InvalidInputError):
        read_provisional(encode(msgspec.structs.replace(provisional, recognition=seen)))
