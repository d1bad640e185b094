"""Rendered plates: same seed and same pixels, texts of their layouts, and visible letters."""

import numpy as np
import pytest

from tools.synthetic.layouts import BY_CODE, LAYOUTS, Layout
from tools.synthetic.lettering import PIXELS_PER_MM
from tools.synthetic.plates import plate_with_text, random_plate

by_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.code)


@by_layout
def test_numbers_are_of_the_layouts_pattern(layout: Layout) -> None:
    rng = np.random.default_rng(5)

    texts = {random_plate(rng, layout).text for _ in range(20)}

    assert len(texts) > 15
    assert all(layout.matches(text) for text in texts)
    assert not any(set(text) & set("IOQ") for text in texts)


@by_layout
def test_same_seed_draws_the_same_plate(layout: Layout) -> None:
    first, second = (random_plate(np.random.default_rng(9), layout) for _ in range(2))

    assert first.text == second.text
    assert np.array_equal(first.image, second.image)


@by_layout
def test_plate_has_the_size_and_contrast_of_its_layout(layout: Layout) -> None:
    plate = random_plate(np.random.default_rng(2), layout)

    height, width = layout.height_mm * PIXELS_PER_MM, layout.width_mm * PIXELS_PER_MM
    assert plate.image.shape == (height, width, 3)
    assert plate.image.dtype == np.uint8
    assert plate.alpha.shape == plate.image.shape[:2]
    grey = plate.image.mean(axis=2)
    assert np.percentile(grey, 95) - np.percentile(grey, 5) > 60


@by_layout
def test_a_given_text_is_drawn(layout: Layout) -> None:
    text = random_plate(np.random.default_rng(1), layout).text

    assert plate_with_text(layout, text, np.random.default_rng(1)).text == text


def test_a_text_of_another_country_is_refused() -> None:
    with pytest.raises(ValueError, match="does not match layout de"):
        plate_with_text(BY_CODE["de"], "TR12345", np.random.default_rng(0))


def test_different_texts_give_different_images() -> None:
    first, second = (
        plate_with_text(BY_CODE["pl"], text, np.random.default_rng(0))
        for text in ("TR12345", "TR12346")
    )

    assert not np.array_equal(first.image, second.image)
