"""Matches plates with text that a person entered, for search and for alerts.

``analytics_sql`` has the same rules for ClickHouse. A property test checks that both agree.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from common.errors import InvalidInputError
from common.plates.edit_distance import ANY_CHARACTER, ANY_TEXT, matches_wildcards, within_edits
from common.plates.normalise import MAX_PLATE_LENGTH, normalise_plate, typed_plate

LOOK_ALIKES = "OQDILZSGB"
"""Characters that readers and people confuse with :data:`STAND_INS`, position by position."""

STAND_INS = "000112568"
"""The replacement for each of :data:`LOOK_ALIKES` when look-alikes count as equal."""

MAX_TOLERANCE = 2
"""Maximum of an alert's ``matchTolerance``."""

_FOLDING = str.maketrans(LOOK_ALIKES, STAND_INS)
_STARS = re.compile(r"\*+")


class MatchMode(StrEnum):
    """How to compare a plate with the search text. Both are normalised first."""

    EXACT = "exact"
    PREFIX = "prefix"
    SUBSTRING = "substring"
    WILDCARD = "wildcard"
    FUZZY = "fuzzy"


@dataclass(frozen=True)
class PlateMatcher:
    """Matches plates against ``text``. Created by :func:`plate_matcher`.

    ``tolerance`` is the number of edits that a fuzzy match allows. Look-alikes are not edits.
    """

    mode: MatchMode
    text: str
    tolerance: int = 0
    folded: str = field(init=False, repr=False, compare=False)
    """``text`` with look-alikes replaced."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", fold_look_alikes(self.text))

    def matches(self, plate: str) -> bool:
        """Return whether ``plate``, normalised, matches.

        The time is at most proportional to the product of both lengths, for any content.
        """
        match self.mode:
            case MatchMode.EXACT:
                return plate == self.text
            case MatchMode.PREFIX:
                return plate.startswith(self.text)
            case MatchMode.SUBSTRING:
                return self.text in plate
            case MatchMode.WILDCARD:
                return matches_wildcards(self.text, plate)
            case MatchMode.FUZZY:
                return within_edits(self.folded, fold_look_alikes(plate), self.tolerance)


def plate_matcher(text: str, mode: MatchMode, tolerance: int = 0) -> PlateMatcher:
    """Return the matcher for a text that a person entered.

    ``*`` and ``?`` are also wildcards in a fuzzy match.

    Raises:
        InvalidInputError: the normalised text is empty, or longer than any plate.
    """
    wanted = normalise_pattern(text)
    length = len(wanted.replace(ANY_TEXT, "")) if _has_wildcards(mode) else len(wanted)
    if not wanted:
        raise InvalidInputError("must contain a letter or digit", code="empty_plate")
    if length > MAX_PLATE_LENGTH:
        raise InvalidInputError(
            f"must not be longer than {MAX_PLATE_LENGTH} characters", code="plate_too_long"
        )
    return PlateMatcher(mode, wanted, tolerance)


def listed_plate(text: str, tolerance: int = 0) -> PlateMatcher:
    """Return the matcher for an entry of an alert's ``plates``.

    With tolerance 0, look-alikes are different characters. Tolerances 1 and 2 ignore look-alikes
    and allow 1 and 2 edits. ``*`` and ``?`` are wildcards with any tolerance.

    Raises:
        InvalidInputError: no plate can match the entry, or the tolerance is out of range.
    """
    typed_plate(text, wildcards=True)
    if not 0 <= tolerance <= MAX_TOLERANCE:
        raise InvalidInputError(f"must be 0 to {MAX_TOLERANCE}", code="tolerance_out_of_range")
    if tolerance:
        return plate_matcher(text, MatchMode.FUZZY, tolerance)
    return plate_matcher(text, MatchMode.WILDCARD if has_wildcard(text) else MatchMode.EXACT)


def has_wildcard(text: str) -> bool:
    """Return whether a text, as entered or normalised, contains a wildcard."""
    normalised = normalise_plate(text)
    return ANY_TEXT in normalised or ANY_CHARACTER in normalised


def fold_look_alikes(plate: str) -> str:
    """Return a normalised plate with look-alikes replaced. The length is unchanged."""
    return plate.translate(_FOLDING)


def normalise_pattern(text: str) -> str:
    """Return a text in the form used for matching: normalised, with runs of ``*`` collapsed."""
    return _STARS.sub(ANY_TEXT, normalise_plate(text))


def _has_wildcards(mode: MatchMode) -> bool:
    return mode in (MatchMode.WILDCARD, MatchMode.FUZZY)
