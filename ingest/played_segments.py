"""Which segments of an HLS camera were played already, across its connections.

FFmpeg begins with the last segment of a playlist. Where a camera stalls and its server goes on
answering, each new connection would play that segment again, as if it were taken now.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Protocol
from urllib.parse import urljoin

_HEAD_BYTES: Final = 4_096
"""So much of a segment tells it from others: it holds the time of its first picture."""

_MOST_ENTRIES: Final = 256
"""Of a playlist; a day of them takes too long to look at with each of its changes."""

_MOST_DIGITS: Final = 19
_OTHERS: Final = ("#EXT-X-MAP:", "#EXT-X-KEY:")
_URI: Final = re.compile(r'URI="([^"]*)"')

_REMEMBERED_SEGMENTS: Final = 32
"""A playlist of several renditions has FFmpeg open the last segment of each."""


class Body(Protocol):
    """An answer's body (see :class:`ingest.http_source.HttpBody`)."""

    def read(self, size: int) -> bytes:
        """Return what has come; nothing at the end."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class MediaPlaylist:
    """What a media playlist says: number of its last segment, and whether more may come.

    ``other_urls`` are what it names besides segments, the same on every connection: a format's
    header, a key.

    **Source:** RFC 8216, section 4.3.
    """

    last_sequence: int
    other_urls: frozenset[str]
    is_finished: bool


def parse_media_playlist(text: str, url: str) -> MediaPlaylist | None:
    """Return what the playlist at ``url`` says; None: it only names other playlists."""
    lines = [line.strip() for line in text.splitlines()]
    if not any(line.startswith(("#EXTINF", "#EXT-X-TARGETDURATION")) for line in lines):
        return None
    entries = [line for line in lines if line and not line.startswith("#")]
    others = [uri for line in lines if line.startswith(_OTHERS) for uri in _URI.findall(line)]
    first = next((line for line in lines if line.startswith("#EXT-X-MEDIA-SEQUENCE:")), ":0")
    number = first.partition(":")[2].strip()
    first_sequence = int(number) if number.isdecimal() and len(number) <= _MOST_DIGITS else 0
    return MediaPlaylist(
        last_sequence=first_sequence + len(entries) - 1,
        other_urls=frozenset(urljoin(url, uri) for uri in others[-_MOST_ENTRIES:]),
        is_finished="#EXT-X-ENDLIST" in lines,
    )


@dataclass(frozen=True, slots=True)
class _Played:
    last_sequence: int
    heads: frozenset[bytes]


@dataclass(slots=True)
class _Connection:
    """What was read on one connection; the playlist is the first one with segments."""

    playlist_url: str | None = None
    last_sequence: int | None = None
    is_finished_from_start: bool = False
    has_news: bool = False
    other_urls: dict[str, frozenset[str]] = field(default_factory=dict)
    heads: deque[bytes] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_SEGMENTS))


class PlayedSegments:
    """Remembers what the connections before played last. For one camera, in its reader's thread.

    What was played before is known by the number that the playlist gives it and by its content:
    names may change with each connection, numbers start over with the encoder, and some cameras
    write ever new content under one number.
    """

    def __init__(self) -> None:
        """Begin with nothing played."""
        self._before: _Played | None = None
        self._was_live = False
        self._connection = _Connection()

    def connect(self) -> None:
        """Begin a new connection."""
        ended = self._connection
        if ended.last_sequence is not None:
            self._was_live = self._was_live or not ended.is_finished_from_start
            if self._before is None or ended.has_news:
                self._before = _Played(ended.last_sequence, frozenset(ended.heads))
        self._connection = _Connection()

    @property
    def is_old(self) -> bool:
        """Whether all that this connection brought so far was played on one before.

        Never of a recording: a camera's playlist that was finished from the start.
        """
        connection = self._connection
        return self._was_live and connection.last_sequence is not None and not connection.has_news

    @property
    def is_over(self) -> bool:
        """Whether a camera that was live has ended its playlist: FFmpeg would play all of it."""
        return self._was_live and self._connection.is_finished_from_start

    def playlist(self, url: str, text: str) -> None:
        """Note what a playlist says."""
        playlist = parse_media_playlist(text, url)
        if playlist is None:
            return
        connection = self._connection
        connection.other_urls[url] = playlist.other_urls
        if connection.playlist_url is None:
            connection.playlist_url = url
            connection.is_finished_from_start = playlist.is_finished
        if connection.playlist_url == url:
            connection.last_sequence = playlist.last_sequence
            if self._before is None or playlist.last_sequence != self._before.last_sequence:
                connection.has_news = True

    def segment(self, url: str, body: Body) -> Body:
        """Return the body of what is no playlist; a segment tells of itself, first and last."""
        named = self._connection.other_urls
        if not named or any(url in urls for urls in named.values()):
            return body
        return _SegmentBody(body, self._segment_begun, self._connection.heads.append)

    def _segment_begun(self, digest: bytes) -> None:
        if self._before is None or digest not in self._before.heads:
            self._connection.has_news = True


class _SegmentBody:
    """A segment that tells how it begins, and once it was read to its end."""

    def __init__(
        self, body: Body, begun: Callable[[bytes], None], played: Callable[[bytes], None]
    ) -> None:
        self._body = body
        self._begun = begun
        self._played = played
        self._head = bytearray()
        self._digest: bytes | None = None
        self._is_played = False

    def read(self, size: int) -> bytes:
        data = self._body.read(size)
        if self._digest is None:
            self._head += data
            if not data or len(self._head) >= _HEAD_BYTES:
                self._digest = blake2b(self._head[:_HEAD_BYTES], digest_size=16).digest()
                self._begun(self._digest)
        # A connection that breaks in the middle of a segment has not played it.
        if not data and not self._is_played and self._digest is not None:
            self._is_played = True
            self._played(self._digest)
        return data

    def close(self) -> None:
        self._body.close()
