"""How ``recognitions_page.sql`` is asked for plates: contracts.matching, said to ClickHouse."""

from contracts.matching import (
    ANY_CHARACTER,
    ANY_TEXT,
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


def plate_parameters(plate: str | None, match: MatchMode) -> dict[str, object]:
    """Return the parameters that ask for ``plate``; None or blank: no such condition."""
    fuzzy = match is MatchMode.FUZZY
    folded = fold_look_alikes(normalise_plate(plate or "")) if fuzzy else ""
    return {
        "plate_pattern": "" if fuzzy else like_pattern(plate, match),
        "folded_plate": folded,
        "folded_parts": parts_for_edits(folded, SEARCH_TOLERANCE),
        "max_edits": SEARCH_TOLERANCE,
        "look_alikes": LOOK_ALIKES,
        "stand_ins": STAND_INS,
    }


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
