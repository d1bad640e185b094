"""Characters for tests of plates' spelling."""

import sys
import unicodedata
from functools import cache

_LARGE_CATEGORIES = frozenset({"Cn", "Co", "Lo"})
"""Unassigned, private use, and letters without case: 98 % of all code points."""


@cache
def varied_characters() -> tuple[str, ...]:
    """Return each character that may be special, and every 101st of the large categories."""
    return tuple(
        character
        for code, character in enumerate(map(chr, range(sys.maxunicode + 1)))
        if code < 0x3400
        or code % 101 == 0
        or unicodedata.category(character) not in _LARGE_CATEGORIES
    )
