"""Computes the edit distance of plates, with wildcards."""

ANY_TEXT = "*"
"""In a pattern: any number of characters."""

ANY_CHARACTER = "?"
"""In a pattern: exactly one character."""

_FEW = 2


def edit_distance(pattern: str, text: str, limit: int | None = None) -> int:
    """Return the minimum number of edits that make ``text`` match ``pattern``.

    An edit inserts, deletes or replaces one character (code point). In the pattern, ``*`` matches
    any characters at no cost, and ``?`` matches any one. A result above ``limit`` may be inexact.

    **Source:** V. I. Levenshtein, Binary codes capable of correcting deletions, insertions and
    reversals (1966); computed row by row after R. A. Wagner and M. J. Fischer (1974).
    """
    bound = len(pattern) + len(text) if limit is None else limit
    if ANY_TEXT not in pattern and ANY_CHARACTER not in pattern:
        pattern, text = _without_common_ends(pattern, text)
        if abs(len(pattern) - len(text)) > bound:
            return bound + 1
    row = list(range(len(text) + 1))
    for character in pattern:
        row = _star_row(row) if character == ANY_TEXT else _next_row(row, character, text)
        # No later row has a value below the minimum of this row.
        if min(row) > bound:
            return bound + 1
    return row[-1]


def matches_wildcards(pattern: str, text: str) -> bool:
    """Return whether ``pattern`` matches ``text`` without edits.

    Each piece between two ``*`` is matched at the first possible position, which misses no match
    and needs no backtracking. Therefore the time is at most proportional to the product of both
    lengths.
    """
    first, *inner = pattern.split(ANY_TEXT)
    if not inner:
        return len(text) == len(first) and _fits(first, text, 0)
    at, end = len(first), len(text) - len(inner[-1])
    if at > end or not _fits(first, text, 0) or not _fits(inner[-1], text, end):
        return False
    for piece in inner[:-1]:
        at = _place(piece, text, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _fits(piece: str, text: str, at: int) -> bool:
    if ANY_CHARACTER not in piece:
        return text.startswith(piece, at)
    for wanted, found in zip(piece, text[at : at + len(piece)], strict=True):
        if wanted not in (found, ANY_CHARACTER):
            return False
    return True


def _place(piece: str, text: str, start: int, end: int) -> int:
    """Return the first position from ``start`` at which a piece fits before ``end``, or -1."""
    if ANY_CHARACTER not in piece:
        return text.find(piece, start, end)
    places = range(start, end - len(piece) + 1)
    return next((at for at in places if _fits(piece, text, at)), -1)


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    """Return two texts (no wildcards) without common ends, which do not affect the distance."""
    if not one or not other:
        return one, other
    shortest = min(len(one), len(other))
    start = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    rest = shortest - start
    end = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    return one[start : len(one) - end], other[start : len(other) - end]


def within_edits(pattern: str, text: str, limit: int) -> bool:
    """Return whether at most ``limit`` edits make ``text`` match ``pattern``."""
    if limit > _FEW or ANY_TEXT in pattern or ANY_CHARACTER in pattern:
        return edit_distance(pattern, text, limit) <= limit
    return abs(len(pattern) - len(text)) <= limit and _few_edits(pattern, text) <= limit


def _few_edits(one: str, other: str) -> int:
    """Return the distance between two texts without wildcards, or 3 for any distance above 2.

    Without common ends, both texts begin and end with an edit. If these are the only edits, the
    text in between is equal. This check takes a tenth of the time of the full table.
    """
    shorter, longer = sorted(_without_common_ends(one, other), key=len)
    if len(longer) <= _FEW:
        return len(longer)
    inner = longer[1:-1]
    match len(longer) - len(shorter):
        case 0:
            alike = (
                shorter[1:-1] == inner or shorter[1:] == longer[:-1] or shorter[:-1] == longer[1:]
            )
        case 1:
            alike = inner in (shorter[1:], shorter[:-1])
        case _:
            alike = shorter == inner
    return _FEW if alike else _FEW + 1


def _star_row(above: list[int]) -> list[int]:
    row = above[:1]
    for cost in above[1:]:
        row.append(min(cost, row[-1]))
    return row


def _next_row(above: list[int], character: str, text: str) -> list[int]:
    row = [above[0] + 1]
    for place, found in enumerate(text):
        replaced = above[place] + (character not in (found, ANY_CHARACTER))
        row.append(min(replaced, above[place + 1] + 1, row[-1] + 1))
    return row
