"""HLS playlists: how long they are and what they name is known before FFmpeg reads them."""

from typing import Final

from ingest.faults import CaptureError, CaptureFault
from ingest.http_source import HttpBody, HttpSource
from ingest.played_segments import Body, PlayedSegments

_FIRST_LINE: Final = b"#EXTM3U"
"""FFmpeg takes nothing for a playlist that begins otherwise (RFC 8216, section 4.3.1.1)."""

_MAX_BYTES: Final = 2 * 1024 * 1024
"""Six hours of segments of 2 s with names of 180 bytes. FFmpeg needs 13 times a playlist's size."""

_MAX_RENDITIONS: Final = 64
"""FFmpeg reads each at once and keeps 11 kB of it; one may name others in turn."""

_READ_BYTES: Final = 65_536


class PlaylistSource:
    """Opens the playlists and segments of one connection."""

    def __init__(self, source: HttpSource, played: PlayedSegments) -> None:
        """Take what opens addresses, and who is to know what they bring."""
        self._source = source
        self._played = played
        self._played.connect()
        self._renditions = 0

    def open(self, url: str) -> Body:
        """Return what an address answers with; a playlist has been read to its end by then.

        Raises:
            CaptureError: it cannot be opened, or is a playlist beyond all measure.
        """
        body = self._source.open(url)
        try:
            begun = _read(body, len(_FIRST_LINE))
            if begun.startswith(_FIRST_LINE):
                begun = self._judged(begun + _read(body, _MAX_BYTES + 1 - len(begun)))
                self._played.playlist(url, begun.decode("utf-8", "replace"))
                return BegunBody(begun, body)
        except CaptureError:
            body.close()
            raise
        return self._played.segment(url, BegunBody(begun, body))

    def _judged(self, playlist: bytes) -> bytes:
        self._renditions += playlist.count(b"#EXT-X-STREAM-INF:")
        self._renditions += playlist.count(b"#EXT-X-MEDIA:")
        if len(playlist) > _MAX_BYTES or self._renditions > _MAX_RENDITIONS:
            raise CaptureError(CaptureFault.TOO_MUCH)
        return playlist


class BegunBody:
    """A body of which something was read already, as FFmpeg reads it."""

    def __init__(self, begun: bytes, rest: HttpBody) -> None:
        """Take what was read and where the rest is."""
        self._begun = begun
        self._rest = rest

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; nothing at the end.

        Raises:
            CaptureError: the camera fell silent or broke the connection off.
        """
        if not self._begun:
            return self._rest.read(size)
        given, self._begun = self._begun[:size], self._begun[size:]
        return given

    def close(self) -> None:
        """Close the connection."""
        self._rest.close()


def _read(body: HttpBody, least_bytes: int) -> bytes:
    """Return at least so many bytes, or all there are."""
    parts: list[bytes] = []
    missing = least_bytes
    while missing > 0 and (part := body.read(min(_READ_BYTES, missing))):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
