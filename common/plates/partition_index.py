"""Finds pairs of pieces that edits leave unchanged, used as index keys for tolerances. No I/O.

A text is cut into two more pieces than the number of tolerated edits. An edit changes at most one
piece, so a plate within tolerance contains two unchanged pieces, in order and near their positions:
the shifts before, between and after these pieces add up to at most the number of edits.

**Source:** pieces by the pigeonhole principle: G. Li, D. Deng, J. Wang and J. Feng, Pass-Join: A
Partition-based Method for Similarity Joins (2011), extended by one more unchanged piece.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

_POSITIONS_CACHED = 4_096
_CHARACTER_BITS = 60


@dataclass(frozen=True)
class _PairPosition:
    """The positions of the pieces of a pair. ``tag`` encodes the pair and the text's length."""

    tag: str
    first: slice
    second: slice

    def key(self, text: str) -> str:
        return self.tag + text[self.first] + text[self.second]


def text_pairs(text: str, edits: int) -> list[str]:
    """Return the keys of a text that tolerates ``edits`` edits: 3 keys for one edit, 6 for two."""
    return [place.key(text) for place in _pair_positions(len(text), 0, 0, edits)]


def plate_pairs(plate: str, edits: int, lengths: Iterable[int]) -> Iterator[str]:
    """Return all keys under which a similar text of one of these lengths can be indexed."""
    for length in lengths:
        longer_by = len(plate) - length
        if abs(longer_by) <= edits:
            for place in _pair_positions(length, longer_by, edits, edits):
                yield place.tag + plate[place.first] + plate[place.second]


def character_bits(text: str) -> int:
    """Return the set of a text's characters, as one bit per character. Some characters share a bit.

    An edit removes at most one character and adds at most one.
    """
    bits = 0
    for character in text:
        bits |= 1 << ord(character) % _CHARACTER_BITS
    return bits


@lru_cache(_POSITIONS_CACHED)
def _pair_positions(
    length: int, longer_by: int, moves: int, edits: int
) -> tuple[_PairPosition, ...]:
    """Return the positions of a text's pairs in another text, which is ``longer_by`` longer.

    Edits shift the pieces by at most ``moves`` characters in total.
    """
    pieces = _pieces(length, edits + 2)
    return tuple(
        place
        for number, (first, second) in enumerate(combinations(pieces, 2))
        for before, between in product(range(-moves, moves + 1), repeat=2)
        if abs(before) + abs(between) + abs(longer_by - before - between) <= moves
        if (place := _moved(chr(length) + chr(number), first, second, before, between))
        if place.second.stop <= length + longer_by
    )


def _moved(
    tag: str, first: slice, second: slice, before: int, between: int
) -> _PairPosition | None:
    """Return a shifted pair, or None if its pieces would overlap or begin too early."""
    start, moved = first.start + before, before + between
    if start < 0 or second.start + moved < first.stop + before:
        return None
    return _PairPosition(
        tag,
        slice(start, first.stop + before),
        slice(second.start + moved, second.stop + moved),
    )


def _pieces(length: int, count: int) -> list[slice]:
    """Return slices that divide a length as evenly as possible. A slice can be empty."""
    ends = [length * number // count for number in range(count + 1)]
    return [slice(*each) for each in zip(ends, ends[1:], strict=False)]
