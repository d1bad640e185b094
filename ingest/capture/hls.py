"""Checks HLS playlists before FFmpeg reads them, and remembers the segments already played.

FFmpeg starts with the last segment of a playlist. If a camera stalls while its server still
responds, each new connection would play that segment again, as if it were captured now.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Protocol
from urllib.parse import urljoin

from ingest.capture.http_source import HttpSource
from ingest.errors import CaptureError, CaptureErrorCode

_HEAD_BYTES: Final = 4_096
"""Number of bytes that identify a segment. They contain the time of the first frame."""

_MAX_ENTRIES: Final = 256
"""Maximum number of other URLs in a playlist. Processing a day's entries at each change takes too
long."""

_MAX_DIGITS: Final = 19
_OTHERS: Final = ("#EXT-X-MAP:", "#EXT-X-KEY:")
_URI: Final = re.compile(r'URI="([^"]*)"')

_REMEMBERED_SEGMENTS: Final = 32
"""Segments remembered per connection. FFmpeg opens the last segment of each rendition."""


class ReadableBody(Protocol):
    """A response body (see :class:`ingest.capture.http_source.HttpBody`)."""

    def read(self, size: int) -> bytes:
        """Return the available bytes, or no bytes at the end."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class MediaPlaylist:
    """The parts of a media playlist that are used: the last segment's number, and the end mark.

    ``other_urls`` are the URLs of files other than segments, such as a header or a key. These URLs
    are the same on every connection.

    **Source:** RFC 8216, section 4.3.
    """

    last_sequence: int
    other_urls: frozenset[str]
    is_finished: bool


def parse_media_playlist(text: str, url: str) -> MediaPlaylist | None:
    """Return the playlist at ``url``, or None if it only lists other playlists."""
    lines = [line.strip() for line in text.splitlines()]
    if not any(line.startswith(("#EXTINF", "#EXT-X-TARGETDURATION")) for line in lines):
        return None
    entries = [line for line in lines if line and not line.startswith("#")]
    others = [uri for line in lines if line.startswith(_OTHERS) for uri in _URI.findall(line)]
    first = next((line for line in lines if line.startswith("#EXT-X-MEDIA-SEQUENCE:")), ":0")
    number = first.partition(":")[2].strip()
    first_sequence = int(number) if number.isdecimal() and len(number) <= _MAX_DIGITS else 0
    return MediaPlaylist(
        last_sequence=first_sequence + len(entries) - 1,
        other_urls=frozenset(urljoin(url, uri) for uri in others[-_MAX_ENTRIES:]),
        is_finished="#EXT-X-ENDLIST" in lines,
    )


@dataclass(slots=True)
class _PlaylistConnection:
    """State of one connection, whose playlist is the first playlist with segments."""

    playlist_url: str | None = None
    last_sequence: int | None = None
    is_finished_from_start: bool = False
    has_news: bool = False
    other_urls: dict[str, frozenset[str]] = field(default_factory=dict)
    heads: deque[bytes] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_SEGMENTS))


class PlayedSegments:
    """Remembers the last segments of a camera's earlier connections. Not thread-safe.

    A segment is recognised by its number in the playlist and by its content. Its name can change
    with each connection, numbers restart with the encoder, and some cameras write new content under
    the same number.
    """

    def __init__(self) -> None:
        """Start without played segments."""
        self._before: _PlaylistConnection | None = None
        self._was_live = False
        self._connection = _PlaylistConnection()

    def connect(self) -> None:
        """Start a new connection."""
        ended = self._connection
        if ended.last_sequence is not None:
            self._was_live = self._was_live or not ended.is_finished_from_start
            if self._before is None or ended.has_news:
                self._before = ended
        self._connection = _PlaylistConnection()

    @property
    def is_old(self) -> bool:
        """Whether all segments of this connection were played on an earlier connection.

        The result is always False for a recording, whose playlist is finished from the start.
        """
        connection = self._connection
        return self._was_live and connection.last_sequence is not None and not connection.has_news

    @property
    def is_over(self) -> bool:
        """Whether a live camera has finished its playlist, which FFmpeg would play completely."""
        return self._was_live and self._connection.is_finished_from_start

    def playlist(self, url: str, text: str) -> None:
        """Record a playlist that was read."""
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

    def segment(self, url: str, body: ReadableBody) -> ReadableBody:
        """Return the body of a file that is not a playlist. Track the start and end of segments."""
        named = self._connection.other_urls
        if not named or any(url in urls for urls in named.values()):
            return body
        return _SegmentBody(body, self._segment_begun, self._connection.heads.append)

    def _segment_begun(self, digest: bytes) -> None:
        if self._before is None or digest not in self._before.heads:
            self._connection.has_news = True


class _SegmentBody:
    """A segment that reports its digest at the start, and again after it was read completely."""

    def __init__(
        self, body: ReadableBody, begun: Callable[[bytes], None], played: Callable[[bytes], None]
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
        # If a connection breaks in the middle of a segment, the segment was not played.
        if not data and not self._is_played and self._digest is not None:
            self._is_played = True
            self._played(self._digest)
        return data

    def close(self) -> None:
        self._body.close()


_FIRST_LINE: Final = b"#EXTM3U"
"""First line of all files that FFmpeg treats as playlists (RFC 8216, section 4.3.1.1)."""

_MAX_BYTES: Final = 2 * 1024 * 1024
"""Maximum playlist size: six hours of 2 s segments, 180-byte names. FFmpeg needs 13 times this."""

_MAX_RENDITIONS: Final = 64
"""Maximum number of renditions per connection. FFmpeg reads all, and stores 11 kB for each."""


class PlaylistSource:
    """Opens the playlists and segments of a connection."""

    def __init__(self, source: HttpSource, played: PlayedSegments) -> None:
        self._source = source
        self._played = played
        self._played.connect()
        self._renditions = 0

    def open(self, url: str) -> ReadableBody:
        """Return the body at a URL. Playlists are first read to the end.

        Raises:
            CaptureError: the URL cannot be opened, or the playlist is too large.
        """
        body = self._source.open(url)
        try:
            if body.peek(len(_FIRST_LINE)) == _FIRST_LINE:
                playlist = self._checked(body.peek(_MAX_BYTES + 1))
                self._played.playlist(url, playlist.decode("utf-8", "replace"))
                return body
        except CaptureError:
            body.close()
            raise
        return self._played.segment(url, body)

    def _checked(self, playlist: bytes) -> bytes:
        self._renditions += playlist.count(b"#EXT-X-STREAM-INF:")
        self._renditions += playlist.count(b"#EXT-X-MEDIA:")
        if len(playlist) > _MAX_BYTES or self._renditions > _MAX_RENDITIONS:
            raise CaptureError(CaptureErrorCode.TOO_MUCH)
        return playlist
