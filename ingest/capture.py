"""Opens a camera's stream or a video file: how FFmpeg is connected to each kind of address."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import av
import av.error

from contracts.stream_urls import StreamScheme, StreamUrl, StreamUrlRules
from ingest.addresses import resolve
from ingest.camera_stream import DECODER_OPTIONS, CameraStream, OpenedStream
from ingest.faults import CaptureError, CaptureFault
from ingest.http_source import HttpSource
from ingest.played_segments import PlayedSegments
from ingest.playlists import PlaylistSource
from ingest.watch import Watch

_ALMOST: Final = 0.95
"""An opening that failed after this share of its time-out failed because of it."""

_FILE_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "format_whitelist": "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,h264,hevc,mjpeg,ogg",
    "protocol_whitelist": "file",
}
_RTSP_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "rtsp_transport": "tcp",
    "allowed_media_types": "video",
    "protocol_whitelist": "rtsp,rtsps,rtp,tcp,tls,crypto",
    "fflags": "nobuffer",
    # Otherwise FFmpeg watches 20 frames to tell the frame rate: 1.2 s instead of 0.4 s to open.
    "fpsprobesize": "0",
}
_BODY_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "format_whitelist": "mpjpeg,mjpeg,jpeg_pipe,mpegts,mov,mp4,matroska,webm,flv,h264,hevc",
    "protocol_whitelist": "none",
}
_BODY_BUFFER_BYTES: Final = 65_536
_PLAYLIST_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "format_whitelist": "hls,mpegts,mov,mp4,aac,webvtt",
    "protocol_whitelist": "http,https",
    # Every address has to come to HttpSource, one by one.
    "http_persistent": "0",
    "http_multiple": "0",
    "http_seekable": "0",
    "live_start_index": "-1",
}
_PLAYLIST_TYPES: Final = frozenset(
    {"application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl"}
)
_PAGE_TYPES: Final = frozenset({"text/html", "text/plain", "application/json", "text/xml"})


@dataclass(frozen=True, kw_only=True)
class CaptureLimits:
    """How long a peer may be silent, how many threads decode one stream."""

    open_timeout_seconds: float
    read_timeout_seconds: float
    decoder_threads: int


def open_stream(
    url: StreamUrl,
    rules: StreamUrlRules,
    limits: CaptureLimits,
    watch: Watch,
    played: PlayedSegments | None = None,
) -> CameraStream:
    """Connect to a camera, for as long as the watch lets it.

    ``played`` is what the connections before played, and learns what this one does.

    Raises:
        CaptureError: it cannot be reached, refuses, or has no video.
    """
    started = time.monotonic()
    played = played or PlayedSegments()
    # As FFmpeg's own connections: once to connect and once to learn the format.
    watch.begin(2 * limits.open_timeout_seconds)
    try:
        opened = _Opening(url, rules, limits, watch, played).open()
    except (av.error.FFmpegError, OSError, ValueError) as error:
        timed_out = time.monotonic() - started >= limits.open_timeout_seconds * _ALMOST
        # Without its cause: FFmpeg's errors carry the address.
        fault = watch.over or _opening_fault(error, url.scheme, timed_out)
        raise CaptureError(fault) from None
    return CameraStream(opened, limits.decoder_threads, watch, played)


@dataclass(frozen=True)
class _Opening:
    """One attempt to open a stream; its methods raise what FFmpeg, sockets and files do."""

    url: StreamUrl
    rules: StreamUrlRules
    limits: CaptureLimits
    watch: Watch
    played: PlayedSegments

    def open(self) -> OpenedStream:
        """Open the stream in the way of its scheme."""
        match self.url.scheme:
            case StreamScheme.RTSP | StreamScheme.RTSPS:
                return self._open_rtsp()
            case StreamScheme.HTTP | StreamScheme.HTTPS:
                return self._open_http()
            case StreamScheme.FILE:
                return self._open_file()

    def _open_file(self) -> OpenedStream:
        # A device or a pipe could block for ever.
        if not Path(self.url.path).is_file():
            raise CaptureError(CaptureFault.NO_FILE)
        return OpenedStream(av.open(f"file:{self.url.path}", options=_FILE_OPTIONS))

    def _open_rtsp(self) -> OpenedStream:
        target = _at_address(self.url, resolve(self.url.host, self.url.port, self.rules))
        return OpenedStream(av.open(target, options=_RTSP_OPTIONS, timeout=self._timeouts))

    def _open_http(self) -> OpenedStream:
        silence_seconds = self.limits.read_timeout_seconds
        source = HttpSource(self.url.text, self.rules, self.watch, timeout_seconds=silence_seconds)
        body = source.open(source.url)
        if body.media_type in _PLAYLIST_TYPES or urlsplit(source.url).path.endswith(".m3u8"):
            body.close()
            return self._open_playlist(source)
        if body.media_type in _PAGE_TYPES:
            body.close()
            raise CaptureError(CaptureFault.NOT_VIDEO)
        # Cameras begin their parts in ways that FFmpeg's guess does not know.
        name = "mpjpeg" if body.media_type == "multipart/x-mixed-replace" else None
        try:
            container = av.open(
                body, "r", format=name, options=_BODY_OPTIONS, buffer_size=_BODY_BUFFER_BYTES
            )
        except BaseException:
            body.close()
            raise
        return OpenedStream(container, body)

    def _open_playlist(self, source: HttpSource) -> OpenedStream:
        playlists = PlaylistSource(source, self.played)
        container = av.open(
            source.url,
            format="hls",
            options=_PLAYLIST_OPTIONS,
            timeout=self._timeouts,
            io_open=lambda url, flags, options: playlists.open(url),
        )
        return OpenedStream(container)

    @property
    def _timeouts(self) -> tuple[float, float]:
        return self.limits.open_timeout_seconds, self.limits.read_timeout_seconds


def _at_address(url: StreamUrl, address: str) -> str:
    """Return the stream address with its host name replaced by the address that was checked."""
    parts = urlsplit(url.text)
    user_info, _, _ = parts.netloc.rpartition("@")
    host = f"[{address}]" if ":" in address else address
    netloc = f"{user_info}@{host}:{url.port}" if user_info else f"{host}:{url.port}"
    return urlunsplit((url.scheme.value, netloc, parts.path, parts.query, ""))


_OPENING_FAULTS: Final[tuple[tuple[type[Exception], CaptureFault], ...]] = (
    (av.error.HTTPUnauthorizedError, CaptureFault.CREDENTIALS),
    (av.error.HTTPForbiddenError, CaptureFault.CREDENTIALS),
    (av.error.HTTPNotFoundError, CaptureFault.NO_STREAM),
    (av.error.HTTPClientError, CaptureFault.NO_STREAM),
    (av.error.HTTPServerError, CaptureFault.NO_STREAM),
    (av.error.DecoderNotFoundError, CaptureFault.UNDECODABLE),
    (av.error.InvalidDataError, CaptureFault.NOT_VIDEO),
)


def _opening_fault(error: Exception, scheme: StreamScheme, timed_out: bool) -> CaptureFault:
    if timed_out:
        return CaptureFault.UNREACHABLE
    for kind, fault in _OPENING_FAULTS:
        if isinstance(error, kind):
            return fault
    return CaptureFault.NO_FILE if scheme is StreamScheme.FILE else CaptureFault.UNREACHABLE
