"""The curve from a mean character probability to a confidence."""

import numpy as np
import pytest

from tools.training.calibration import fit_curve, fit_logistic


def test_the_fit_finds_how_often_readings_are_right() -> None:
    rng = np.random.default_rng(1)
    raw = rng.uniform(0.3, 0.999, 20_000)
    right = rng.random(raw.size) < raw**3
    curve = fit_curve(raw.tolist(), right.tolist())
    assert curve(0.9) == pytest.approx(0.9**3, abs=0.05)
    assert curve(0.6) == pytest.approx(0.6**3, abs=0.05)


def test_the_table_rises_and_stays_between_0_and_1() -> None:
    curve = fit_curve([0.2, 0.5, 0.8, 0.9, 0.99, 0.95], [False, False, True, False, True, True])
    table = curve.as_card()
    assert table["x"] == sorted(table["x"])
    assert table["y"] == sorted(table["y"])
    assert 0 <= table["y"][0] <= table["y"][-1] <= 1


def test_readings_that_are_all_right_do_not_give_certainty() -> None:
    curve = fit_curve([0.9, 0.95, 0.99], [True, True, True])
    assert 0.5 < curve(0.95) < 1.0


def test_a_row_that_counts_three_times_is_as_three_rows() -> None:
    features, right = np.array([[1.0, 0.2], [1.0, 0.8], [1.0, 0.6]]), [False, True, False]
    counts = np.array([1.0, 1.0, 3.0])
    thrice = fit_logistic(features, right, np.zeros(2), ridge=0.1, counts=counts)
    repeated = fit_logistic(
        features[[0, 1, 2, 2, 2]], [*right, False, False], np.zeros(2), ridge=0.1
    )
    assert thrice == pytest.approx(repeated)
