"""The alerts that a recognition matches: the index compared with checking each alert."""

from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from common.alerting.rule import Condition, Rule, Sighting, rule_of, sighting_of
from common.alerting.rule_index import RuleIndex
from common.records.alerts import AlertConfig, AlertSchedule, CameraScope, PlateMatchMode
from tests.records import CAMERAS, OWNER, alert, recognition

_OTHER_OWNER = UUID(int=5)
_characters = "AB08O1I"
_plates = st.text(_characters, min_size=1, max_size=7)
_entries = st.text(_characters + "*?", min_size=1, max_size=7)
_rules = st.builds(
    lambda **fields: rule_of(alert(**fields)),
    number=st.integers(1, 12),
    enabled=st.sampled_from([True, True, True, False]),
    owner_id=st.sampled_from([OWNER, OWNER, _OTHER_OWNER]),
    plate_match_mode=st.sampled_from(PlateMatchMode),
    plates=st.lists(_entries, max_size=4).map(tuple),
    match_tolerance=st.integers(0, 2),
    camera_scope=st.sampled_from(CameraScope),
    camera_ids=st.lists(st.sampled_from(CAMERAS[:3]), max_size=2).map(tuple),
    schedule_enabled=st.booleans(),
    schedule=st.sampled_from([AlertSchedule(), AlertSchedule(end_time="11:00")]),
    min_confidence=st.sampled_from([0.0, 0.5, 0.9]),
)
_plates_seen = st.builds(
    Sighting,
    owner_id=st.sampled_from([OWNER, _OTHER_OWNER]),
    camera_id=st.sampled_from(CAMERAS[:3]),
    plate=_plates,
    confidence=st.sampled_from([0.0, 0.5, 0.89, 0.9, 1.0]),
    captured_ms=st.integers(1_795_000_000_000, 1_795_100_000_000),
)


@given(st.lists(_rules, max_size=25), st.lists(_plates_seen, min_size=1, max_size=8))
def test_the_index_says_what_each_rule_says(rules: list[Rule], seen: list[Sighting]) -> None:
    index, latest = RuleIndex(), dict[UUID, Rule]()
    for number, rule in enumerate(rules):
        if number % 5 == 4:
            index.remove(rule.alert.alert_id)
            latest.pop(rule.alert.alert_id, None)
        else:
            index.put(rule)
            latest[rule.alert.alert_id] = rule
    assert len(index) == len(latest)
    for each in seen:
        expected = {
            rule
            for rule in latest.values()
            if rule.alert.owner_id == each.owner_id and not rule.failures(each)
        }
        assert set(index.matching(each)) == expected


def _seen(**changed: Any) -> Sighting:
    return sighting_of(msgspec.structs.replace(recognition(1), **changed))


def _failures(seen: Sighting, **fields: Any) -> tuple[Condition, ...]:
    return rule_of(alert(1, **fields)).failures(seen)


@pytest.mark.parametrize(
    ("mode", "plates", "is_match"),
    [
        ("any", (), True),
        ("any", ("ZZ",), True),
        ("specific", (), False),
        ("specific", ("ab-000 01",), True),
        ("specific", ("AB*",), True),
        ("specific", ("A800001",), False),
        ("allowlist", (), True),
        ("allowlist", ("ab-000 01",), False),
        ("allowlist", ("AB?00*",), False),
        ("allowlist", ("AB0000",), True),
    ],
)
def test_each_match_mode_matches_its_plates(
    mode: str, plates: tuple[str, ...], is_match: bool
) -> None:
    failures = _failures(_seen(), plate_match_mode=PlateMatchMode(mode), plates=plates)
    assert failures == (() if is_match else (Condition.PLATE,))


def test_an_allowlist_forgives_what_the_tolerance_does() -> None:
    known = {"plate_match_mode": PlateMatchMode.ALLOWLIST, "plates": ("AB0001",)}
    assert _failures(_seen(), **known) == ()
    assert _failures(_seen(), **known, match_tolerance=1) == (Condition.PLATE,)


def test_confidence_is_inclusive() -> None:
    assert _failures(_seen(confidence=0.8), min_confidence=0.8) == ()
    assert _failures(_seen(confidence=0.79), min_confidence=0.8) == (Condition.CONFIDENCE,)


def test_no_cameras_is_no_camera() -> None:
    failures = _failures(_seen(), camera_scope=CameraScope.SPECIFIC)
    assert failures == (Condition.CAMERA,)


def test_all_conditions_that_fail_are_reported() -> None:
    failures = _failures(
        _seen(confidence=0.1),
        enabled=False,
        plate_match_mode=PlateMatchMode.SPECIFIC,
        camera_scope=CameraScope.SPECIFIC,
        schedule_enabled=True,
        schedule=AlertSchedule(start_time="00:00", end_time="00:01"),
    )
    assert failures == tuple(Condition)


def test_an_entry_that_no_plate_can_be_disables_no_other() -> None:
    plates = ("--", "A" * 40, "AB/00001", "\u4eacA1", "AB00001")
    listed = alert(1, plate_match_mode=PlateMatchMode.SPECIFIC, plates=plates)
    with capture_logs() as logs:
        assert rule_of(listed).failures(_seen()) == ()

    assert [(line["event"], line["entries"]) for line in logs] == [("alert_plates_ignored", 4)]
    assert not any(plate in str(logs) for plate in plates)


@pytest.mark.parametrize("written", ["\u00e4b 00.001", "\u0410\u041200001", "A\u200bB-00001"])
@pytest.mark.parametrize("mode", [PlateMatchMode.SPECIFIC, PlateMatchMode.ALLOWLIST])
def test_entries_are_folded_to_what_readers_write(written: str, mode: PlateMatchMode) -> None:
    failures = rule_of(alert(1, plate_match_mode=mode, plates=(written,))).failures(_seen())

    assert (Condition.PLATE in failures) == (mode is PlateMatchMode.ALLOWLIST)


def test_a_replaced_rule_is_removed_completely() -> None:
    def listed(plate: str) -> AlertConfig:
        return alert(1, plate_match_mode=PlateMatchMode.SPECIFIC, plates=(plate,))

    index = RuleIndex()
    index.put(rule_of(listed("AB00001")))
    index.put(rule_of(listed("ZZ")))
    assert index.matching(_seen()) == []
    index.remove(alert(1).alert_id)
    index.remove(alert(1).alert_id)
    assert (len(index), index.matching(_seen(plate="ZZ"))) == (0, [])
