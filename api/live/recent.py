"""The newest recognitions of all owners in the memory of this process, as they came.

Lives on one event loop: only that loop writes and reads it. No reader has a queue of its own: each
has a place in what is kept here, so a slow one costs nothing, and one that is too slow loses its
place and gets a reset.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from uuid import UUID

from analytics_sql.erasure import Erasures, Subject
from analytics_sql.recognitions import RecognitionRow
from common.errors import MisconfiguredError
from common.secrets import SecretBox

_REMEMBERED_IDS = 4
"""Ids are remembered for this many times as many records, to drop what a replay says again."""

_KIND = "recognition-stream"
_LAG_MS = 60_000
"""By more than this no process reads behind another; a place further ahead is of another topic."""


@dataclass(frozen=True)
class LiveRecord:
    """A record of the recognitions topic; no recognition: it cannot be read."""

    partition: int
    offset: int
    recognition: RecognitionRow | None


@dataclass(frozen=True)
class BufferedRecognition:
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
        self._recognitions: deque[BufferedRecognition] = deque()
        self._of_owner: defaultdict[UUID, deque[BufferedRecognition]] = defaultdict(deque)
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
        self._recognitions.clear()
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
                self._add(arrival, recognition)

    def apply_erasures(self, erasures: Erasures) -> int:
        """Forget what was erased, and keep none of it from now on; return how many were kept."""
        if erasures == self._erasures:
            return 0
        self._erasures = erasures
        before = len(self._recognitions)
        self._recognitions = self._not_erased(self._recognitions)
        self._by_id = {entry.recognition.id: entry.recognition for entry in self._recognitions}
        for owner_id, entry in list(self._of_owner.items()):
            self._of_owner[owner_id] = self._not_erased(entry)
            if not self._of_owner[owner_id]:
                del self._of_owner[owner_id]
        return before - len(self._recognitions)

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

    def since(self, owner_id: UUID, sequence: int) -> list[BufferedRecognition]:
        """Return what is kept of the owner behind ``sequence``, the oldest first."""
        newest_first = reversed(self._of_owner.get(owner_id, ()))
        return list(takewhile(lambda entry: entry.sequence > sequence, newest_first))[::-1]

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

    def _not_erased(self, entries: Iterable[BufferedRecognition]) -> deque[BufferedRecognition]:
        return deque(each for each in entries if not self._is_erased(each.recognition))

    def _add(self, arrival: LiveRecord, recognition: RecognitionRow) -> None:
        self._sequence += 1
        entry = BufferedRecognition(self._sequence, arrival.partition, arrival.offset, recognition)
        self._recognitions.append(entry)
        self._of_owner[recognition.user_id].append(entry)
        self._by_id[recognition.id] = recognition
        self._remember(recognition.id)
        while len(self._recognitions) > self._capacity:
            self._drop_oldest()
        for event in self._waiters.get(recognition.user_id, ()):
            event.set()

    def _remember(self, identifier: UUID) -> None:
        self._ids[identifier] = None
        while len(self._ids) > _REMEMBERED_IDS * self._capacity:
            del self._ids[next(iter(self._ids))]

    def _drop_oldest(self) -> None:
        oldest = self._recognitions.popleft()
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


@dataclass(frozen=True)
class StreamPosition:
    """Everything before ``offsets`` (partition to next offset) was seen at ``at_ms`` (Unix ms)."""

    offsets: Mapping[int, int]
    at_ms: int


class ResumeTokens:
    """Makes and opens event ids. Encrypted: offsets would tell how busy other accounts are."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box

    def seal(self, position: StreamPosition) -> str:
        """Return the id of an event after which a reader is at ``position``."""
        pairs = sorted(position.offsets.items())
        return self._box.encrypt(json.dumps([_KIND, position.at_ms, pairs]))

    def open(self, event_id: str) -> StreamPosition | None:
        """Return the position, None where this installation never gave such an id."""
        try:
            content = json.loads(self._box.decrypt(event_id))
        except (MisconfiguredError, ValueError):
            # The box calls any text that it did not make misconfigured.
            return None
        if not isinstance(content, list) or content[:1] != [_KIND]:
            return None
        _, at_ms, pairs = content
        return StreamPosition(dict(pairs), at_ms)


class CursorExpiredError(Exception):
    """Some of what came since the reader's place is not kept any more."""


@dataclass(frozen=True)
class Passed:
    """A recognition, and the offsets (by partition) behind which a reader then is."""

    recognition: RecognitionRow
    offsets: dict[int, int]


class StreamCursor:
    """Goes through an owner's recognitions, each once; ``is_idle`` once it has seen all."""

    def __init__(self, recent: RecentRecognitions, owner_id: UUID) -> None:
        """Begin behind everything that has come so far."""
        self._recent = recent
        self._owner_id = owner_id
        self.is_idle = True
        self.skip_to_now()

    def skip_to_now(self) -> None:
        """Leave out everything that has come so far."""
        self.is_idle = True
        self._sequence = self._recent.newest()
        self._generation = self._recent.generation
        self._offsets = self._recent.ends()

    def resume_from(self, position: StreamPosition, now_ms: int) -> None:
        """Go on behind ``position``.

        Raises:
            CursorExpiredError: not everything since then is kept.
        """
        ends = self._recent.ends()
        is_ahead = any(offset > ends.get(number, 0) for number, offset in position.offsets.items())
        if is_ahead and now_ms - position.at_ms > _LAG_MS:
            raise CursorExpiredError
        if not self._recent.holds(position.offsets):
            raise CursorExpiredError
        self._sequence = self._recent.lost(self._owner_id)
        self._offsets = dict(position.offsets)

    def next_batch(self, limit: int) -> Sequence[Passed]:
        """Return at most ``limit`` recognitions that came next; none: there are no more yet.

        Raises:
            CursorExpiredError: some of them are not kept any more.
        """
        lost = self._recent.lost(self._owner_id) > self._sequence
        if lost or self._generation != self._recent.generation:
            raise CursorExpiredError
        waiting = self._recent.since(self._owner_id, self._sequence)
        passed = [self._pass(entry) for entry in waiting[:limit] if self._is_new(entry)]
        if waiting:
            self._sequence = waiting[:limit][-1].sequence
        self.is_idle = len(waiting) <= limit
        if self.is_idle:
            self._mark_all_sent()
        return passed

    @property
    def offsets(self) -> dict[int, int]:
        """The next offset of each partition that the reader has not seen."""
        return dict(self._offsets)

    def waking(self) -> AbstractContextManager[asyncio.Event]:
        """Return a context with an event that is set whenever something new is there."""
        return self._recent.waking(self._owner_id)

    def _is_new(self, entry: BufferedRecognition) -> bool:
        return entry.offset >= self._offsets.get(entry.partition, 0)

    def _pass(self, entry: BufferedRecognition) -> Passed:
        self._offsets[entry.partition] = entry.offset + 1
        return Passed(entry.recognition, dict(self._offsets))

    def _mark_all_sent(self) -> None:
        for number, end in self._recent.ends().items():
            self._offsets[number] = max(end, self._offsets.get(number, 0))
