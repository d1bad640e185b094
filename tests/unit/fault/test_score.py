"""Each report is correct, doubled or invented, and each pass without a report is missed."""

from tests.road import score_passes


def test_every_kind_of_report_is_distinguished() -> None:
    score = score_passes(["A1", "B2", "C3", "D4"], ["A1", "B2", "B2", "X9", "X9", "D4"])

    assert score.passes == 4
    assert score.right_once == ("A1", "D4")
    assert score.doubled == ("B2",)
    assert score.missed == ("C3",)
    assert score.invented == ("X9", "X9")
    assert score.right_share == 0.5


def test_an_empty_scene_with_no_report_is_right() -> None:
    score = score_passes([], [])

    assert score.right_share == 1.0
    assert score.invented == ()
    assert "0 of 0" in str(score)
