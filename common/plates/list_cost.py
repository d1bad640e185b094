"""The cost of a list of plates: CPU time for the most expensive plate in its index. No I/O.

Exact plates cost nothing, because they are in a hash table. Other entries are compared with each
plate that shares a key with them, so the cost of a list depends on how many share the same keys.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from heapq import nlargest
from typing import Final

from common.plates.index import index_keys
from common.plates.matching import MatchMode, PlateMatcher, has_wildcard
from common.plates.normalise import MAX_PLATE_LENGTH

# Microseconds to compare a plate, on a CPU of 2020.
_WILDCARD: Final = 1
_FORGIVING: Final = 5
_CELL: Final = 0.75
"""Per character of the pattern and of the plate: the comparison fills a table."""
_KEYS_MET: Final = 8
"""A plate has more keys, but a list's entries are rarely concentrated under more."""


def list_cost(matchers: Iterable[PlateMatcher]) -> int:
    """Return the cost of a list, in microseconds of CPU time for the most expensive plate.

    The costs of separate lists can be added: together they cost at most the sum.
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
