"""Computes the cost of a list of plates: CPU time for the most expensive plate. No I/O.

Exact plates cost nothing, because they are in a hash table. Any other entry is compared with each
plate that shares a key with it, so a list costs more if many of its entries share the same keys.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from heapq import nlargest
from typing import Final

from common.plates.index import index_keys
from common.plates.matching import MatchMode, PlateMatcher, has_wildcard
from common.plates.normalise import MAX_PLATE_LENGTH

# Time to compare one plate, in microseconds on a 2020 CPU.
_WILDCARD: Final = 1
_FORGIVING: Final = 5
_CELL: Final = 0.75
"""Microseconds per cell of the table that a comparison fills: pattern length by plate length."""
_KEYS_MET: Final = 8
"""Number of a plate's keys that are counted. A plate rarely shares more keys with a list."""


def list_cost(matchers: Iterable[PlateMatcher]) -> int:
    """Return the cost of a list, in microseconds of CPU time for the most expensive plate.

    The cost of several lists together is at most the sum of their costs.
    """
    crowds: Counter[str] = Counter()
    always = 0
    for matcher in dict.fromkeys(matchers):
        if matcher.mode is MatchMode.EXACT:
            continue
        cost, keys = _cost(matcher), index_keys(matcher)
        if not keys:
            always += cost
        for key in _distinct(keys):
            crowds[key] += cost
    return always + sum(nlargest(_KEYS_MET, crowds.values()))


def _cost(matcher: PlateMatcher) -> int:
    """Return the cost of comparing a matcher with a plate that shares a key with it."""
    if matcher.mode is MatchMode.WILDCARD:
        return _WILDCARD
    if has_wildcard(matcher.text):
        return round(_CELL * MAX_PLATE_LENGTH * len(matcher.text))
    return _FORGIVING


def _distinct(keys: Collection[str]) -> Collection[str]:
    return keys if len(keys) < 2 else set(keys)
