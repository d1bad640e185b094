"""Pieces of a pattern that a plate must hold: what wildcards are looked up by. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MOST = 3
_MOST_AT_ENDS = 5
_BEGIN, _END = "^", "$"
_LITERALS = re.compile(r"[^*?]+")


@dataclass(frozen=True)
class Shape:
    """What keys have in common: where in a plate they are from, and of how many characters.

    ``place`` is empty where that may be anywhere.
    """

    place: str
    size: int


def shapes_of(key: str) -> Iterator[Shape]:
    """Return the shapes that a key may have: a plate, too, may hold what marks its ends."""
    if key[0] in (_BEGIN, _END):
        yield Shape(key[0], len(key) - 1)
    if len(key) <= _MOST:
        yield Shape("", len(key))


def grams_of_plate(plate: str, shapes: Iterable[Shape]) -> set[str]:
    """Return every key of these shapes under which a pattern that the plate matches may lie."""
    grams, length = set(), len(plate)
    for shape in shapes:
        size = shape.size
        if shape.place == _BEGIN:
            grams.add(_BEGIN + plate[:size])
        elif shape.place == _END:
            grams.add(_END + plate[-size:])
        else:
            grams.update([plate[start : start + size] for start in range(length - size + 1)])
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
