"""Buffers the newest recognitions of all accounts in memory, in order of arrival.

Only one event loop uses the buffer. A reader has a position in the buffer, not a queue, so a slow
reader costs nothing. A reader that is too slow loses its position and gets a reset.
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
"""Number of IDs remembered to drop duplicate recognitions, as a multiple of the capacity."""

_KIND = "recognition-stream"
_LAG_MS = 60_000
"""Maximum lag between processes. Older positions that are ahead are from a deleted topic."""


@dataclass(frozen=True)
class LiveRecord:
    """A record of the recognitions topic. ``recognition`` is None if unreadable."""

    partition: int
    offset: int
    recognition: RecognitionRow | None


@dataclass(frozen=True)
class BufferedRecognition:
    """A recognition in the buffer. ``sequence`` increases with each recognition."""

    sequence: int
    partition: int
    offset: int
    recognition: RecognitionRow


class RecentRecognitions:
    """A buffer of at most ``capacity`` recognitions."""

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
        """Drop everything and continue at ``offsets``. All readers lose their position."""
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

    def post(self, records: Iterable[LiveRecord]) -> None:
        """Add records. Records of a partition must be in offset order."""
        for record in records:
            self._starts.setdefault(record.partition, record.offset)
            self._ends[record.partition] = record.offset + 1
            recognition = record.recognition
            if recognition is not None and self._is_wanted(recognition):
                self._add(record, recognition)

    def apply_erasures(self, erasures: Erasures) -> int:
        """Drop erased recognitions now and on arrival. Return the number dropped now."""
        if erasures == self._erasures:
            return 0
        self._erasures = erasures
        before = len(self._recognitions)
        self._recognitions = self._not_erased(self._recognitions)
        self._by_id = {entry.recognition.id: entry.recognition for entry in self._recognitions}
        for owner_id, entries in list(self._of_owner.items()):
            self._of_owner[owner_id] = self._not_erased(entries)
            if not self._of_owner[owner_id]:
                del self._of_owner[owner_id]
        return before - len(self._recognitions)

    @property
    def knows_erasures(self) -> bool:
        """Whether the erasures are known. Until then, recognitions must not be shown."""
        return self._erasures is not None

    def ends(self) -> dict[int, int]:
        """Return the next offset of each partition."""
        return dict(self._ends)

    def newest(self) -> int:
        """Return the sequence number of the newest recognition."""
        return self._sequence

    def lost(self, owner_id: UUID) -> int:
        """Return the sequence number up to which the account's recognitions have been dropped."""
        return self._lost.get(owner_id, 0)

    def since(self, owner_id: UUID, sequence: int) -> list[BufferedRecognition]:
        """Return the account's recognitions after ``sequence``, oldest first."""
        newest_first = reversed(self._of_owner.get(owner_id, ()))
        return list(takewhile(lambda entry: entry.sequence > sequence, newest_first))[::-1]

    def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        """Return the account's recognition, or None if it is not buffered or must not be shown."""
        found = self._by_id.get(recognition_id) if self.knows_erasures else None
        return found if found is not None and found.user_id == owner_id else None

    @contextmanager
    def waking(self, owner_id: UUID) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever a recognition of the account arrives."""
        event = asyncio.Event()
        self._waiters[owner_id].add(event)
        try:
            yield event
        finally:
            self._waiters[owner_id].discard(event)
            if not self._waiters[owner_id]:
                del self._waiters[owner_id]

    def holds(self, offsets: Mapping[int, int]) -> bool:
        """Return whether the buffer contains everything from ``offsets`` onwards."""
        return all(offsets.get(number, 0) >= start for number, start in self._starts.items())

    @property
    def generation(self) -> int:
        """A number that changes whenever all readers lose their position."""
        return self._generation

    def _is_wanted(self, recognition: RecognitionRow) -> bool:
        return recognition.id not in self._ids and not self._is_erased(recognition)

    def _is_erased(self, recognition: RecognitionRow) -> bool:
        return self._erasures is not None and self._erasures.covers(_subject(recognition))

    def _not_erased(self, entries: Iterable[BufferedRecognition]) -> deque[BufferedRecognition]:
        return deque(each for each in entries if not self._is_erased(each.recognition))

    def _add(self, record: LiveRecord, recognition: RecognitionRow) -> None:
        self._sequence += 1
        entry = BufferedRecognition(self._sequence, record.partition, record.offset, recognition)
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
    """The next offset of each partition, as of ``at_ms`` (Unix ms)."""

    offsets: Mapping[int, int]
    at_ms: int


class ResumeTokens:
    """Creates and reads event IDs, encrypted because offsets show how busy other accounts are."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box

    def seal(self, position: StreamPosition) -> str:
        """Return the ID of an event after which a reader is at ``position``."""
        pairs = sorted(position.offsets.items())
        return self._box.encrypt(json.dumps([_KIND, position.at_ms, pairs]))

    def open(self, event_id: str) -> StreamPosition | None:
        """Return the position, or None if this installation did not create the ID."""
        try:
            content = json.loads(self._box.decrypt(event_id))
        except (MisconfiguredError, ValueError):
            # The box raises MisconfiguredError for any text that it did not encrypt.
            return None
        if not isinstance(content, list) or content[:1] != [_KIND]:
            return None
        _, at_ms, pairs = content
        return StreamPosition(dict(pairs), at_ms)


class CursorExpiredError(Exception):
    """Some recognitions after the reader's position are no longer in memory."""


@dataclass(frozen=True)
class Passed:
    """A recognition, and the reader's next offset of each partition after the recognition."""

    recognition: RecognitionRow
    offsets: dict[int, int]


class StreamCursor:
    """Reads an account's recognitions, each once. ``is_idle`` is true if all are read."""

    def __init__(self, recent: RecentRecognitions, owner_id: UUID) -> None:
        """Start after everything that has arrived so far."""
        self._recent = recent
        self._owner_id = owner_id
        self.is_idle = True
        self.skip_to_now()

    def skip_to_now(self) -> None:
        """Skip everything that has arrived so far."""
        self.is_idle = True
        self._sequence = self._recent.newest()
        self._generation = self._recent.generation
        self._offsets = self._recent.ends()

    def resume_from(self, position: StreamPosition, now_ms: int) -> None:
        """Resume after ``position``.

        Raises:
            CursorExpiredError: some recognitions since then are no longer in memory.
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
        """Return the next recognitions, at most ``limit``, or nothing if there are none.

        Raises:
            CursorExpiredError: some of the recognitions are no longer in memory.
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
        """The next offset of each partition."""
        return dict(self._offsets)

    def waking(self) -> AbstractContextManager[asyncio.Event]:
        """Return a context with an event that is set whenever a new recognition arrives."""
        return self._recent.waking(self._owner_id)

    def _is_new(self, entry: BufferedRecognition) -> bool:
        return entry.offset >= self._offsets.get(entry.partition, 0)

    def _pass(self, entry: BufferedRecognition) -> Passed:
        self._offsets[entry.partition] = entry.offset + 1
        return Passed(entry.recognition, dict(self._offsets))

    def _mark_all_sent(self) -> None:
        for number, end in self._recent.ends().items():
            self._offsets[number] = max(end, self._offsets.get(number, 0))
