"""Opens a camera's stream or a video file: how FFmpeg is connected to each kind of address."""

import errno
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import av
import av.error

from common.errors import InvalidInputError
from common.urls.files import video_file
from common.urls.streams import StreamScheme, StreamUrl, StreamUrlRules
from ingest.addresses import resolve
from ingest.capture.camera_stream import DECODER_OPTIONS, CameraStream, OpenedStream
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.hls import PlayedSegments, PlaylistSource
from ingest.capture.http_source import HttpSource
from ingest.capture.messages import CaptureLimits
from ingest.errors import CaptureError, CaptureErrorCode

_ALMOST: Final = 0.95
"""An opening that failed after this share of its time-out failed because of it."""

_FILE_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "format_whitelist": "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,ogg",
    "protocol_whitelist": "file",
}
_RTSP_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "rtsp_transport": "tcp",
    "allowed_media_types": "video",
    "protocol_whitelist": "rtsp,rtsps,rtp,tcp,tls,crypto",
    "fflags": "nobuffer",
    # Otherwise FFmpeg reads 20 frames to estimate the frame rate: 1.2 s instead of 0.4 s to open.
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


def open_stream(
    url: StreamUrl,
    rules: StreamUrlRules,
    limits: CaptureLimits,
    deadline: ConnectionDeadline,
    played: PlayedSegments | None = None,
) -> CameraStream:
    """Connect to a camera before the deadline.

    ``played`` holds the segments of earlier connections, and is updated by this one.

    Raises:
        CaptureError: it cannot be reached, refuses, or has no video.
    """
    started = time.monotonic()
    played = played or PlayedSegments()
    # As FFmpeg's own connections: once to connect and once to learn the format.
    deadline.start(2 * limits.open_timeout_seconds)
    try:
        opened = _Opening(url, rules, limits, deadline, played).open()
    except (av.error.FFmpegError, OSError, ValueError) as error:
        timed_out = time.monotonic() - started >= limits.open_timeout_seconds * _ALMOST
        # Without its cause: FFmpeg's errors carry the address.
        code = deadline.expired_with or _opening_error_code(error, url.scheme, timed_out)
        if limits.ca_file and _is_failed_handshake(error, url.scheme):
            code = CaptureErrorCode.CERTIFICATE
        raise CaptureError(code) from None
    return CameraStream(opened, limits.decoder_threads, deadline, played)


@dataclass(frozen=True)
class _Opening:
    """One attempt to open a stream; errors of FFmpeg, sockets and files pass through."""

    url: StreamUrl
    rules: StreamUrlRules
    limits: CaptureLimits
    deadline: ConnectionDeadline
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
        try:
            path = video_file(self.url.path, self.rules.files_folder)
        except InvalidInputError as error:
            raise CaptureError(CaptureErrorCode.NO_FILE) from error
        return OpenedStream(av.open(f"file:{path}", options=_FILE_OPTIONS))

    def _open_rtsp(self) -> OpenedStream:
        target = _at_address(self.url, resolve(self.url.host, self.url.port, self.rules))
        options = {**_RTSP_OPTIONS, **self._rtsps_options()}
        return OpenedStream(av.open(target, options=options, timeout=self._timeouts))

    def _rtsps_options(self) -> dict[str, str]:
        if self.url.scheme is not StreamScheme.RTSPS or not self.limits.ca_file:
            return {}
        # The host by its name: FFmpeg is given the address that was checked.
        return {
            "tls_verify": "1",
            "ca_file": self.limits.ca_file,
            "verifyhost": self.url.host,
        }

    def _open_http(self) -> OpenedStream:
        silence_seconds = self.limits.read_timeout_seconds
        source = HttpSource(
            self.url.text,
            self.rules,
            self.deadline,
            timeout_seconds=silence_seconds,
            ca_file=self.limits.ca_file,
        )
        body = source.open(source.url)
        if body.media_type in _PLAYLIST_TYPES or urlsplit(source.url).path.endswith(".m3u8"):
            body.close()
            return self._open_playlist(source)
        if body.media_type in _PAGE_TYPES:
            body.close()
            raise CaptureError(CaptureErrorCode.NOT_VIDEO)
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


_OPENING_ERROR_CODES: Final[tuple[tuple[type[Exception], CaptureErrorCode], ...]] = (
    (av.error.HTTPUnauthorizedError, CaptureErrorCode.CREDENTIALS),
    (av.error.HTTPForbiddenError, CaptureErrorCode.CREDENTIALS),
    (av.error.HTTPNotFoundError, CaptureErrorCode.NO_STREAM),
    (av.error.HTTPClientError, CaptureErrorCode.NO_STREAM),
    (av.error.HTTPServerError, CaptureErrorCode.NO_STREAM),
    (av.error.DecoderNotFoundError, CaptureErrorCode.UNDECODABLE),
    (av.error.InvalidDataError, CaptureErrorCode.NOT_VIDEO),
)


def _is_failed_handshake(error: Exception, scheme: StreamScheme) -> bool:
    """Return whether it was TLS that failed: FFmpeg has no error of its own for that."""
    return scheme is StreamScheme.RTSPS and isinstance(error, OSError) and error.errno == errno.EIO


def _opening_error_code(
    error: Exception, scheme: StreamScheme, timed_out: bool
) -> CaptureErrorCode:
    if timed_out:
        return CaptureErrorCode.UNREACHABLE
    for kind, code in _OPENING_ERROR_CODES:
        if isinstance(error, kind):
            return code
    return CaptureErrorCode.NO_FILE if scheme is StreamScheme.FILE else CaptureErrorCode.UNREACHABLE
