import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.plates.edit_distance import edit_distance

texts = st.text("AB12", max_size=6)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("", "", 0), ("AB", "", 2), ("AB123CD", "AB128CD", 1), ("AB123", "B123", 1), ("AB", "BA", 2)],
)
def test_edit_distance_counts_edits(one: str, other: str, expected: int) -> None:
    assert edit_distance(one, other) == expected


@given(texts, texts, texts)
def test_edit_distance_is_a_metric(one: str, two: str, three: str) -> None:
    assert edit_distance(one, two) == edit_distance(two, one)
    assert (edit_distance(one, two) == 0) == (one == two)
    assert edit_distance(one, three) <= edit_distance(one, two) + edit_distance(two, three)
