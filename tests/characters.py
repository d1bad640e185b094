"""Characters for tests of plate spelling."""

import sys
import unicodedata
from functools import cache

_LARGE_CATEGORIES = frozenset({"Cn", "Co", "Lo"})
"""Categories of 98 % of all code points: unassigned, private use, and letters without case."""


@cache
def varied_characters() -> tuple[str, ...]:
    """Return all characters of the small categories, and every 101st of the large categories."""
    return tuple(
        character
        for code, character in enumerate(map(chr, range(sys.maxunicode + 1)))
        if code < 0x3400
        or code % 101 == 0
        or unicodedata.category(character) not in _LARGE_CATEGORIES
    )
