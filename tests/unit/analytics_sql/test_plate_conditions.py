"""The parameters of the list query for each match mode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics_sql.plate_search import like_pattern, parts_for_edits, plate_question
from common.plates.matching import MatchMode


@pytest.mark.parametrize(
    ("match", "pattern"),
    [
        (MatchMode.EXACT, "A\\_1*?"),
        (MatchMode.PREFIX, "A\\_1*?%"),
        (MatchMode.SUBSTRING, "%A\\_1*?%"),
        (MatchMode.WILDCARD, "A\\_1%_"),
    ],
)
def test_pattern_of_each_mode(match: MatchMode, pattern: str) -> None:
    assert like_pattern("a_1**?", match).replace("**", "*") == pattern


@pytest.mark.parametrize("match", MatchMode)
@pytest.mark.parametrize("plate", [None, "", " - "])
def test_blank_is_no_condition(match: MatchMode, plate: str | None) -> None:
    asked = plate_question(plate, match)

    assert not asked.parameters


def test_fuzzy_asks_for_the_folded_text() -> None:
    asked = plate_question("ob-12 s", MatchMode.FUZZY)

    assert "plate_pattern" not in asked.parameters
    assert asked.parameters["folded_plate"] == "08125"
    assert asked.parameters["folded_parts"] == ["08", "125"]


@given(st.text(max_size=20), st.integers(0, 3))
def test_parts_are_the_whole_text_and_one_more_than_edits(text: str, edits: int) -> None:
    parts = parts_for_edits(text, edits)

    if len(text) <= edits:
        assert parts == []
    else:
        assert "".join(parts) == text
        assert len(parts) == edits + 1
        assert all(parts)


@pytest.mark.parametrize(
    ("plate", "pattern"),
    [
        (None, ""),
        ("", ""),
        (" - ", ""),
        ("ab 1", "%AB1%"),
        ("100%", "%100\\%%"),
        ("a\\b", "%A\\\\B%"),
    ],
)
def test_like_pattern(plate: str | None, pattern: str) -> None:
    assert like_pattern(plate) == pattern


@given(st.text(max_size=20))
def test_special_characters_never_stand_alone(plate: str) -> None:
    inner = like_pattern(plate)[1:-1]

    assert "%" not in inner.replace("\\\\", "").replace("\\%", "")
    assert "_" not in inner.replace("\\\\", "").replace("\\_", "")


@pytest.mark.parametrize(
    ("plate", "match", "pieces"),
    [
        ("ABO", MatchMode.SUBSTRING, {"pieces": ["80"]}),
        ("AB", MatchMode.SUBSTRING, {"pieces": ["A8"]}),
        ("A", MatchMode.SUBSTRING, {"piece_starts": ["A"]}),
        ("AB12", MatchMode.EXACT, {}),
        ("AB12", MatchMode.PREFIX, {}),
        ("A?C*", MatchMode.WILDCARD, {"pieces": ["^A"]}),
        ("*A*", MatchMode.WILDCARD, {"piece_starts": ["A"]}),
        ("*AC", MatchMode.WILDCARD, {"pieces": ["C$"]}),
        ("XYZW", MatchMode.FUZZY, {"pieces": ["XY", "2W"]}),
        ("XYW", MatchMode.FUZZY, {"piece_starts": ["X", "Y"]}),
        ("X", MatchMode.FUZZY, {"piece_starts": ["^"]}),
    ],
)
def test_pieces_that_plates_hold(plate: str, match: MatchMode, pieces: dict[str, object]) -> None:
    assert plate_question(plate, match).pieces == pieces
