"""Fresh frames first: what is too old when its turn comes is noted as a gap, and read late.

A gap is in the table of gaps (its changelog is on Kafka, compacted) before anything is read, or
committed, past it. From then on its records belong to the late lane, whatever crashes: the fresh
lane never delivers one of them. Gaps of a partition do not overlap, and are read in their order.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol

import structlog
from faust.types import TP

from common.errors import InvalidInputError
from common.records.codec import decode, encode
from common.records.frames import FrameGap, OpenGap

log = structlog.get_logger()

_LEAD_MS = 2_000
"""The fresh lane begins with frames of this age: vehicles that come into view now are read whole.
"""
_LOOK_SECONDS = 1.0


class GapBook:
    """The open gaps of one worker. Not thread-safe."""

    def __init__(self, gaps: Iterable[OpenGap] = ()) -> None:
        self._gaps: dict[int, list[OpenGap]] = {}
        for gap in gaps:
            self.put(gap)

    def __iter__(self) -> Iterator[OpenGap]:
        """Return all, those of a partition in their order."""
        return iter([gap for partition in self._gaps.values() for gap in partition])

    def put(self, gap: OpenGap) -> None:
        """Add a gap, or how far it is read."""
        others = [g for g in self._gaps.get(gap.partition, ()) if g.gap.begin != gap.gap.begin]
        self._gaps[gap.partition] = sorted([*others, gap], key=lambda g: g.gap.begin)

    def remove(self, gap: OpenGap) -> None:
        """Remove a gap that is closed."""
        others = [g for g in self._gaps.get(gap.partition, ()) if g.gap.begin != gap.gap.begin]
        self._gaps[gap.partition] = others

    def at(self, partition: int, offset: int) -> FrameGap | None:
        """Return the gap that an offset lies in, None where it lies in none."""
        found = (g.gap for g in self._gaps.get(partition, ()))
        return next((gap for gap in found if gap.begin <= offset < gap.end), None)

    def next_gap(self, partition: int, offset: int) -> OpenGap | None:
        """Return the next gap that begins after an offset, None where there is none."""
        return next((g for g in self._gaps.get(partition, ()) if g.gap.begin > offset), None)

    def before(self, partition: int, offset: int) -> tuple[FrameGap, ...]:
        """Return the gaps that lie before an offset, in their order."""
        return tuple(g.gap for g in self._gaps.get(partition, ()) if g.gap.end <= offset)

    def since(self, gap: OpenGap) -> tuple[FrameGap, ...]:
        """Return a gap and those after it in its partition, in their order."""
        gaps = self._gaps.get(gap.partition, ())
        return tuple(g.gap for g in gaps if g.gap.begin >= gap.gap.begin)

    def firsts(self) -> list[OpenGap]:
        """Return the first gap of each partition, the one whose next record is oldest first."""
        found = [gaps[0] for gaps in self._gaps.values() if gaps]
        return sorted(found, key=lambda g: g.next_ms)


class GapTable(Protocol):
    """Encoded :class:`OpenGap` by place."""

    def items(self) -> list[tuple[bytes, bytes]]:
        """Return all keys with their values."""

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write what lies under a key, None to delete it; returns once Kafka has it."""

    def forget(self, key: bytes, /) -> None:
        """Drop a key from memory, where another worker has its partition now."""


class GapKeeper:
    """Keeps the open gaps of one worker, in the table and in memory. Lives on the event loop."""

    def __init__(self, table: GapTable) -> None:
        """The changelog of ``table`` has the partitions of the frames topic."""
        self._table = table
        self.book = GapBook()
        self.has_gaps = asyncio.Event()

    def restore(self, partitions: Collection[int]) -> None:
        """Go on with the table's gaps of the partitions that are this worker's now."""
        found: list[OpenGap] = []
        for key, data in self._table.items():
            gap = _read(data)
            if gap is None:
                continue
            if gap.partition in partitions:
                found.append(gap)
            else:
                self._table.forget(key)
        self.book = GapBook(found)
        self._note_whether_any()
        if found:
            left = sum(gap.left for gap in found)
            log.info("gaps_restored", count=len(found), frames=left)

    async def note(self, gap: OpenGap) -> None:
        """Note a gap, or how far it is read; returns once Kafka has it.

        Raises:
            TransientError: Kafka did not take it, or did not say so.
        """
        # Where partitions move meanwhile the next book may be without this one's.
        book = self.book
        await self._table.put(_key(gap), encode(gap), partition=gap.partition)
        book.put(gap)
        self._note_whether_any()

    async def close(self, gap: OpenGap) -> None:
        """Forget a gap; returns once Kafka has it.

        Raises:
            TransientError: Kafka did not take it, or did not say so.
        """
        book = self.book
        await self._table.put(_key(gap), None, partition=gap.partition)
        book.remove(gap)
        self._note_whether_any()

    def _note_whether_any(self) -> None:
        if any(self.book):
            self.has_gaps.set()
        else:
            self.has_gaps.clear()

    def oldest_age_ms(self, now_ms: int) -> int:
        """Return the age of the oldest record that is to be read late, 0 where there is none."""
        return max(0, *(now_ms - gap.next_ms for gap in self.book.firsts()[:1]), 0)


class Places(Protocol):
    """The part of the app that knows the log."""

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        """Return the offset of a partition's first record since then, None where there is none."""

    async def end_offset(self, tp: TP) -> int:
        """Return the offset that a partition's next record will have."""


class FreshFirst:
    """The fresh lane's rule: where the next frame is too old, it goes on with the newest ones.

    See :class:`streams.runtime.gaps.LeavesGaps`.
    """

    def __init__(
        self,
        *,
        topic: str,
        places: Places,
        keeper: GapKeeper,
        after_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """Too old is a frame behind which frames lie that are ``after_ms`` newer."""
        self._topic = topic
        self._places = places
        self._keeper = keeper
        self._after_ms = after_ms
        self._now_ms = now_ms
        self._looked_ms: dict[TP, int] = {}

    def end_at(self, tp: TP, offset: int) -> int | None:
        """Return the end of the gap that an offset lies in, None where it lies in none."""
        gap = self._keeper.book.at(tp.partition, offset) if tp.topic == self._topic else None
        return None if gap is None else gap.end

    def next_begin(self, tp: TP, offset: int) -> int | None:
        """Return where the next gap after an offset begins, None where there is none."""
        if tp.topic != self._topic:
            return None
        following = self._keeper.book.next_gap(tp.partition, offset)
        return None if following is None else following.gap.begin

    async def opens(self, tp: TP, offset: int, written_ms: int) -> bool:
        """Return whether a gap begins at a partition's next offset, whose record was written then.

        Raises:
            TransientError: Kafka does not answer, or did not take the note.
        """
        now_ms = self._now_ms()
        if tp.topic != self._topic or now_ms - written_ms <= self._after_ms:
            return False
        if now_ms - self._looked_ms.get(tp, 0) < _LOOK_SECONDS * 1000:
            return False
        # By the log's own times: with a clock that is slow all frames look old, and none is. Newer
        # ones before this one tell of hosts of ingest whose clocks differ.
        newer = await self._places.offset_since(tp, written_ms + self._after_ms)
        if newer is None or newer <= offset:
            self._looked_ms[tp] = now_ms
            return False
        end_ms = now_ms - _LEAD_MS
        end = await self._places.offset_since(tp, end_ms)
        if end is None:
            end, end_ms = await self._places.end_offset(tp), now_ms
        following = self._keeper.book.next_gap(tp.partition, offset)
        if following is not None:
            # Noted by a worker that was further. It comes later by time, too.
            end = min(end, following.gap.begin)
            end_ms = min(end_ms, following.next_ms, following.gap.end_ms)
        if end <= offset:
            self._looked_ms[tp] = now_ms
            return False
        # In their order also where the clock was set back.
        earlier = self._keeper.book.before(tp.partition, offset)
        end_ms = max(end_ms, *(gap.end_ms for gap in earlier)) if earlier else end_ms
        gap = FrameGap(begin=offset, end=end, end_ms=end_ms)
        await self._keeper.note(
            OpenGap(partition=tp.partition, gap=gap, next_offset=offset, next_ms=written_ms)
        )
        log.warning("frames_left_for_later", partition=tp.partition, count=end - offset)
        return True


def _key(gap: OpenGap) -> bytes:
    return b"%d/%d" % (gap.partition, gap.gap.begin)


def _read(data: bytes) -> OpenGap | None:
    try:
        return decode(OpenGap, data)
    except InvalidInputError as error:
        # It stays on the changelog for the release that wrote it.
        log.error("gap_unreadable", error=str(error))
        return None
