"""Builds ClickHouse conditions for the plates that match a search text.

``common.plates.matching`` does the same in Python. A property test checks that both agree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from common.plates.edit_distance import ANY_CHARACTER, ANY_TEXT
from common.plates.matching import (
    LOOK_ALIKES,
    STAND_INS,
    MatchMode,
    fold_look_alikes,
    normalise_pattern,
)
from common.plates.normalise import normalise_plate

SEARCH_TOLERANCE = 1
"""Number of edits that a fuzzy search allows, in addition to look-alike characters.

For a plate of seven characters, one edit finds a few other plates, and two edits find thousands.
"""

BEGIN, END = "^", "$"
"""Marks for the start and end of a plate that is cut into pieces (table ``plate_pieces``)."""


@dataclass(frozen=True)
class PlateQuestion:
    """The query parameters that select the matching plates.

    ``parameters`` are conditions on a plate. ``pieces`` select rows of ``plate_pieces`` that
    contain all such plates, and are empty if the rows sorted by plate are sufficient.
    """

    parameters: Mapping[str, object]
    pieces: Mapping[str, object] = field(default_factory=dict)


def plate_question(plate: str | None, match: MatchMode) -> PlateQuestion:
    """Return the query parameters for ``plate``. None or blank text matches every plate."""
    wanted = normalise_plate(plate or "")
    if match is MatchMode.FUZZY and wanted:
        return _resembling(fold_look_alikes(wanted))
    pattern = like_pattern(plate, match)
    if not pattern:
        return PlateQuestion({})
    conditions = {"plate_pattern": pattern}
    if match in (MatchMode.EXACT, MatchMode.PREFIX):
        return PlateQuestion(conditions)
    folded = fold_look_alikes(wanted)
    if match is MatchMode.WILDCARD:
        # If the pattern begins or ends with literal text, matching plates have a piece with a mark.
        folded = f"{BEGIN}{fold_look_alikes(normalise_pattern(plate or ''))}{END}"
        return PlateQuestion(conditions, _pieces(_longest_literal(folded)))
    return PlateQuestion(conditions, _pieces(folded))


def _resembling(folded: str) -> PlateQuestion:
    conditions: dict[str, object] = {
        "folded_plate": folded,
        "max_edits": SEARCH_TOLERANCE,
        "look_alikes": LOOK_ALIKES,
        "stand_ins": STAND_INS,
    }
    parts = parts_for_edits(folded, SEARCH_TOLERANCE)
    if not parts:
        return PlateQuestion(conditions, _pieces(""))
    conditions["folded_parts"] = parts
    if all(len(part) > 1 for part in parts):
        return PlateQuestion(conditions, {"pieces": [part[:2] for part in parts]})
    # A piece starts at each character of a plate.
    return PlateQuestion(conditions, {"piece_starts": [part[0] for part in parts]})


def _pieces(literal: str) -> dict[str, object]:
    """Return the query parameters for plates with ``literal`` (folded; empty: all plates)."""
    # Use the middle pair, because many plates have the same beginning or end.
    pairs = [a + b for a, b in pairwise(literal)]
    if pairs:
        return {"pieces": [pairs[len(pairs) // 2]]}
    return {"piece_starts": [literal or BEGIN]}


def _longest_literal(pattern: str) -> str:
    """Return the longest run without wildcards in a pattern, or "" if there are only marks."""
    runs = pattern.replace(ANY_CHARACTER, ANY_TEXT).split(ANY_TEXT)
    return max((run for run in runs if run not in (BEGIN, END)), key=len, default="")


def like_pattern(plate: str | None, match: MatchMode = MatchMode.SUBSTRING) -> str:
    """Return the LIKE pattern of a non-fuzzy search for ``plate``. Stored plates are normalised.

    An empty pattern matches every plate. ``%``, ``_`` and ``\\`` are literal.
    """
    text = normalise_pattern(plate or "") if match is MatchMode.WILDCARD else plate or ""
    text = "".join(_literal(normalise_plate(text)))
    match match:
        case _ if not text:
            return ""
        case MatchMode.EXACT:
            return text
        case MatchMode.PREFIX:
            return f"{text}%"
        case MatchMode.WILDCARD:
            return text.replace(ANY_TEXT, "%").replace(ANY_CHARACTER, "_")
        case _:
            return f"%{text}%"


def _literal(text: str) -> Iterator[str]:
    return (f"\\{character}" if character in "\\%_" else character for character in text)


def parts_for_edits(text: str, edits: int) -> list[str]:
    """Cut ``text`` into parts, at least one of which is unchanged after ``edits`` edits.

    Any text that differs from ``text`` by at most ``edits`` edits therefore contains one of the
    parts. If ``text`` is too short to be cut, the result is empty.
    """
    if len(text) <= edits:
        return []
    count = edits + 1
    cuts = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in pairwise(cuts)]
