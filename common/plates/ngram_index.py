"""Finds pieces that a plate matching a wildcard must contain, used as index keys. No I/O."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MAX_CHARACTERS = 3
_MAX_CHARACTERS_AT_ENDS = 5
_BEGIN, _END = "^", "$"
_LITERALS = re.compile(r"[^*?]+")


@dataclass(frozen=True)
class GramKind:
    """The kind of a key: its position in a plate, and its number of characters.

    ``anchor`` is empty if the key can be at any position.
    """

    anchor: str
    size: int


def gram_kinds(key: str) -> Iterator[GramKind]:
    """Return the possible kinds of a key. Its first character may be an anchor or ordinary text."""
    if key[0] in (_BEGIN, _END):
        yield GramKind(key[0], len(key) - 1)
    if len(key) <= _MAX_CHARACTERS:
        yield GramKind("", len(key))


def plate_grams(plate: str, kinds: Iterable[GramKind]) -> set[str]:
    """Return all keys of these kinds under which a pattern matching the plate can be indexed."""
    grams, length = set(), len(plate)
    for shape in kinds:
        size = shape.size
        if shape.anchor == _BEGIN:
            grams.add(_BEGIN + plate[:size])
        elif shape.anchor == _END:
            grams.add(_END + plate[-size:])
        else:
            grams.update([plate[start : start + size] for start in range(length - size + 1)])
    return grams


def pattern_grams(pattern: str) -> list[str]:
    """Return keys of a pattern without edits. A matching plate contains all these keys.

    There are no keys if the pattern has no literals.
    """
    runs = list(_LITERALS.finditer(pattern))
    if not runs:
        return []
    keys = [run.group()[:_MAX_CHARACTERS] for run in runs]
    if runs[0].start() == 0:
        keys.append(_BEGIN + runs[0].group()[:_MAX_CHARACTERS_AT_ENDS])
    if runs[-1].end() == len(pattern):
        keys.append(_END + runs[-1].group()[-_MAX_CHARACTERS_AT_ENDS:])
    return keys


def edited_grams(pattern: str, edits: int) -> tuple[str, ...]:
    """Return keys such that any plate within ``edits`` of the pattern contains at least one key.

    One edit changes at most one of several separate pieces. There are no keys if the pattern has
    too few literals, so that any plate may match.
    """
    pieces = _pieces(_LITERALS.findall(pattern), edits + 1)
    return tuple(piece[:_MAX_CHARACTERS] for piece in pieces)


def _pieces(runs: list[str], count: int) -> list[str]:
    """Cut runs of literals into ``count`` long pieces, or return none if the runs are too short."""
    if sum(map(len, runs)) < count:
        return []
    pieces = list(runs)
    while len(pieces) < count:
        longest = max(pieces, key=len)
        pieces.remove(longest)
        middle = (len(longest) + 1) // 2
        pieces += [longest[:middle], longest[middle:]]
    return sorted(pieces, key=len, reverse=True)[:count]
