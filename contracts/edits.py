"""How far two plate texts are apart: the one edit distance of this service."""

ANY_TEXT = "*"
"""In a pattern: any characters, or none."""

ANY_CHARACTER = "?"
"""In a pattern: exactly one character."""


def edit_distance(pattern: str, text: str, most: int | None = None) -> int:
    """Return the fewest edits that make ``text`` one that ``pattern`` stands for.

    An edit inserts, drops or replaces one character (code point). In the pattern ``*`` stands for
    any characters at no cost, ``?`` for any one. Past ``most``, any number above it is returned.

    **Source:** V. I. Levenshtein, Binary codes capable of correcting deletions, insertions and
    reversals (1966); computed row by row after R. A. Wagner and M. J. Fischer (1974).
    """
    bound = len(pattern) + len(text) if most is None else most
    if ANY_TEXT not in pattern and abs(len(pattern) - len(text)) > bound:
        return bound + 1
    row = list(range(len(text) + 1))
    for character in pattern:
        row = _star_row(row) if character == ANY_TEXT else _next_row(row, character, text)
        # No later row falls below the least of this one.
        if min(row) > bound:
            return bound + 1
    return row[-1]


def within_edits(pattern: str, text: str, most: int) -> bool:
    """Tell whether at most ``most`` edits make ``text`` one that ``pattern`` stands for."""
    return edit_distance(pattern, text, most) <= most


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
