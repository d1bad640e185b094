"""Votes on each character over the readings of one track. No I/O.

The votes are sums, so a track's state stays small however long the track lasts. Distant and blurred
readings outnumber close and sharp readings, so a reading is weighted by the third power of its
confidence: of 1,026 passes, 795 are right and 40 wrong, compared with 790 and 42 with equal
weights. The calibration error of recognitions is 3.3 %, compared with 9.5 % with equal weights.

A plate that is cut off at one end, by its box or by the image, is read with the same confidence as
a whole plate. So readings of a part also count for the whole text if its weight is high enough.
"""

import math
from collections.abc import Iterator, Sequence

import msgspec

from common.records.recognitions import CharacterOption, PlateReading

_MIN_PROBABILITY = 0.01
"""Lower bound for probabilities, so that one wrong reading cannot veto a character."""
_OTHER_CHARACTERS = 33
"""Number of characters of A-Z0-9 besides a reading's three most likely characters."""
_MAX_CANDIDATES = 6
_CONFIDENCE_POWER = 3
"""A reading with confidence 0.9 counts as much as six readings with confidence 0.5."""
_MIN_WHOLE_SHARE = 0.5
"""Minimum weight of a longer text relative to its part. If lower, its extra character is wrong."""
_MIN_PART_LENGTH = 4


class CandidateVotes(msgspec.Struct, frozen=True, array_like=True):
    """A character at a position, with the sums of its probabilities and their logarithms."""

    character: str
    log_sum: float
    probability_sum: float


class PositionVotes(msgspec.Struct, frozen=True, array_like=True):
    """The votes at one position. ``others_log_sum`` applies to each unlisted character."""

    others_log_sum: float
    candidates: tuple[CandidateVotes, ...]


class LengthVotes(msgspec.Struct, frozen=True, kw_only=True):
    """The votes of all readings of one length. ``weight`` is the sum of the readings' weights."""

    weight: float
    positions: tuple[PositionVotes, ...]


def add_reading(votes: tuple[LengthVotes, ...], reading: PlateReading) -> tuple[LengthVotes, ...]:
    """Return the votes with another reading."""
    length = len(reading.positions)
    same = next((v for v in votes if len(v.positions) == length), None) or LengthVotes(
        weight=0.0, positions=(PositionVotes(0.0, ()),) * length
    )
    weight = max(reading.confidence, _MIN_PROBABILITY) ** _CONFIDENCE_POWER
    more = LengthVotes(
        weight=same.weight + weight,
        positions=tuple(
            _add_options(position, options, weight)
            for position, options in zip(same.positions, reading.positions, strict=True)
        ),
    )
    return (*(v for v in votes if v is not same), more)


def voted_text(votes: tuple[LengthVotes, ...]) -> str:
    """Return the text of the length with the highest weight, voted per character.

    Texts that are the beginning or end of a longer text add their weight to the longer text.

    **Source:** Heskes 1997, "Selecting weighting factors in logarithmic opinion pools".
    """
    texts = [_text(one) for one in votes]

    def support(index: int) -> tuple[float, int]:
        text, own = texts[index], votes[index].weight
        parts = (
            other.weight
            for other, part in zip(votes, texts, strict=True)
            if _is_part(part, text) and own >= _MIN_WHOLE_SHARE * other.weight
        )
        return own + sum(parts), len(text)

    return texts[max(range(len(votes)), key=support)]


def voted_probabilities(votes: tuple[LengthVotes, ...], text: str) -> tuple[float, ...]:
    """Return the voted probability of each character of a text that was read at least once.

    The result is the weighted mean over the readings of that length. The readings of one track have
    the same errors, so their number alone must not increase the confidence.
    """
    same = next(v for v in votes if len(v.positions) == len(text))
    return tuple(
        _mean_probability(position, same.weight, character)
        for position, character in zip(same.positions, text, strict=True)
    )


def voted_options(
    votes: tuple[LengthVotes, ...], text: str
) -> Iterator[tuple[tuple[str, float], ...]]:
    """Yield, for each position, the characters read there and their probabilities."""
    same = next(v for v in votes if len(v.positions) == len(text))
    for position in same.positions:
        yield tuple(
            (c.character, min(1.0, c.probability_sum / same.weight)) for c in position.candidates
        )


def _text(votes: LengthVotes) -> str:
    return "".join(position.candidates[0].character for position in votes.positions)


def _is_part(part: str, text: str) -> bool:
    """Return whether ``part`` is ``text`` without its beginning or its end."""
    is_shorter = _MIN_PART_LENGTH <= len(part) < len(text)
    return is_shorter and (text.startswith(part) or text.endswith(part))


def _add_options(
    position: PositionVotes, options: Sequence[CharacterOption], weight: float
) -> PositionVotes:
    probabilities = {o.character: o.probability for o in options}
    rest = max(0.0, 1 - sum(probabilities.values())) / _OTHER_CHARACTERS
    known = tuple(c.character for c in position.candidates)
    new = tuple(character for character in probabilities if character not in known)
    candidates = [
        *position.candidates,
        *(CandidateVotes(character, position.others_log_sum, 0.0) for character in new),
    ]
    added = [_add(c, probabilities.get(c.character, rest), weight) for c in candidates]
    added.sort(key=lambda c: (-c.log_sum, c.character))
    others = position.others_log_sum + weight * _log(rest)
    return PositionVotes(others, tuple(added[:_MAX_CANDIDATES]))


def _add(candidate: CandidateVotes, probability: float, weight: float) -> CandidateVotes:
    return CandidateVotes(
        candidate.character,
        candidate.log_sum + weight * _log(probability),
        candidate.probability_sum + weight * probability,
    )


def _log(probability: float) -> float:
    return math.log(max(probability, _MIN_PROBABILITY))


def _mean_probability(position: PositionVotes, weight: float, character: str) -> float:
    found = (c.probability_sum for c in position.candidates if c.character == character)
    return min(1.0, next(found, 0.0) / weight)
