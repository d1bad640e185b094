"""FFmpeg's side of a camera: opens a stream and gives its decoded frames."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

import av
import av.container
import av.error

from contracts.pictures import MAX_PIXELS, is_too_large
from contracts.stream_urls import StreamScheme, StreamUrl, StreamUrlRules
from ingest import ffmpeg
from ingest.addresses import resolve
from ingest.decoding import DecodeEffort
from ingest.faults import CaptureError, CaptureFault
from ingest.http_source import HttpBody, HttpSource
from ingest.pictures import Picture
from ingest.played_segments import PlayedSegments
from ingest.playlists import PlaylistSource
from ingest.watch import Watch

ffmpeg.tame()

_MOST_BAD_PACKETS: Final = 250
"""So many undecodable packets in a row (10 s at 25 a second) end a connection."""

# Coded sizes are rounded up to whole blocks; what they show is judged once more.
_DECODER_OPTIONS: Final = {"max_pixels": str(MAX_PIXELS + MAX_PIXELS // 40)}
_OVER_MAX_PIXELS: Final = "exceeds specified max pixel count"

_UNTIMED_FORMATS: Final = frozenset({"mpjpeg", "mjpeg", "jpeg_pipe", "image2pipe"})
"""Pictures without a time of their own; FFmpeg counts them as 25 a second."""

_SEGMENTED_FORMATS: Final = frozenset({"hls"})
"""Streams that come in chunks of seconds and are played at their own pace."""

_ALMOST: Final = 0.95
"""An opening that failed after this share of its time-out failed because of it."""

_FILE_FORMATS: Final = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,h264,hevc,mjpeg,ogg"
_RTSP_OPTIONS: Final = {
    **_DECODER_OPTIONS,
    "rtsp_transport": "tcp",
    "allowed_media_types": "video",
    "protocol_whitelist": "rtsp,rtsps,rtp,tcp,tls,crypto",
    "fflags": "nobuffer",
    # Otherwise FFmpeg watches 20 frames to tell the frame rate: 1.2 s instead of 0.4 s to open.
    "fpsprobesize": "0",
}
_BODY_OPTIONS: Final = {
    **_DECODER_OPTIONS,
    "format_whitelist": "mpjpeg,mjpeg,jpeg_pipe,mpegts,mov,mp4,matroska,webm,flv,h264,hevc",
    "protocol_whitelist": "none",
}
_BODY_BUFFER_BYTES: Final = 65_536
_PLAYLIST_OPTIONS: Final = {
    **_DECODER_OPTIONS,
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


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """One decoded frame.

    ``stream_seconds`` is its time within the stream (None: the stream tells none),
    ``sender_start_ms`` the Unix time of the stream's zero by the camera's own clock.
    """

    picture: Picture
    stream_seconds: float | None
    sender_start_ms: float | None


@dataclass(frozen=True, slots=True)
class _Opened:
    container: av.container.InputContainer
    body: HttpBody | None = None

    def close(self) -> None:
        self.container.close()
        if self.body is not None:
            self.body.close()


class CameraStream:
    """An open connection to a camera, or an open video file. Use it as a context manager."""

    def __init__(
        self, opened: _Opened, limits: CaptureLimits, watch: Watch, played: PlayedSegments
    ) -> None:
        """Take what FFmpeg has opened.

        Raises:
            CaptureError: there is no video in it.
        """
        container = opened.container
        if not container.streams.video:
            opened.close()
            raise CaptureError(CaptureFault.NOT_VIDEO)
        self._opened = opened
        self._watch = watch
        self._played = played
        self._container = container
        self._video = container.streams.video[0]
        self._video.codec_context.options = _DECODER_OPTIONS
        self._video.thread_count = limits.decoder_threads
        # Slices, not frames: frame threads keep back a frame for each thread.
        self._video.thread_type = "NONE" if limits.decoder_threads == 1 else "SLICE"
        self._formats = frozenset(container.format.name.split(","))
        self._bad_packets = 0
        self._effort = DecodeEffort.ALL
        self.at_keyframe = True

    @property
    def is_segmented(self) -> bool:
        """Whether the stream comes in chunks that are to be played at their own pace."""
        return bool(self._formats & _SEGMENTED_FORMATS)

    def set_effort(self, effort: DecodeEffort) -> None:
        """Choose which pictures are decoded from here on."""
        if effort is not self._effort:
            self._video.codec_context.skip_frame = effort.value
            self._effort = effort
            self._await_frame()

    def frames(self) -> Iterator[StreamFrame]:
        """Yield every decoded frame until the stream ends, but none that was played before.

        Raises:
            CaptureError: the connection failed, fell silent, brought nothing new, cannot be decoded
                or shows pictures that are too large.
        """
        if self._played.is_over:
            raise CaptureError(CaptureFault.ENDED)
        self._await_frame()
        is_old = self._played.is_old
        try:
            # All of them: what other streams send must not go on where nobody looks at the watch.
            for packet in self._container.demux():
                self._watch.check()
                # Of the stream itself: at the end each has a packet that says to be of the first.
                if packet.stream is not self._video:
                    continue
                self.at_keyframe = bool(packet.is_keyframe)
                # The last pictures of the old segment come after the new one was opened.
                is_old = is_old and not (self.at_keyframe and not self._played.is_old)
                if is_old:
                    self._watch.forget_bytes()
                    continue
                for frame in self._decode(packet):
                    self._await_frame()
                    yield StreamFrame(
                        Picture(frame), self._stream_seconds(frame), self._sender_start_ms()
                    )
        except av.error.FFmpegError as error:
            raise CaptureError(self._watch.over or _reading_fault(error)) from None
        if is_old:
            raise CaptureError(CaptureFault.SILENT)

    def close(self) -> None:
        """Close the connection."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _await_frame(self) -> None:
        self._watch.await_frame(key_frame=self._effort is DecodeEffort.KEYFRAMES)

    def _decode(self, packet: "av.Packet[Any]") -> list[av.VideoFrame]:
        try:
            frames = packet.decode()
        except (av.error.InvalidDataError, av.error.ArgumentError) as error:
            if _OVER_MAX_PIXELS in str(error):
                raise CaptureError(CaptureFault.TOO_LARGE) from None
            # Packets are lost and cut on bad networks; the decoder goes on with the next.
            self._bad_packets += 1
            if self._bad_packets > _MOST_BAD_PACKETS:
                raise CaptureError(CaptureFault.UNDECODABLE) from error
            return []
        if frames:
            self._bad_packets = 0
        if any(is_too_large(frame.width, frame.height) for frame in frames):
            raise CaptureError(CaptureFault.TOO_LARGE)
        return list(frames)

    def _stream_seconds(self, frame: av.VideoFrame) -> float | None:
        if frame.time is None or self._formats & _UNTIMED_FORMATS:
            return None
        return float(frame.time)

    def _sender_start_ms(self) -> float | None:
        start_us = self._container.start_time_realtime
        return None if start_us is None else start_us / 1000


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
        opened = _OPENERS[url.scheme](url, rules, limits, watch, played)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        timed_out = time.monotonic() - started >= limits.open_timeout_seconds * _ALMOST
        # Without its cause: FFmpeg's errors carry the address.
        fault = watch.over or _opening_fault(error, url.scheme, timed_out)
        raise CaptureError(fault) from None
    return CameraStream(opened, limits, watch, played)


def _open_file(
    url: StreamUrl,
    rules: StreamUrlRules,
    limits: CaptureLimits,
    watch: Watch,
    played: PlayedSegments,
) -> _Opened:
    # A device or a pipe could block for ever.
    if not Path(url.path).is_file():
        raise CaptureError(CaptureFault.NO_FILE)
    options = {
        **_DECODER_OPTIONS,
        "protocol_whitelist": "file",
        "format_whitelist": _FILE_FORMATS,
    }
    return _Opened(av.open(f"file:{url.path}", options=options))


def _open_rtsp(
    url: StreamUrl,
    rules: StreamUrlRules,
    limits: CaptureLimits,
    watch: Watch,
    played: PlayedSegments,
) -> _Opened:
    target = _at_address(url, resolve(url.host, url.port, rules))
    return _Opened(av.open(target, options=_RTSP_OPTIONS, timeout=_timeouts(limits)))


def _open_http(
    url: StreamUrl,
    rules: StreamUrlRules,
    limits: CaptureLimits,
    watch: Watch,
    played: PlayedSegments,
) -> _Opened:
    source = HttpSource(url.text, rules, watch, timeout_seconds=limits.read_timeout_seconds)
    body = source.open(source.url)
    if body.media_type in _PLAYLIST_TYPES or urlsplit(source.url).path.endswith(".m3u8"):
        body.close()
        return _open_playlist(PlaylistSource(source, played), source.url, limits)
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
    return _Opened(container, body)


def _open_playlist(playlists: PlaylistSource, url: str, limits: CaptureLimits) -> _Opened:
    container = av.open(
        url,
        format="hls",
        options=_PLAYLIST_OPTIONS,
        timeout=_timeouts(limits),
        io_open=lambda url, flags, options: playlists.open(url),
    )
    return _Opened(container)


_OPENERS: Final = {
    StreamScheme.RTSP: _open_rtsp,
    StreamScheme.RTSPS: _open_rtsp,
    StreamScheme.HTTP: _open_http,
    StreamScheme.HTTPS: _open_http,
    StreamScheme.FILE: _open_file,
}


def _timeouts(limits: CaptureLimits) -> tuple[float, float]:
    return limits.open_timeout_seconds, limits.read_timeout_seconds


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


def _reading_fault(error: Exception) -> CaptureFault:
    if isinstance(error, av.error.EOFError):
        return CaptureFault.ENDED
    if isinstance(error, av.error.InvalidDataError):
        return CaptureFault.UNDECODABLE
    return CaptureFault.SILENT
