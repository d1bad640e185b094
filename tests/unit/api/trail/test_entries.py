"""A plate taken out of what entries tell."""

from typing import Any

import pytest

from api.trail.entries import ERASED, without_plate

ID = "ab12cd00-0000-4000-8000-000000001125"


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("AB12CD", ERASED),
        ("ab-12 cd", ERASED),
        ("Ana's car, AB 12 CD", ERASED),
        ("*AB12CD?", ERASED),
        ("AB12CE", "AB12CE"),
        (ID, ID),
        (["XY99Z", "ab12cd"], ["XY99Z", ERASED]),
        (
            {"plates": {"after": ["AB12CD"]}, "early": True},
            {"plates": {"after": [ERASED]}, "early": True},
        ),
        (None, None),
        (0.5, 0.5),
    ],
)
def test_each_text_that_holds_the_plate_is_replaced(told: Any, left: Any) -> None:
    assert without_plate(told, "AB12CD") == left


def test_a_short_plate_is_not_found_in_words_nor_any_in_ids_and_times() -> None:
    assert without_plate(["Garage A1", "a 1"], "A1") == ["Garage A1", ERASED]
    times = ["2026-11-25T08:00:00.000Z", "2026-11-25T08:00:00+00:00", ID]
    assert without_plate(times, "1125") == times
