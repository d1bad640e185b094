from hypothesis import given
from hypothesis import strategies as st

from streams.recognition.tracking.tracks import is_part, similarity

texts = st.text("AB12", max_size=6)


@given(texts, texts)
def test_similarity_is_a_share(one: str, other: str) -> None:
    assert 0 <= similarity(one, other) <= 1


def test_a_piece_is_part() -> None:
    assert is_part("123CD", "AB123CD")
    assert not is_part("AB124", "AB123CD")
