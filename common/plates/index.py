"""Indexes all plate lists, to find the lists that a plate matches.

The cost grows with the plate's length and the number of matches, but hardly with the number of
lists. Exact plates are in a hash table. Plates with a tolerance are indexed by pairs of pieces; any
plate within tolerance contains a pair. Wildcards are indexed by a piece of all matches.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from common.plates.matching import MatchMode, PlateMatcher, fold_look_alikes, has_wildcard
from common.plates.ngram_index import GramKind, edited_grams, gram_kinds, pattern_grams, plate_grams
from common.plates.partition_index import character_bits, plate_pairs, text_pairs

K = TypeVar("K", bound=Hashable)


class _MatcherEntry(Generic[K]):
    """A matcher, the index keys of the matcher, and the lists that contain it (``owners``)."""

    __slots__ = ("characters", "keys", "matcher", "owners")

    def __init__(self, matcher: PlateMatcher) -> None:
        self.matcher = matcher
        self.keys: Collection[str] = ()
        self.characters = 0
        self.owners: dict[K, int] = {}


class _MatcherTable(Generic[K]):
    """Matchers, indexed by a text that is derived from plates."""

    def __init__(self) -> None:
        # Most keys have one entry. A list for each key would take a third of the table.
        self._entries: dict[str, _MatcherEntry[K] | list[_MatcherEntry[K]]] = {}
        # Nearly all lookups find nothing. A set shows this with one memory access, while a
        # dictionary that is two thirds full needs three or four accesses.
        self._keys: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, key: str, entry: _MatcherEntry[K]) -> None:
        known = self._entries.get(key)
        if known is None:
            self._entries[key] = entry
            self._keys.add(key)
        elif isinstance(known, list):
            known.append(entry)
        else:
            self._entries[key] = [known, entry]

    def remove(self, key: str, entry: _MatcherEntry[K]) -> None:
        known = self._entries[key]
        if isinstance(known, list) and len(known) > 1:
            known.remove(entry)
            return
        del self._entries[key]
        self._keys.discard(key)

    def under(self, keys: set[str]) -> Iterator[_MatcherEntry[K]]:
        for key in self._keys & keys:
            known = self._entries[key]
            if isinstance(known, list):
                yield from known
            else:
                yield known


class _PairTable(_MatcherTable[K]):
    """Matchers that tolerate a number of edits, indexed by pairs of pieces.

    Lookups only use the pairs for lengths of text that the table contains.
    """

    def __init__(self, edits: int) -> None:
        super().__init__()
        self._edits = edits
        self._lengths: Counter[int] = Counter()

    def add_text(self, entry: _MatcherEntry[K]) -> None:
        text = entry.matcher.folded
        entry.characters = character_bits(text)
        self._lengths[len(text)] += 1
        # Two pairs of a repetitive text can have the same key.
        for key in set(text_pairs(text, self._edits)):
            self.add(key, entry)

    def remove_text(self, entry: _MatcherEntry[K]) -> None:
        text = entry.matcher.folded
        for key in set(text_pairs(text, self._edits)):
            self.remove(key, entry)
        self._lengths[len(text)] -= 1
        if not self._lengths[len(text)]:
            del self._lengths[len(text)]

    def near(self, plate: str) -> Iterator[_MatcherEntry[K]]:
        # Nine in ten texts that share a pair differ in more characters than the tolerance allows.
        # Comparing texts takes ten times as long as this check.
        limit, found = self._edits, character_bits(plate)
        for entry in self.under(set(plate_pairs(plate, limit, self._lengths))):
            wanted = entry.characters
            if (wanted & ~found).bit_count() <= limit and (found & ~wanted).bit_count() <= limit:
                yield entry


class _GramTable(_MatcherTable[K]):
    """Matchers, indexed by pieces that a plate must contain.

    Lookups only use the kinds of pieces that are in the table, because each access to a large table
    waits for memory, and lists contain few kinds of pieces.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: Counter[GramKind] = Counter()

    def add(self, key: str, entry: _MatcherEntry[K]) -> None:
        super().add(key, entry)
        self._kinds.update(gram_kinds(key))

    def remove(self, key: str, entry: _MatcherEntry[K]) -> None:
        super().remove(key, entry)
        self._kinds.subtract(gram_kinds(key))
        # Drop counts of zero.
        self._kinds = +self._kinds

    def holding(self, plate: str) -> Iterator[_MatcherEntry[K]]:
        return self.under(plate_grams(plate, self._kinds))


class PlateIndex(Generic[K]):
    """Lists of :func:`common.plates.matching.listed_plate` results, each under a caller's key."""

    def __init__(self) -> None:
        self._entries: dict[PlateMatcher, _MatcherEntry[K]] = {}
        self._exact: dict[str, _MatcherEntry[K]] = {}
        self._forgiving: dict[int, _PairTable[K]] = {}
        self._grams: _GramTable[K] = _GramTable()
        self._folded_grams: _GramTable[K] = _GramTable()
        self._anything: list[_MatcherEntry[K]] = []

    def add(self, key: K, matchers: Iterable[PlateMatcher]) -> None:
        """Add a list."""
        for matcher in matchers:
            entry = self._entries.get(matcher)
            if entry is None:
                entry = self._entries[matcher] = _MatcherEntry(matcher)
                self._insert(entry)
            entry.owners[key] = entry.owners.get(key, 0) + 1

    def remove(self, key: K, matchers: Iterable[PlateMatcher]) -> None:
        """Remove a list that was added with the same matchers."""
        for matcher in matchers:
            entry = self._entries[matcher]
            entry.owners[key] -= 1
            if not entry.owners[key]:
                del entry.owners[key]
            if not entry.owners:
                del self._entries[matcher]
                self._delete(entry)

    def find(self, plate: str) -> set[K]:
        """Return the keys of all lists that a normalised plate matches."""
        found: set[K] = set()
        exact = self._exact.get(plate)
        if exact is not None:
            found.update(exact.owners)
        # A candidate can be indexed under several keys of the plate.
        for entry in set(self._candidates(plate)):
            if not found.issuperset(entry.owners) and entry.matcher.matches(plate):
                found.update(entry.owners)
        return found

    def _candidates(self, plate: str) -> Iterator[_MatcherEntry[K]]:
        if self._grams:
            yield from self._grams.holding(plate)
        if self._folded_grams or self._forgiving:
            folded = fold_look_alikes(plate)
            yield from self._folded_grams.holding(folded)
            for table in self._forgiving.values():
                yield from table.near(folded)
        yield from self._anything

    def _insert(self, entry: _MatcherEntry[K]) -> None:
        matcher = entry.matcher
        if matcher.mode is MatchMode.EXACT:
            self._exact[matcher.text] = entry
        elif _is_forgiving(matcher):
            edits = matcher.tolerance
            self._forgiving.setdefault(edits, _PairTable(edits)).add_text(entry)
        else:
            self._insert_wildcard(entry)

    def _delete(self, entry: _MatcherEntry[K]) -> None:
        matcher = entry.matcher
        if matcher.mode is MatchMode.EXACT:
            del self._exact[matcher.text]
        elif _is_forgiving(matcher):
            table = self._forgiving[matcher.tolerance]
            table.remove_text(entry)
            if not table:
                del self._forgiving[matcher.tolerance]
        else:
            self._delete_wildcard(entry)

    def _insert_wildcard(self, entry: _MatcherEntry[K]) -> None:
        entry.keys = _wildcard_keys(entry.matcher)
        for key in entry.keys:
            self._grams_of(entry.matcher).add(key, entry)
        if not entry.keys:
            self._anything.append(entry)

    def _delete_wildcard(self, entry: _MatcherEntry[K]) -> None:
        for key in entry.keys:
            self._grams_of(entry.matcher).remove(key, entry)
        if not entry.keys:
            self._anything.remove(entry)

    def _grams_of(self, matcher: PlateMatcher) -> _GramTable[K]:
        return self._grams if matcher.mode is MatchMode.WILDCARD else self._folded_grams


def index_keys(matcher: PlateMatcher) -> Collection[str]:
    """Return the index keys of an inexact matcher. Matchers without keys are always compared."""
    if _is_forgiving(matcher):
        return text_pairs(matcher.folded, matcher.tolerance)
    return _wildcard_keys(matcher)


def _is_forgiving(matcher: PlateMatcher) -> bool:
    return matcher.mode is MatchMode.FUZZY and not has_wildcard(matcher.text)


def _wildcard_keys(matcher: PlateMatcher) -> Collection[str]:
    """Return the index keys of a wildcard matcher. A matcher without keys is always compared."""
    if matcher.mode is MatchMode.WILDCARD:
        keys = pattern_grams(matcher.text)
        # One key is enough. The longest key is the rarest.
        return sorted(keys, key=len)[-1:]
    return set(edited_grams(matcher.folded, matcher.tolerance))
