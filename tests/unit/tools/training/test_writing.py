import numpy as np
import pytest

from tools.training.writing import SCREEN_WIDTH, add_writing, screen


def photo() -> np.ndarray:
    return np.full((480, 640, 3), 120, np.uint8)


def test_writing_keeps_clear_of_plates() -> None:
    everywhere = (0.0, 0.0, 640.0, 480.0)
    assert (add_writing(photo(), (everywhere,), np.random.default_rng(1), 3) == 120).all()
    assert (add_writing(photo(), (), np.random.default_rng(1), 3) != 120).any()


def test_the_given_photo_is_not_changed() -> None:
    given = photo()
    add_writing(given, (), np.random.default_rng(0), 3)
    assert (given == 120).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_screen_has_writing_on_it_and_is_the_same_each_time(seed: int) -> None:
    drawn = screen(np.random.default_rng(seed))
    width = drawn.shape[1]
    assert width == SCREEN_WIDTH
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 20
    assert (drawn == screen(np.random.default_rng(seed))).all()
