"""How lists are asked for plates: contracts.matching, said to ClickHouse."""

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.edits import ANY_CHARACTER, ANY_TEXT
from contracts.matching import (
    LOOK_ALIKES,
    STAND_INS,
    MatchMode,
    fold_look_alikes,
    normalise_pattern,
)
from contracts.plates import normalise_plate

SEARCH_TOLERANCE = 1
"""Edits that a fuzzy search forgives beside look-alikes.

Over seven characters one edit finds a few neighbours of a plate, two find some thousand.
"""


@dataclass(frozen=True)
class PlateQuestion:
    """The parameters that ask for the plates that are wanted."""

    parameters: Mapping[str, object]
    is_rarely_met: bool = False
    """Whether few rows fulfil it, so that a scan is quicker than reading in order."""


def plate_question(plate: str | None, match: MatchMode) -> PlateQuestion:
    """Return how ``recognitions_page.sql`` is asked for ``plate``; None or blank: for every one."""
    wanted = normalise_plate(plate or "")
    if match is MatchMode.FUZZY and wanted:
        return _resembling(fold_look_alikes(wanted))
    pattern = like_pattern(plate, match)
    if not pattern:
        return PlateQuestion({})
    return PlateQuestion({"plate_pattern": pattern}, match is MatchMode.WILDCARD)


def _resembling(folded: str) -> PlateQuestion:
    parameters: dict[str, object] = {
        "folded_plate": folded,
        "max_edits": SEARCH_TOLERANCE,
        "look_alikes": LOOK_ALIKES,
        "stand_ins": STAND_INS,
    }
    if parts := parts_for_edits(folded, SEARCH_TOLERANCE):
        parameters["folded_parts"] = parts
    return PlateQuestion(parameters, is_rarely_met=True)


def like_pattern(plate: str | None, match: MatchMode = MatchMode.SUBSTRING) -> str:
    """Return the LIKE pattern for plates that ``plate`` stands for once both are normalised.

    Empty where every plate does. ``%``, ``_`` and ``\\`` stand for themselves. Not for fuzzy.
    """
    text = normalise_pattern(plate or "") if match is MatchMode.WILDCARD else plate or ""
    text = _literal(normalise_plate(text))
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


def _literal(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return text


def parts_for_edits(text: str, edits: int) -> list[str]:
    """Cut ``text`` into parts of which ``edits`` edits can not touch all.

    What is within so many edits of ``text`` therefore holds one of them as it is. No parts where
    ``text`` is too short to be cut.
    """
    if len(text) <= edits:
        return []
    count = edits + 1
    cuts = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
