"""A reader's place among an owner's recognitions, and the sealed event id that stands for it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import UUID

from analytics_sql.recognitions import RecognitionRow
from api.live.recent import Kept, RecentRecognitions
from common.errors import MisconfiguredError
from common.secrets import SecretBox

_KIND = "recognition-stream"


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


_LAG_MS = 60_000
"""By more than this no process reads behind another; a place further ahead is of another topic."""


class LostPlaceError(Exception):
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

    def next_batch(self, limit: int) -> Sequence[Passed]:
        """Return at most ``limit`` recognitions that came next; none: there are no more yet.

        Raises:
            LostPlaceError: some of them are not kept any more.
        """
        lost = self._recent.lost(self._owner_id) > self._sequence
        if lost or self._generation != self._recent.generation:
            raise LostPlaceError
        waiting = self._recent.since(self._owner_id, self._sequence)
        passed = [self._pass(kept) for kept in waiting[:limit] if self._is_new(kept)]
        if waiting:
            self._sequence = waiting[:limit][-1].sequence
        self.is_idle = len(waiting) <= limit
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
