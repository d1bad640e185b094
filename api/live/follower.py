"""One reader's place among an owner's recognitions."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import UUID

from analytics_sql.recognitions import ListedRecognition
from api.live.position import StreamPosition
from api.live.recent import Kept, RecentRecognitions

_LAG_MS = 60_000
"""By more than this no process reads behind another; a place further ahead is of another topic."""


class LostPlaceError(Exception):
    """What came since the reader's place is not kept any more."""


@dataclass(frozen=True)
class Passed:
    """A recognition, and the offsets (by partition) behind which a reader then is."""

    recognition: ListedRecognition
    offsets: dict[int, int]


class Follower:
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

    def go_back_to(self, position: StreamPosition, now_ms: int) -> None:
        """Go on behind ``position``.

        Raises:
            LostPlaceError: not everything since then is kept.
        """
        ends = self._recent.ends()
        is_ahead = any(offset > ends.get(number, 0) for number, offset in position.offsets.items())
        if is_ahead and now_ms - position.at_ms > _LAG_MS:
            raise LostPlaceError
        if not self._recent.holds(position.offsets):
            raise LostPlaceError
        self._sequence = self._recent.lost(self._owner_id)
        self._offsets = dict(position.offsets)

    def take(self, most: int) -> Sequence[Passed]:
        """Return at most ``most`` recognitions that came next; none: there are no more yet.

        Raises:
            LostPlaceError: some of them are not kept any more.
        """
        lost = self._recent.lost(self._owner_id) > self._sequence
        if lost or self._generation != self._recent.generation:
            raise LostPlaceError
        waiting = self._recent.since(self._owner_id, self._sequence)
        passed = [self._pass(kept) for kept in waiting[:most] if self._is_new(kept)]
        if waiting:
            self._sequence = waiting[:most][-1].sequence
        self.is_idle = len(waiting) <= most
        if self.is_idle:
            self._note_all_seen()
        return passed

    @property
    def offsets(self) -> dict[int, int]:
        """The next offset of each partition that the reader has not seen."""
        return dict(self._offsets)

    def waking(self) -> AbstractContextManager[asyncio.Event]:
        """Return a context with an event that is set whenever something new is there."""
        return self._recent.waking(self._owner_id)

    def _is_new(self, kept: Kept) -> bool:
        return kept.offset >= self._offsets.get(kept.partition, 0)

    def _pass(self, kept: Kept) -> Passed:
        self._offsets[kept.partition] = kept.offset + 1
        return Passed(kept.recognition, dict(self._offsets))

    def _note_all_seen(self) -> None:
        for number, end in self._recent.ends().items():
            self._offsets[number] = max(end, self._offsets.get(number, 0))
