"""Training data for countries without photos."""

import numpy as np
import pytest

from tools.synthetic.lettering import Face
from tools.training.layouts import COUNTRIES, random_layout
from tools.training.rendered import render_samples

SLOTS = 10


@pytest.mark.parametrize("seed", range(40))
def test_a_random_layout_fits_its_plate_and_the_readers_slots(seed: int) -> None:
    layout = random_layout(np.random.default_rng(seed))
    letters = sum(len(group) for row in layout.rows for group in row)
    assert 2 <= letters <= SLOTS
    assert len(layout.rows) * layout.lettering.height_mm < layout.height_mm
    assert layout.background != layout.ink


def test_every_pattern_is_made_of_known_places() -> None:
    places = {place for c in COUNTRIES for pattern in c.patterns for place in pattern}
    assert places <= set("LBNCDX ")


def test_rendered_samples_have_their_texts_boxes_and_only_what_fits() -> None:
    rendered = render_samples(12, SLOTS, seed=1)
    assert rendered
    for sample in rendered:
        height, width = sample.image.shape[:2]
        assert 0 < sample.box[0] < sample.box[2] < width
        assert 0 < sample.box[1] < sample.box[3] < height
        assert 1 <= len(sample.text) <= SLOTS


def test_brazils_former_letters_are_drawn_with_all_that_look_like_others() -> None:
    layouts = [random_layout(np.random.default_rng(seed)) for seed in range(200)]
    boxed = [layout for layout in layouts if layout.lettering.face is Face.BOX_STROKE]
    assert boxed
    for layout in boxed:
        drawn = {kinds for row in layout.rows for group in row for kinds in group}
        assert {*"OQI0"} <= {*"".join(drawn)}
