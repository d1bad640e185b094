"""Opens a camera's stream or a video file, depending on the URL's scheme."""

import time
from dataclasses import dataclass
from operator import attrgetter
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import av
import av.error
from av.codec.hwaccel import HWAccel

from common.errors import InvalidInputError
from common.urls.files import video_file
from common.urls.streams import (
    StreamScheme,
    StreamUrl,
    StreamUrlRules,
    names_playlist,
    parse_stream_url,
)
from ingest.capture.authentication import split_login
from ingest.capture.camera_stream import DECODER_OPTIONS, CameraStream, OpenedStream
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.hardware import VideoDevice
from ingest.capture.hls import PlayedSegments, PlaylistSource
from ingest.capture.http_source import HttpSource, connect
from ingest.capture.messages import CaptureLimits
from ingest.capture.rtsp_relay import RtspRelay
from ingest.clocks import Clock
from ingest.errors import CaptureError, CaptureErrorCode

_ALMOST: Final = 0.95
"""An attempt that fails after this fraction of the timeout counts as a timeout."""

_FILE_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "format_whitelist": "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,ogg",
    "protocol_whitelist": "file",
}
_RTSP_OPTIONS: Final = {
    **DECODER_OPTIONS,
    "rtsp_transport": "tcp",
    "allowed_media_types": "video",
    # FFmpeg may only connect to the relay, which connects to the camera.
    "protocol_whitelist": "rtsp,rtp,tcp",
    # Otherwise, FFmpeg estimates the frame rate from 20 frames, and opening takes 1.2 s, not 0.4 s.
    "fpsprobesize": "0",
}
_UDP_OPTIONS: Final = {
    **_RTSP_OPTIONS,
    "rtsp_transport": "udp",
    # Accept packets only from the address and port that the relay allows.
    "rtsp_flags": "filter_src",
    "protocol_whitelist": "rtsp,rtp,tcp,udp",
}
_SERVER: Final = attrgetter("scheme", "host", "port")
_MAX_CONNECTIONS: Final = 5
"""Maximum number of connections to open a stream: redirects, and UDP instead of TCP."""
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
    # HttpSource must open all URLs, one at a time.
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
    now: Clock | None = None,
    device: VideoDevice | None = None,
) -> CameraStream:
    """Open a camera's stream within the time limit, and return the stream.

    ``played`` contains the segments of earlier connections; this connection updates it. ``now`` is
    the clock for arriving packets. If ``device`` cannot decode the stream, the CPU does.

    Raises:
        CaptureError: the camera cannot be reached, rejects the connection or has no video.
    """
    started = time.monotonic()
    played = played or PlayedSegments()
    # Allow twice the time, as for FFmpeg's own connections: to connect, and to detect the format.
    deadline.start(2 * limits.open_timeout_seconds)
    try:
        opened = _Opening(url, rules, limits, deadline, played, device).open()
    except (av.error.FFmpegError, OSError, ValueError) as error:
        timed_out = time.monotonic() - started >= limits.open_timeout_seconds * _ALMOST
        # Omit the cause, because FFmpeg's errors contain the URL.
        code = deadline.expired_with or _opening_error_code(error, url.scheme, timed_out)
        raise CaptureError(code) from None
    return CameraStream(opened, deadline, played, now, device)


@dataclass(frozen=True)
class _Opening:
    """One attempt to open a stream. Errors of FFmpeg, sockets and files are not handled."""

    url: StreamUrl
    rules: StreamUrlRules
    limits: CaptureLimits
    deadline: ConnectionDeadline
    played: PlayedSegments
    device: VideoDevice | None

    def open(self) -> OpenedStream:
        """Return the open stream. The URL's scheme determines how it is opened."""
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
        return OpenedStream(av.open(f"file:{path}", options=_FILE_OPTIONS, hwaccel=self._decoding))

    def _open_rtsp(self) -> OpenedStream:
        url, over_udp = self.url, False
        bare, login = split_login(url.text)
        for _ in range(_MAX_CONNECTIONS):
            _, host, path, query, _ = urlsplit(bare)
            camera = connect(url, self.rules, self.limits, self.deadline)
            relay = RtspRelay(camera, host, login, over_udp=over_udp)
            self.deadline.close_on_stop(relay)
            late_seconds = time.monotonic() + self.limits.open_timeout_seconds * _ALMOST
            target = ("rtsp", f"127.0.0.1:{relay.port}", path, query, "")
            try:
                container = av.open(
                    urlunsplit(target),
                    options=_UDP_OPTIONS if over_udp else _RTSP_OPTIONS,
                    timeout=self._timeouts,
                    hwaccel=self._decoding,
                )
                # FFmpeg also opens a stream if no packet arrives in time.
                if container.start_time is None and relay.refusal is not None:
                    container.close()
                    raise CaptureError(relay.refusal)
            except BaseException:
                relay.close()
                if relay.redirected_to is not None:
                    left, over_udp = url, False
                    url = _redirected(left, relay.redirected_to, self.rules)
                    bare, own_login = split_login(url.text)
                    # Only the same camera gets the password again.
                    is_same = _SERVER(url) == _SERVER(left)
                    login = login if is_same else own_login
                # Over UDP, the video of an rtsps camera would not be encrypted.
                elif relay.rejects_tcp and not over_udp and url.scheme is StreamScheme.RTSP:
                    over_udp = True
                elif relay.refusal is not None:
                    raise CaptureError(relay.refusal) from None
                elif relay.has_answered and time.monotonic() > late_seconds:
                    raise CaptureError(CaptureErrorCode.SILENT) from None
                else:
                    raise
            else:
                relay.opened()
                return OpenedStream(container, relay)
        raise CaptureError(CaptureErrorCode.NO_STREAM)

    def _open_http(self) -> OpenedStream:
        source = HttpSource(self.url.text, self.rules, self.limits, self.deadline)
        body = source.open(source.url)
        if body.media_type in _PLAYLIST_TYPES or names_playlist(source.url):
            body.close()
            return self._open_playlist(source)
        if body.media_type in _PAGE_TYPES:
            body.close()
            raise CaptureError(CaptureErrorCode.NOT_VIDEO)
        # FFmpeg's format detection does not recognise all cameras' multipart streams.
        name = "mpjpeg" if body.media_type == "multipart/x-mixed-replace" else None
        try:
            container = av.open(
                body,
                "r",
                format=name,
                options=_BODY_OPTIONS,
                buffer_size=_BODY_BUFFER_BYTES,
                hwaccel=self._decoding,
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
            hwaccel=self._decoding,
        )
        return OpenedStream(container)

    @property
    def _decoding(self) -> HWAccel | None:
        return None if self.device is None else self.device.decoding()

    @property
    def _timeouts(self) -> tuple[float, float]:
        return self.limits.open_timeout_seconds, self.limits.read_timeout_seconds


def _redirected(url: StreamUrl, text: str, rules: StreamUrlRules) -> StreamUrl:
    """Return the target of a camera's redirect, checked like the stream URL.

    Raises:
        CaptureError: the target is forbidden, or not a valid stream URL.
    """
    try:
        target = parse_stream_url(text, rules)
    except InvalidInputError as error:
        is_malformed = error.code == "stream_url_malformed"
        code = CaptureErrorCode.NO_STREAM if is_malformed else CaptureErrorCode.FORBIDDEN
        raise CaptureError(code) from None
    # A redirect from TLS must lead to TLS, so that the target also proves its identity.
    allowed = {StreamScheme.RTSPS, url.scheme}
    if target.scheme not in allowed & {StreamScheme.RTSP, StreamScheme.RTSPS}:
        raise CaptureError(CaptureErrorCode.FORBIDDEN)
    return target


def _opening_error_code(
    error: Exception, scheme: StreamScheme, timed_out: bool
) -> CaptureErrorCode:
    if timed_out:
        return CaptureErrorCode.UNREACHABLE
    if isinstance(error, av.error.DecoderNotFoundError):
        return CaptureErrorCode.UNDECODABLE
    if isinstance(error, av.error.InvalidDataError):
        return CaptureErrorCode.NOT_VIDEO
    return CaptureErrorCode.NO_FILE if scheme is StreamScheme.FILE else CaptureErrorCode.UNREACHABLE
