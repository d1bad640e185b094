"""Pieces of a pattern that a plate must hold: what wildcards are looked up by. Pure."""

import re

_MOST = 3
_MOST_AT_ENDS = 5
_BEGIN, _END = "^", "$"
_LITERALS = re.compile(r"[^*?]+")


def grams_of_plate(plate: str) -> set[str]:
    """Return every key under which a pattern that the plate matches may lie."""
    length = len(plate)
    grams = {plate[start : start + size] for size in range(1, _MOST + 1) for start in range(length)}
    for size in range(1, min(_MOST_AT_ENDS, length) + 1):
        grams.add(_BEGIN + plate[:size])
        grams.add(_END + plate[-size:])
    return grams


def exact_grams(pattern: str) -> list[str]:
    """Return keys of a pattern without edits; a plate that it stands for holds every one of them.

    No keys: the pattern has no literals.
    """
    runs = list(_LITERALS.finditer(pattern))
    if not runs:
        return []
    keys = [run.group()[:_MOST] for run in runs]
    if runs[0].start() == 0:
        keys.append(_BEGIN + runs[0].group()[:_MOST_AT_ENDS])
    if runs[-1].end() == len(pattern):
        keys.append(_END + runs[-1].group()[-_MOST_AT_ENDS:])
    return keys


def edited_grams(pattern: str, edits: int) -> tuple[str, ...]:
    """Return keys of which a plate within so many edits of the pattern holds one at least.

    One edit touches one of several separate pieces at most. No keys: the pattern has too few
    literals, any plate may match.
    """
    pieces = _pieces(_LITERALS.findall(pattern), edits + 1)
    return tuple(piece[:_MOST] for piece in pieces)


def _pieces(runs: list[str], count: int) -> list[str]:
    """Cut runs of literals into ``count`` pieces, as long as can be; no pieces if too short."""
    if sum(map(len, runs)) < count:
        return []
    pieces = list(runs)
    while len(pieces) < count:
        longest = max(pieces, key=len)
        pieces.remove(longest)
        middle = (len(longest) + 1) // 2
        pieces += [longest[:middle], longest[middle:]]
    return sorted(pieces, key=len, reverse=True)[:count]
