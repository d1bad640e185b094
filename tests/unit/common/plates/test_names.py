"""Names of plates in lists."""

from typing import Any

import pytest

from common.plates.names import names_of_entries, unlisted
from common.records.alerts import PlateMatchMode, by_reference, with_content
from tests.records import alert

NAMES = {"AB12 CDE": "Courier", "XY*": "Fleet", "XY?Z": "Chief"}


def _named(plate: str, **changed: Any) -> str | None:
    fields = {"plates": ("XY*", "AB12 CDE", "ZZ1", "XY?Z"), "plate_names": NAMES, **changed}
    return alert(1, **fields).plate_name(plate)


@pytest.mark.parametrize(
    ("plate", "name"),
    [
        ("AB12CDE", "Courier"),
        ("ab-12 cde", "Courier"),
        ("AB12CDF", None),
        ("ZZ1", None),
        # The first matching entry gives the name.
        ("XY5Z", "Fleet"),
        ("XY?Z", "Chief"),
        ("", None),
    ],
)
def test_a_plate_has_the_name_of_its_entry(plate: str, name: str | None) -> None:
    assert _named(plate) == name


def test_errors_of_reading_are_allowed_as_by_the_rule() -> None:
    assert _named("AB12CDF", match_tolerance=1) == "Courier"


def test_its_own_entry_comes_before_those_that_stand_for_it() -> None:
    plates, names = ("X*", "XY1"), {"X*": "Anybody", "XY1": "Chief"}

    assert _named("XY1", plates=plates, plate_names=names) == "Chief"


@pytest.mark.parametrize("mode", PlateMatchMode)
def test_it_is_known_whatever_triggers_the_alert(mode: PlateMatchMode) -> None:
    assert _named("AB12CDE", plate_match_mode=mode) == "Courier"


def test_an_entry_that_no_plate_can_match_is_passed_over() -> None:
    assert _named("AB1", plates=("", "-"), plate_names={"": "Nobody", "-": "Nobody"}) is None


def test_names_are_stored_by_entry_however_they_are_written() -> None:
    assert names_of_entries(["ab 12", "XY*"], {"AB-12": "Courier", "Q1": "gone"}) == {
        "ab 12": "Courier"
    }
    assert unlisted(["ab 12"], {"AB12": "Courier", "Q1": "gone"}) == ["Q1"]


def test_a_reference_leaves_them_out_and_its_content_brings_them() -> None:
    rule = alert(1, plates=("AB12CDE",), plate_names={"AB12CDE": "Courier"})

    assert by_reference(rule).plate_names == {}
    assert with_content(by_reference(rule), rule) == rule
