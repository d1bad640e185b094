"""The packets of a stream at rest, undecoded: groups of pictures, each from its key frame on."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Final, Protocol

import av

from ingest.clocks import Instant

MAX_HELD_BYTES: Final = 8 * 1024 * 1024
MAX_HELD_PACKETS: Final = 1_000
MAX_WATCHED_BYTES: Final = 24 * 1024 * 1024
MAX_WATCHED_PACKETS: Final = 2_000
"""Of a stream that another one watches: four seconds, and up to two groups of pictures."""

KEPT_SECONDS: Final = 4.0
"""Packets of a stream that another one watches are kept for at least so long: the two may be two
seconds apart, and what moves is seen in the small one only after a moment."""

_MAX_GLIMPSES: Final = 8
"""Key frames among what is held that were decoded when they came; seconds lie between two."""

_TOLD_SECONDS: Final = 1.0


class MotionWatch(Protocol):
    """Another stream of the same camera (see :class:`ingest.motion.stream.MotionStream`)."""

    @property
    def glimpse_seconds(self) -> float:
        """Time between two key frames of the watched stream that are decoded nevertheless."""

    def is_quiet(self, now_seconds: float) -> bool | None:
        """Return whether nothing moves there; None: it is not to be gone by.

        ``now_seconds`` is monotonic.
        """


@dataclass(frozen=True, slots=True)
class StreamKept:
    """Packets come, and are kept undecoded.

    ``oldest`` is when the first of those came that are kept, ``stream_seconds`` its time within the
    stream (None: it has none), ``arrival`` when the last came.
    """

    oldest: Instant
    stream_seconds: float | None
    arrival: Instant


HeldPacket = tuple["av.Packet[Any]", Instant]


class HeldPackets:
    """Whole groups of pictures, and the one that is coming.

    Of a stream by itself that one only; where another stream watches it (``is_watched``) also those
    before it, so that :data:`KEPT_SECONDS` are there. Nothing younger is dropped: where there is no
    room (:attr:`is_full`), all of it is to be decoded.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self._groups: deque[list[HeldPacket]] = deque()
        self._glimpsed: deque[float] = deque(maxlen=_MAX_GLIMPSES)
        self._size_bytes = self._count = 0
        self._due_seconds = 0.0
        self.is_watched = False

    def begin_group(self, packet: "av.Packet[Any]", arrival: Instant, *, is_watched: bool) -> None:
        """Add a key frame, and drop the groups that are not needed any more."""
        is_alone = not (self.is_watched and is_watched)
        self.is_watched = is_watched
        self._groups.append([])
        self.add(packet, arrival)
        while len(self._groups) > 1 and (is_alone or self._is_dispensable(arrival)):
            dropped = self._groups.popleft()
            self._count -= len(dropped)
            self._size_bytes -= sum(each.size for each, _ in dropped)

    def add(self, packet: "av.Packet[Any]", arrival: Instant) -> None:
        """Add a packet to the group that is coming."""
        self._groups[-1].append((packet, arrival))
        self._count += 1
        self._size_bytes += packet.size

    def glimpsed(self, stream_seconds: float | None) -> None:
        """Note that the frame of this time was looked at when it came."""
        if stream_seconds is not None:
            self._glimpsed.append(stream_seconds)

    def was_glimpsed(self, stream_seconds: float | None) -> bool:
        """Return whether the frame of this time was looked at when it came."""
        return stream_seconds is not None and stream_seconds in self._glimpsed

    @property
    def packets(self) -> list[HeldPacket]:
        """All packets, in the order in which they came."""
        return [each for group in self._groups for each in group]

    @property
    def is_full(self) -> bool:
        """True where the group that is coming finds no more room."""
        max_bytes, max_packets = MAX_HELD_BYTES, MAX_HELD_PACKETS
        if self.is_watched:
            max_bytes, max_packets = MAX_WATCHED_BYTES, MAX_WATCHED_PACKETS
        return self._size_bytes > max_bytes or self._count > max_packets

    def told(self, arrival: Instant) -> StreamKept | None:
        """Return what another stream lets us hold, about once a second; None in between."""
        if not self.is_watched or arrival.seconds < self._due_seconds:
            return None
        self._due_seconds = arrival.seconds + _TOLD_SECONDS
        packet, oldest = self._groups[0][0]
        seconds = None if packet.pts is None else float(packet.pts * packet.time_base)
        return StreamKept(oldest, seconds, arrival)

    def ends_by(self, is_quiet: bool | None) -> bool:
        """Return whether what the other stream shows ends the rest (:class:`MotionWatch`)."""
        return is_quiet is False or (self.is_watched and is_quiet is None)

    def _is_dispensable(self, now: Instant) -> bool:
        """Return whether the oldest group is not needed for what is to be kept."""
        return now.seconds - self._groups[1][0][1].seconds >= KEPT_SECONDS
