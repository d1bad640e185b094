"""Conditions that ask ClickHouse for the plates that a text stands for.

``common.plates.matching`` says which these are; a property test holds both to one answer.
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
"""Edits that a fuzzy search forgives beside look-alikes.

Over seven characters one edit finds a few neighbours of a plate, two find some thousand.
"""

BEGIN, END = "^", "$"
"""Stand before and behind a plate where it is cut into pieces (table ``plate_pieces``)."""


@dataclass(frozen=True)
class PlateQuestion:
    """The parameters that ask for the plates that are wanted.

    ``parameters`` are conditions on a plate. ``pieces`` say where in ``plate_pieces`` all such
    plates are: empty where the rows sorted by plate tell it themselves.
    """

    parameters: Mapping[str, object]
    pieces: Mapping[str, object] = field(default_factory=dict)


def plate_question(plate: str | None, match: MatchMode) -> PlateQuestion:
    """Return how lists are asked for ``plate``; None or blank: for every one."""
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
        # What begins or ends with literal text holds that text's pieces with the mark beside it.
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
    # A piece begins with each character of a plate.
    return PlateQuestion(conditions, {"piece_starts": [part[0] for part in parts]})


def _pieces(literal: str) -> dict[str, object]:
    """Return where plates that hold ``literal`` (folded) are; all plates where it is empty."""
    # The middle: beginnings and ends are alike on many plates.
    pairs = [a + b for a, b in pairwise(literal)]
    if pairs:
        return {"pieces": [pairs[len(pairs) // 2]]}
    return {"piece_starts": [literal or BEGIN]}


def _longest_literal(pattern: str) -> str:
    """Return the longest run of a pattern that holds no wildcard; not a mark alone."""
    runs = pattern.replace(ANY_CHARACTER, ANY_TEXT).split(ANY_TEXT)
    return max((run for run in runs if run not in (BEGIN, END)), key=len, default="")


def like_pattern(plate: str | None, match: MatchMode = MatchMode.SUBSTRING) -> str:
    """Return the LIKE pattern for plates that ``plate`` stands for once both are normalised.

    Empty where every plate does. ``%``, ``_`` and ``\\`` stand for themselves. Not for fuzzy.
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
    """Cut ``text`` into parts of which ``edits`` edits can not touch all.

    What is within so many edits of ``text`` therefore holds one of them as it is. No parts where
    ``text`` is too short to be cut.
    """
    if len(text) <= edits:
        return []
    count = edits + 1
    cuts = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in pairwise(cuts)]
