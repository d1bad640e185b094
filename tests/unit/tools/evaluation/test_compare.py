import numpy as np
import pytest

from tools.evaluation.compare import gain


def test_gain_is_the_difference_of_the_shares_in_points() -> None:
    all_ = np.array([2.0, 1.0, 1.0])
    found = gain(np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.0, 1.0]), all_)
    assert found.points == pytest.approx(50)
    assert 0 <= found.low <= found.points <= found.high <= 100


def test_the_interval_of_a_gain_everywhere_is_that_gain() -> None:
    found = gain(np.zeros(9), np.ones(9), np.ones(9))
    assert (found.points, found.low, found.high) == (100, 100, 100)
