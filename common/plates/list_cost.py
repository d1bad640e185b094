"""The cost of a list of plates: the processor time that the worst plate takes of its index. Pure.

Plates as they are cost nothing: they lie in a hash table. Others are compared with each plate that
has a key of theirs, so a list costs what is crowded under few keys.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from heapq import nlargest
from typing import Final

from common.plates.index import index_keys
from common.plates.matching import MatchMode, PlateMatcher, has_wildcard
from common.plates.normalise import MAX_PLATE_LENGTH

# Microseconds to compare a plate, on a processor of 2020.
_WILDCARD: Final = 1
_FORGIVING: Final = 5
_CELL: Final = 0.75
"""For a character of a pattern and one of the plate: such a comparison fills a table."""
_KEYS_MET: Final = 8
"""A plate has more keys, but those of one list are seldom crowded under more."""


def list_cost(matchers: Iterable[PlateMatcher]) -> int:
    """Return the cost of a list, in microseconds of a processor for the worst plate.

    Lists that are judged one by one may be added up: together they cost no more than that.
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
    """Return what it costs to compare a matcher with a plate that has a key of it."""
    if matcher.mode is MatchMode.WILDCARD:
        return _WILDCARD
    if has_wildcard(matcher.text):
        return round(_CELL * MAX_PLATE_LENGTH * len(matcher.text))
    return _FORGIVING


def _distinct(keys: Collection[str]) -> Collection[str]:
    return keys if len(keys) < 2 else set(keys)
