"""Accessories on rendered American plates."""

import numpy as np

from tools.training.dressing import dressed
from tools.training.rendered import render_samples

FRONT = np.full((120, 240, 3), 230, np.uint8)


def test_a_dressed_plate_keeps_its_size_and_the_given_one() -> None:
    before = FRONT.copy()
    for seed in range(20):
        front = dressed(FRONT, 0.5, np.random.default_rng(seed))
        assert front.shape == FRONT.shape
        assert front.dtype == np.uint8
    assert (before == FRONT).all()


def test_plates_differ_and_a_seed_gives_the_same() -> None:
    first, again, other = (dressed(FRONT, None, np.random.default_rng(s)) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_most_of_the_number_stays_free() -> None:
    middle = (slice(45, 75), slice(60, 180))
    fronts = [dressed(FRONT, None, np.random.default_rng(s))[middle] for s in range(40)]
    assert np.mean([(front.max(axis=2) > 60).mean() for front in fronts]) > 0.95


def test_letters_are_stacked_only_where_the_number_leaves_room() -> None:
    tight, roomy = (
        [dressed(FRONT, None, np.random.default_rng(s), room) for s in range(40)]
        for room in (0.1, 0.25)
    )
    plain = [dressed(FRONT, None, np.random.default_rng(s)) for s in range(40)]
    assert all((a == b).all() for a, b in zip(tight, plain, strict=True))
    assert any((a != b).any() for a, b in zip(roomy, plain, strict=True))


def test_rendering_with_them_is_seeded() -> None:
    one, other = (render_samples(6, 10, 3) for _ in range(2))
    pairs = zip(one, other, strict=True)
    assert all(a.text == b.text and (a.image == b.image).all() for a, b in pairs)
