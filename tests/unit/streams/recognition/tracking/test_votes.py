import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.records.recognitions import CharacterAlternative, alternatives_of
from streams.recognition.tracking.votes import (
    add_reading,
    voted_options,
    voted_probabilities,
    voted_text,
)
from tests.unit.streams.recognition.builders import reading


def test_vote_is_by_character_over_readings_of_one_length() -> None:
    votes = add_reading((), reading("AB123CD", 0.9))
    votes = add_reading(votes, reading("AB127CD", 0.6))
    votes = add_reading(votes, reading("AX123CD", 0.6))
    votes = add_reading(votes, reading("B123CD", 0.95))
    assert voted_text(votes) == "AB123CD"
    probabilities = voted_probabilities(votes, "AB123CD")
    weights = 0.9**3 + 2 * 0.6**3
    assert probabilities[0] == pytest.approx((0.9**4 + 2 * 0.6**4) / weights)
    assert probabilities[1] == pytest.approx((0.9**4 + 0.6**4) / weights, abs=0.01)


def test_length_with_most_weight_wins() -> None:
    votes = add_reading((), reading("AB123CD", 0.99))
    votes = add_reading(votes, reading("B723CD", 0.8))
    assert voted_text(votes) == "AB123CD"
    votes = add_reading(votes, reading("B723CD", 0.8))
    assert voted_text(votes) == "B723CD"


@pytest.mark.parametrize("part", ["B123CD", "AB123C", "23CD"])
def test_a_surer_reading_of_a_part_does_not_outvote_the_whole(part: str) -> None:
    votes = add_reading((), reading(part, 0.97))
    for _ in range(5):
        votes = add_reading(votes, reading("AB123CD", 0.5))
    assert voted_text(votes) == "AB123CD"


@pytest.mark.parametrize(
    ("longer", "shorter", "times"),
    [
        pytest.param("AB123CD", "AB123C", 3, id="something-was-added"),
        pytest.param("AB123CD", "AB723C", 2, id="no-part"),
        pytest.param("AB12", "B12", 2, id="short"),
    ],
)
def test_a_longer_text_that_is_read_seldom_loses(longer: str, shorter: str, times: int) -> None:
    votes = add_reading((), reading(longer, 0.8))
    for _ in range(times):
        votes = add_reading(votes, reading(shorter, 0.8))
    assert voted_text(votes) == shorter


def test_a_sure_reading_outweighs_unsure_ones() -> None:
    votes = add_reading((), reading("AB723CD", 0.95))
    for _ in range(3):
        votes = add_reading(votes, reading("AB123CD", 0.5))
    assert voted_text(votes) == "AB723CD"
    assert min(voted_probabilities(votes, "AB723CD")) > 0.6


def test_a_reading_of_no_confidence_hardly_counts() -> None:
    votes = add_reading((), reading("AB123CD", 0.0))
    assert voted_probabilities(votes, "AB123CD") == (0.0,) * 7
    votes = add_reading(votes, reading("AB723CD", 0.5))
    assert voted_text(votes) == "AB723CD"


@given(st.lists(st.tuples(st.sampled_from(["AB1", "AB2", "XB1", "AB"]), st.floats(0.1, 1.0))))
def test_votes_are_probabilities_of_a_text_that_can_be(
    said: list[tuple[str, float]],
) -> None:
    votes = add_reading((), reading("AB1", 0.5))
    for text, confidence in said:
        votes = add_reading(votes, reading(text, confidence))
    winner = voted_text(votes)
    assert all(0 <= p <= 1 for p in voted_probabilities(votes, winner))
    assert len(voted_probabilities(votes, "AB1")) == 3


def test_what_other_readings_gave_are_the_alternatives() -> None:
    votes = add_reading((), reading("AB123CD", 0.9))
    votes = add_reading(votes, reading("AB723CD", 0.6))
    votes = add_reading(votes, reading("XX", 0.9))
    weights = 0.9**3 + 0.6**3

    found = alternatives_of("AB123CD", voted_options(votes, "AB123CD"))
    other = next(each for each in found if each.position == 2)

    assert other.character == "7"
    assert other.confidence == pytest.approx(0.6**4 / weights, abs=0.01)


def test_the_two_likeliest_of_a_position_are_given_from_two_per_cent_on() -> None:
    chances = [("A", 0.6), ("B", 0.02), ("C", 0.019), ("4", 0.2), ("8", 0.11111)]

    found = alternatives_of("AX", [chances, [("X", 0.99), ("Y", 0.01)]])

    assert found == (CharacterAlternative(0, "4", 0.2), CharacterAlternative(0, "8", 0.111))


def test_a_sure_plate_has_no_alternatives() -> None:
    assert alternatives_of("AB", [[("A", 1.0)], []]) == ()
