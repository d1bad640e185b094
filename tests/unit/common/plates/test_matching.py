"""Plates that a search text matches."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInputError
from common.plates.edit_distance import edit_distance, within_edits
from common.plates.matching import (
    LOOK_ALIKES,
    STAND_INS,
    MatchMode,
    fold_look_alikes,
    listed_plate,
    plate_matcher,
)

_short = st.text("AB08", max_size=6)
_patterns = st.text("AB*?", max_size=7)


@pytest.mark.parametrize(
    ("mode", "text", "yes", "no"),
    [
        (MatchMode.EXACT, "ab-12 cd", ["AB12CD"], ["AB12CDE", "XAB12CD", "A812CD"]),
        (MatchMode.PREFIX, "ab 1", ["AB1", "AB12"], ["XAB1", "AB", "A81"]),
        (MatchMode.SUBSTRING, "b1", ["AB12", "B1"], ["A1B", ""]),
        (MatchMode.WILDCARD, "ab*", ["AB", "AB12"], ["XAB", "A812"]),
        (MatchMode.WILDCARD, "a?1*d", ["AB1D", "AB12CD"], ["A1D", "AB1", "AB12CDE"]),
        (MatchMode.WILDCARD, "***12***", ["12", "A12B"], ["1X2"]),
        (MatchMode.WILDCARD, "AB12", ["AB12"], ["AB123"]),
    ],
)
def test_each_mode_matches_its_plates(
    mode: MatchMode, text: str, yes: list[str], no: list[str]
) -> None:
    matcher = plate_matcher(text, mode)

    assert [plate for plate in yes + no if matcher.matches(plate)] == yes


@pytest.mark.parametrize(
    ("text", "tolerance", "yes", "no"),
    [
        ("ob-12s", 0, ["OB12S"], ["0B12S", "OB12", "OB12X"]),
        ("ob-12s", 1, ["OB12S", "0812S", "Q8I25", "OB12"], ["XX12S", "OB1", "BO12S"]),
        ("ob-12s", 1, ["OB12SX", "XB12S"], []),
        ("ob-12s", 2, ["XX12S", "OB1", "BO12S", "OB12SXX"], ["XXX2S", "OB", "OB12SXXX"]),
        ("ab1*", 0, ["AB1", "AB12CD"], ["A81", "AX1"]),
        ("ab1*", 1, ["A81", "AX1", "AB2CD", "B1"], ["CX2", "ZZ"]),
    ],
)
def test_a_listed_plate_matches_within_its_tolerance(
    text: str, tolerance: int, yes: list[str], no: list[str]
) -> None:
    matcher = listed_plate(text, tolerance)

    assert [plate for plate in yes + no if matcher.matches(plate)] == yes


@pytest.mark.parametrize("mode", MatchMode)
@pytest.mark.parametrize(
    ("text", "code"), [(" - .", "empty_plate"), ("A" * 17, "plate_too_long")], ids=str
)
def test_a_text_that_no_plate_can_be_is_refused(mode: MatchMode, text: str, code: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        plate_matcher(text, mode)

    assert caught.value.code == code


@pytest.mark.parametrize("tolerance", [-1, 3])
def test_a_tolerance_out_of_range_is_refused(tolerance: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        listed_plate("AB12", tolerance)

    assert caught.value.code == "tolerance_out_of_range"


def test_look_alikes_have_one_stand_in_each() -> None:
    assert len(LOOK_ALIKES) == len(STAND_INS) == len(set(LOOK_ALIKES))
    assert not set(LOOK_ALIKES) & set(STAND_INS)
    assert fold_look_alikes("O0QD-I1L-B8-S5-Z2-G6-A") == "0000-111-88-55-22-66-A"


@given(_short, _short, st.integers(0, 3))
def test_edits_are_those_of_the_definition(one: str, other: str, max_edits: int) -> None:
    assert within_edits(one, other, max_edits) == (_edits(one, other) <= max_edits)
    assert edit_distance(one, other) == _edits(one, other)


@cache
def _edits(one: str, other: str) -> int:
    """Return the edit distance by its definition; slow."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        _edits(one[1:], other[1:]) + (one[0] != other[0]),
        _edits(one[1:], other) + 1,
        _edits(one, other[1:]) + 1,
    )


@given(_patterns, st.text("AB0", max_size=9))
def test_wildcards_are_those_of_a_regular_expression(pattern: str, text: str) -> None:
    expression = pattern.replace("*", ".*").replace("?", ".")

    expected = bool(re.fullmatch(expression, text))
    assert within_edits(pattern, text, 0) == expected
    if pattern:
        assert plate_matcher(pattern, MatchMode.WILDCARD).matches(text) == expected


@given(_patterns, st.text("AB0", max_size=5), st.integers(0, 2))
def test_edits_of_a_pattern_are_those_of_its_nearest_text(
    pattern: str, text: str, max_edits: int
) -> None:
    assert within_edits(pattern, text, max_edits) == (_pattern_edits(pattern, text) <= max_edits)


@cache
def _pattern_edits(pattern: str, text: str) -> int:
    """Return the fewest edits from ``text`` to any plate that ``pattern`` matches; slow."""
    if not pattern:
        return len(text)
    if pattern[0] == "*":
        without = _pattern_edits(pattern[1:], text)
        return min(without, _pattern_edits(pattern, text[1:])) if text else without
    choices = [_pattern_edits(pattern[1:], text) + 1]
    if text:
        wrong = pattern[0] not in ("?", text[0])
        choices.append(_pattern_edits(pattern[1:], text[1:]) + wrong)
        choices.append(_pattern_edits(pattern, text[1:]) + 1)
    return min(choices)


def test_a_pattern_made_to_be_slow_is_not() -> None:
    matcher = plate_matcher("*A" * 15 + "*B", MatchMode.WILDCARD)

    # A backtracking matcher would try about 10^40 paths.
    assert not matcher.matches("A" * 10_000)
