"""Letters have distinct shapes in every typeface."""

import string
from itertools import combinations

import cv2
import numpy as np
import pytest

from tools.synthetic.lettering import Face, glyph_mask

CHARACTERS = string.ascii_uppercase + string.digits
# A country uses only one character of each pair, or the position decides (see layouts).
ALIKE = {frozenset("O0"), frozenset("I1"), frozenset("OQ"), frozenset("0Q")}


@pytest.mark.parametrize("face", Face)
def test_no_two_letters_look_the_same(face: Face) -> None:
    shapes = {
        character: np.asarray(cv2.resize(glyph_mask(face, character), (32, 48)))
        for character in CHARACTERS
    }

    for first, second in combinations(CHARACTERS, 2):
        if frozenset((first, second)) not in ALIKE:
            unlike = float(np.abs(shapes[first] - shapes[second]).mean())
            assert unlike > 0.03, (first, second)


@pytest.mark.parametrize("face", Face)
@pytest.mark.parametrize("character", CHARACTERS)
def test_a_letter_is_ink_on_paper(face: Face, character: str) -> None:
    mask = glyph_mask(face, character)

    assert mask.dtype == np.float32
    assert 0 <= mask.min() <= mask.max() <= 1.0
    assert 0.15 < float(mask.mean()) <= 1.0


def test_a_slashed_zero_differs_from_an_o_and_square_corners_from_round_ones() -> None:
    for face, character in ((Face.SLASHED_STROKE, "0"), (Face.BOX_STROKE, "O")):
        plain, other = glyph_mask(Face.EVEN_STROKE, character), glyph_mask(face, character)
        assert float(np.abs(plain - other).mean()) > 0.01
