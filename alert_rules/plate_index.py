"""Lists of plates, asked all at once: whose list does this plate match?

What it costs grows with the length of the plate and with the matches, hardly with the lists:
exact plates lie in a hash table; plates with a tolerance lie there under each text that is left
when characters are dropped (two texts within k edits share one that k drops leave of each); and
wildcards lie under a piece that a plate must hold.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from alert_rules.grams import Shape, edited_grams, exact_grams, grams_of_plate, shapes_of
from contracts.matching import MatchMode, PlateMatcher, fold_look_alikes, has_wildcard

K = TypeVar("K", bound=Hashable)


class _Entry(Generic[K]):
    """One matcher with all whose list it is in."""

    __slots__ = ("keys", "matcher", "owners")

    def __init__(self, matcher: PlateMatcher) -> None:
        self.matcher = matcher
        self.keys: Collection[str] = ()
        self.owners: dict[K, int] = {}


class _Table(Generic[K]):
    """Matchers under texts that a plate gives rise to."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, list[_Entry[K]]] = defaultdict(list)
        # Nearly all keys that are asked for lie under nothing. A set tells so with one wait for
        # memory, where a dictionary that is two thirds full takes three or four.
        self._keys: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, key: str, entry: _Entry[K]) -> None:
        self._entries[key].append(entry)
        self._keys.add(key)

    def remove(self, key: str, entry: _Entry[K]) -> None:
        self._entries[key].remove(entry)
        if not self._entries[key]:
            del self._entries[key]
            self._keys.discard(key)

    def under(self, keys: set[str]) -> Iterator[_Entry[K]]:
        for key in self._keys & keys:
            yield from self._entries[key]


class _GramTable(_Table[K]):
    """Matchers under pieces that a plate must hold.

    It is asked only for pieces of the shapes that it has: each look into a large table is a wait
    for memory, and lists hold few shapes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shapes: Counter[Shape] = Counter()

    def add(self, key: str, entry: _Entry[K]) -> None:
        super().add(key, entry)
        self._shapes.update(shapes_of(key))

    def remove(self, key: str, entry: _Entry[K]) -> None:
        super().remove(key, entry)
        self._shapes.subtract(shapes_of(key))
        # Without those of which nothing is left.
        self._shapes = +self._shapes

    def holding(self, plate: str) -> Iterator[_Entry[K]]:
        return self.under(grams_of_plate(plate, self._shapes))


class PlateIndex(Generic[K]):
    """Lists of :func:`contracts.matching.listed_plate`, each under a key of the caller's.

    **Source:** dropping characters on both sides: W. Garbe's symmetric delete (SymSpell), after
    T. Bocek, E. Hunt and B. Stiller, Fast Similarity Search in Large Dictionaries (2007).
    """

    def __init__(self) -> None:
        self._entries: dict[PlateMatcher, _Entry[K]] = {}
        self._exact: dict[str, _Entry[K]] = {}
        self._dropped: _Table[K] = _Table()
        self._tolerances: defaultdict[int, int] = defaultdict(int)
        self._grams: _GramTable[K] = _GramTable()
        self._folded_grams: _GramTable[K] = _GramTable()
        self._anything: list[_Entry[K]] = []

    def add(self, key: K, matchers: Iterable[PlateMatcher]) -> None:
        """Add a list."""
        for matcher in matchers:
            entry = self._entries.get(matcher)
            if entry is None:
                entry = self._entries[matcher] = _Entry(matcher)
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
        # A candidate may lie under several keys of the plate.
        for entry in set(self._candidates(plate)):
            if not found.issuperset(entry.owners) and entry.matcher.matches(plate):
                found.update(entry.owners)
        return found

    def _candidates(self, plate: str) -> Iterator[_Entry[K]]:
        if self._tolerances:
            folded = fold_look_alikes(plate)
            yield from self._dropped.under(texts_left(folded, max(self._tolerances)))
        if self._grams:
            yield from self._grams.holding(plate)
        if self._folded_grams:
            yield from self._folded_grams.holding(fold_look_alikes(plate))
        yield from self._anything

    def _insert(self, entry: _Entry[K]) -> None:
        matcher = entry.matcher
        if matcher.mode is MatchMode.EXACT:
            self._exact[matcher.text] = entry
            return
        table = self._table_of(matcher)
        entry.keys = self._keys(matcher)
        for key in entry.keys:
            table.add(key, entry)
        if not entry.keys:
            self._anything.append(entry)
        if table is self._dropped:
            self._tolerances[matcher.tolerance] += 1

    def _delete(self, entry: _Entry[K]) -> None:
        matcher = entry.matcher
        if matcher.mode is MatchMode.EXACT:
            del self._exact[matcher.text]
            return
        table = self._table_of(matcher)
        for key in entry.keys:
            table.remove(key, entry)
        if not entry.keys:
            self._anything.remove(entry)
        if table is self._dropped:
            self._tolerances[matcher.tolerance] -= 1
            if not self._tolerances[matcher.tolerance]:
                del self._tolerances[matcher.tolerance]

    def _table_of(self, matcher: PlateMatcher) -> _Table[K]:
        if matcher.mode is MatchMode.WILDCARD:
            return self._grams
        return self._folded_grams if has_wildcard(matcher.text) else self._dropped

    def _keys(self, matcher: PlateMatcher) -> Collection[str]:
        """Return the keys under which a matcher is to lie; none: it is always asked."""
        if matcher.mode is MatchMode.WILDCARD:
            keys = exact_grams(matcher.text)
            # One is enough: the longest is the rarest.
            return sorted(keys, key=len)[-1:]
        if has_wildcard(matcher.text):
            return set(edited_grams(matcher.folded, matcher.tolerance))
        return texts_left(matcher.folded, matcher.tolerance)


def texts_left(text: str, drops: int) -> set[str]:
    """Return what is left of a text when up to ``drops`` of its characters are dropped."""
    left, newest = {text}, {text}
    for _ in range(drops):
        newest = {each[:at] + each[at + 1 :] for each in newest for at in range(len(each))}
        left |= newest
    return left
