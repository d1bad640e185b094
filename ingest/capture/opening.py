"""Opens a camera's stream or a video file, depending on the URL's scheme."""

import socket
import ssl
import time
from dataclasses import dataclass, replace
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
from ingest.addresses import resolve
from ingest.capture.camera_stream import DECODER_OPTIONS, CameraStream, OpenedStream
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.hardware import VideoDevice
from ingest.capture.hls import PlayedSegments, PlaylistSource
from ingest.capture.http_source import HttpSource, tls_context
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
    "fflags": "nobuffer",
    # Otherwise, FFmpeg estimates the frame rate from 20 frames, and opening takes 1.2 s, not 0.4 s.
    "fpsprobesize": "0",
}
_MAX_REDIRECTS: Final = 3
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
    return CameraStream(opened, limits.decoder_threads, deadline, played, now, device)


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
        url = self.url
        for _ in range(_MAX_REDIRECTS + 1):
            relay = RtspRelay(self._connect(url))
            self.deadline.close_on_stop(relay)
            target = _at_relay(url, relay.port)
            try:
                container = av.open(
                    target,
                    options=_RTSP_OPTIONS,
                    timeout=self._timeouts,
                    hwaccel=self._decoding,
                )
            except BaseException:
                relay.close()
                if relay.redirected_to is None:
                    if relay.refusal is not None:
                        raise CaptureError(relay.refusal) from None
                    raise
                url = _redirected(url, relay.redirected_to, self.rules)
            else:
                relay.opened()
                return OpenedStream(container, relay)
        raise CaptureError(CaptureErrorCode.NO_STREAM)

    def _connect(self, url: StreamUrl) -> socket.socket:
        """Return a connection to a camera at a checked IP address, over TLS for rtsps.

        Raises:
            CaptureError: the IP address is forbidden, or the certificate cannot be verified.
            OSError: the camera cannot be reached.
        """
        address = resolve(url.host, url.port, self.rules)
        seconds = self.deadline.remaining_seconds(self.limits.open_timeout_seconds)
        connection = socket.create_connection((address, url.port), seconds)
        if url.scheme is not StreamScheme.RTSPS:
            return connection
        tls = tls_context(self.limits.ca_file).wrap_socket(
            connection, server_hostname=url.host, do_handshake_on_connect=False
        )
        try:
            with self.deadline.guarded_wait(tls, self.limits.open_timeout_seconds):
                tls.do_handshake()
        except ssl.SSLCertVerificationError:
            tls.close()
            raise CaptureError(CaptureErrorCode.CERTIFICATE) from None
        except BaseException:
            tls.close()
            raise
        return tls

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


def _at_relay(url: StreamUrl, port: int) -> str:
    """Return the stream URL with the relay's host and port."""
    parts = urlsplit(url.text)
    user_info, at, _ = parts.netloc.rpartition("@")
    netloc = f"{user_info}{at}127.0.0.1:{port}"
    return urlunsplit((StreamScheme.RTSP.value, netloc, parts.path, parts.query, ""))


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
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        return target
    # Only the same camera gets the password again.
    user_info, at, _ = urlsplit(url.text).netloc.rpartition("@")
    parts = urlsplit(text)
    netloc = f"{user_info}{at}{parts.netloc.rpartition('@')[2]}"
    return replace(target, text=urlunsplit(parts._replace(netloc=netloc)))


_OPENING_ERROR_CODES: Final[tuple[tuple[type[Exception], CaptureErrorCode], ...]] = (
    (av.error.HTTPUnauthorizedError, CaptureErrorCode.CREDENTIALS),
    (av.error.HTTPForbiddenError, CaptureErrorCode.CREDENTIALS),
    (av.error.HTTPNotFoundError, CaptureErrorCode.NO_STREAM),
    (av.error.HTTPClientError, CaptureErrorCode.NO_STREAM),
    (av.error.HTTPServerError, CaptureErrorCode.NO_STREAM),
    (av.error.DecoderNotFoundError, CaptureErrorCode.UNDECODABLE),
    (av.error.InvalidDataError, CaptureErrorCode.NOT_VIDEO),
)


def _opening_error_code(
    error: Exception, scheme: StreamScheme, timed_out: bool
) -> CaptureErrorCode:
    if timed_out:
        return CaptureErrorCode.UNREACHABLE
    for kind, code in _OPENING_ERROR_CODES:
        if isinstance(error, kind):
            return code
    return CaptureErrorCode.NO_FILE if scheme is StreamScheme.FILE else CaptureErrorCode.UNREACHABLE
