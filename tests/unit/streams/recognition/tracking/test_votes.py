import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.records.recognitions import CharacterAlternative, alternatives_of
from streams.recognition.tracking.votes import (
    LengthVotes,
    add_reading,
    voted_options,
    voted_probabilities,
    voted_text,
)
from tests.unit.streams.recognition.builders import reading


def voted(*readings: tuple[str, float]) -> tuple[LengthVotes, ...]:
    votes: tuple[LengthVotes, ...] = ()
    for text, confidence in readings:
        votes = add_reading(votes, reading(text, confidence))
    return votes


def test_vote_is_by_character_over_readings_of_one_length() -> None:
    votes = voted(("AB123CD", 0.9), ("AB127CD", 0.6), ("AX123CD", 0.6), ("B123CD", 0.95))
    assert voted_text(votes) == "AB123CD"
    probabilities = voted_probabilities(votes, "AB123CD")
    weights = 0.9**3 + 2 * 0.6**3
    assert probabilities[0] == pytest.approx((0.9**4 + 2 * 0.6**4) / weights)
    assert probabilities[1] == pytest.approx((0.9**4 + 0.6**4) / weights, abs=0.01)


def test_length_with_most_weight_wins() -> None:
    assert voted_text(voted(("AB123CD", 0.99), ("B723CD", 0.8))) == "AB123CD"
    assert voted_text(voted(("AB123CD", 0.99), ("B723CD", 0.8), ("B723CD", 0.8))) == "B723CD"


@pytest.mark.parametrize("part", ["B123CD", "AB123C", "23CD"])
def test_a_surer_reading_of_a_part_does_not_outvote_the_whole(part: str) -> None:
    assert voted_text(voted((part, 0.97), *[("AB123CD", 0.5)] * 5)) == "AB123CD"


@pytest.mark.parametrize(
    ("longer", "shorter", "times"),
    [
        pytest.param("AB123CD", "AB123C", 3, id="something-was-added"),
        pytest.param("AB123CD", "AB723C", 2, id="no-part"),
        pytest.param("AB12", "B12", 2, id="short"),
    ],
)
def test_a_longer_text_that_is_read_seldom_loses(longer: str, shorter: str, times: int) -> None:
    assert voted_text(voted((longer, 0.8), *[(shorter, 0.8)] * times)) == shorter


def test_a_sure_reading_outweighs_unsure_ones() -> None:
    votes = voted(("AB723CD", 0.95), *[("AB123CD", 0.5)] * 3)
    assert voted_text(votes) == "AB723CD"
    assert min(voted_probabilities(votes, "AB723CD")) > 0.6


def test_a_reading_of_no_confidence_hardly_counts() -> None:
    assert voted_probabilities(voted(("AB123CD", 0.0)), "AB123CD") == (0.0,) * 7
    assert voted_text(voted(("AB123CD", 0.0), ("AB723CD", 0.5))) == "AB723CD"


@given(st.lists(st.tuples(st.sampled_from(["AB1", "AB2", "XB1", "AB"]), st.floats(0.1, 1.0))))
def test_votes_are_probabilities_of_a_text_that_can_be(
    said: list[tuple[str, float]],
) -> None:
    votes = voted(("AB1", 0.5), *said)
    winner = voted_text(votes)
    assert all(0 <= p <= 1 for p in voted_probabilities(votes, winner))
    assert len(voted_probabilities(votes, "AB1")) == 3


def test_what_other_readings_gave_are_the_alternatives() -> None:
    votes = voted(("AB123CD", 0.9), ("AB723CD", 0.6), ("XX", 0.9))
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
