"""Two texts for the same plate are one text after normalising."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.plates.normalise import mask_plate, normalise_plate


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("LS15 EBC", "LS15EBC"),
        ("34a-368.37", "34A36837"),
        ("b·mw 12", "BMW12"),
        ("ＡＢ１", "AB1"),
        ("", ""),
        ("50%", "50%"),
        ("A_1", "A_1"),
    ],
)
def test_normalise_plate_drops_what_is_not_part_of_the_plate(text: str, normalised: str) -> None:
    assert normalise_plate(text) == normalised


@given(st.text())
def test_normalise_plate_is_idempotent(text: str) -> None:
    once = normalise_plate(text)

    assert normalise_plate(once) == once


@pytest.mark.parametrize(
    ("text", "masked"), [("LS15EBC", "L*****C"), ("A1", "**"), ("A", "*"), ("", "")]
)
def test_mask_plate_shows_at_most_the_ends(text: str, masked: str) -> None:
    assert mask_plate(text) == masked
