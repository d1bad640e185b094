"""The newest recognitions of all owners in the memory of this process, as they came.

Lives on one event loop: only that loop writes and reads it. No reader has a queue of its own: each
has a place in what is kept here, so a slow one costs nothing, and one that is too slow loses its
place and gets a reset.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from uuid import UUID

from analytics_sql.erasure import Erasures, Subject
from analytics_sql.recognitions import RecognitionRow

_REMEMBERED_IDS = 4
"""Ids are remembered for this many times as many records, to drop what a replay says again."""


@dataclass(frozen=True)
class LiveRecord:
    """A record of the recognitions topic; no recognition: it cannot be read."""

    partition: int
    offset: int
    recognition: RecognitionRow | None


@dataclass(frozen=True)
class Kept:
    """A recognition that is kept; ``sequence`` grows with each of this process."""

    sequence: int
    partition: int
    offset: int
    recognition: RecognitionRow


class RecentRecognitions:
    """At most ``capacity`` recognitions."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._sequence = 0
        self._kept: deque[Kept] = deque()
        self._of_owner: defaultdict[UUID, deque[Kept]] = defaultdict(deque)
        self._lost: dict[UUID, int] = {}
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._ids: dict[UUID, None] = {}
        self._by_id: dict[UUID, RecognitionRow] = {}
        self._waiters: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)
        self._generation = 0
        self._erasures: Erasures | None = None

    def reset(self, offsets: Mapping[int, int]) -> None:
        """Forget everything and go on at ``offsets``: all readers lose their place."""
        self._generation += 1
        self._kept.clear()
        self._of_owner.clear()
        self._by_id.clear()
        self._ids.clear()
        self._lost.clear()
        self._starts = dict(offsets)
        self._ends = dict(offsets)
        for events in self._waiters.values():
            for event in events:
                event.set()

    def post(self, arrivals: Iterable[LiveRecord]) -> None:
        """Add arrivals, those of one partition in the order of their offsets."""
        for arrival in arrivals:
            self._starts.setdefault(arrival.partition, arrival.offset)
            self._ends[arrival.partition] = arrival.offset + 1
            recognition = arrival.recognition
            if recognition is not None and self._is_wanted(recognition):
                self._keep(arrival, recognition)

    def apply_erasures(self, erasures: Erasures) -> int:
        """Forget what was erased, and keep none of it from now on; return how many were kept."""
        if erasures == self._erasures:
            return 0
        self._erasures = erasures
        before = len(self._kept)
        self._kept = self._not_erased(self._kept)
        self._by_id = {kept.recognition.id: kept.recognition for kept in self._kept}
        for owner_id, kept in list(self._of_owner.items()):
            self._of_owner[owner_id] = self._not_erased(kept)
            if not self._of_owner[owner_id]:
                del self._of_owner[owner_id]
        return before - len(self._kept)

    @property
    def knows_erasures(self) -> bool:
        """True once the erasures are known; before, nothing of this may be shown."""
        return self._erasures is not None

    def ends(self) -> dict[int, int]:
        """Return the next offset of each partition."""
        return dict(self._ends)

    def newest(self) -> int:
        """Return the sequence of the newest recognition."""
        return self._sequence

    def lost(self, owner_id: UUID) -> int:
        """Return the sequence up to which the owner's recognitions are not kept any more."""
        return self._lost.get(owner_id, 0)

    def since(self, owner_id: UUID, sequence: int) -> list[Kept]:
        """Return what is kept of the owner behind ``sequence``, the oldest first."""
        newest_first = reversed(self._of_owner.get(owner_id, ()))
        return list(takewhile(lambda kept: kept.sequence > sequence, newest_first))[::-1]

    def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        """Return one of the owner's recognitions, None where it is not kept or may not be shown."""
        found = self._by_id.get(recognition_id) if self.knows_erasures else None
        return found if found is not None and found.user_id == owner_id else None

    @contextmanager
    def waking(self, owner_id: UUID) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever something of the owner arrives."""
        event = asyncio.Event()
        self._waiters[owner_id].add(event)
        try:
            yield event
        finally:
            self._waiters[owner_id].discard(event)
            if not self._waiters[owner_id]:
                del self._waiters[owner_id]

    def holds(self, offsets: Mapping[int, int]) -> bool:
        """Tell whether everything from ``offsets`` on is kept."""
        return all(offsets.get(number, 0) >= start for number, start in self._starts.items())

    @property
    def generation(self) -> int:
        """Changes whenever all readers lose their place."""
        return self._generation

    def _is_wanted(self, recognition: RecognitionRow) -> bool:
        return recognition.id not in self._ids and not self._is_erased(recognition)

    def _is_erased(self, recognition: RecognitionRow) -> bool:
        return self._erasures is not None and self._erasures.covers(_subject(recognition))

    def _not_erased(self, kept: Iterable[Kept]) -> deque[Kept]:
        return deque(each for each in kept if not self._is_erased(each.recognition))

    def _keep(self, arrival: LiveRecord, recognition: RecognitionRow) -> None:
        self._sequence += 1
        kept = Kept(self._sequence, arrival.partition, arrival.offset, recognition)
        self._kept.append(kept)
        self._of_owner[recognition.user_id].append(kept)
        self._by_id[recognition.id] = recognition
        self._remember(recognition.id)
        while len(self._kept) > self._capacity:
            self._drop_oldest()
        for event in self._waiters.get(recognition.user_id, ()):
            event.set()

    def _remember(self, identifier: UUID) -> None:
        self._ids[identifier] = None
        while len(self._ids) > _REMEMBERED_IDS * self._capacity:
            del self._ids[next(iter(self._ids))]

    def _drop_oldest(self) -> None:
        oldest = self._kept.popleft()
        owner_id = oldest.recognition.user_id
        self._by_id.pop(oldest.recognition.id, None)
        self._of_owner[owner_id].popleft()
        if not self._of_owner[owner_id]:
            del self._of_owner[owner_id]
        self._lost[owner_id] = oldest.sequence
        self._starts[oldest.partition] = oldest.offset + 1


def _subject(recognition: RecognitionRow) -> Subject:
    plates = frozenset({recognition.plate})
    return Subject(recognition.user_id, recognition.captured_ms, plates)
