"""FFmpeg's side of a camera: opens a stream and gives its decoded frames."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit, urlunsplit

import av
import av.container
import av.error
import av.logging

from contracts.stream_urls import StreamScheme, StreamUrl, StreamUrlRules
from ingest.addresses import resolve
from ingest.decoding import DecodeEffort
from ingest.faults import CaptureError, CaptureFault
from ingest.pictures import Picture

# FFmpeg writes whole addresses into its log, passwords included.
av.logging.set_level(av.logging.PANIC)

_MOST_BAD_PACKETS: Final = 250
"""So many undecodable packets in a row (10 s at 25 a second) end a connection."""

_UNTIMED_FORMATS: Final = frozenset({"mpjpeg", "mjpeg", "jpeg_pipe", "image2pipe"})
"""Pictures without a time of their own; FFmpeg counts them as 25 a second."""

_SEGMENTED_FORMATS: Final = frozenset({"hls"})
"""Streams that come in chunks of seconds and are played at their own pace."""

_FILE_FORMATS: Final = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,h264,hevc,mjpeg,ogg"
_HTTP_FORMATS: Final = "mpjpeg,mjpeg,jpeg_pipe,hls,mpegts,mov,mp4,matroska,webm,flv,aac,webvtt"


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


class CameraStream:
    """An open connection to a camera, or an open video file. Use it as a context manager."""

    def __init__(self, container: av.container.InputContainer, limits: CaptureLimits) -> None:
        """Take a container that FFmpeg has opened.

        Raises:
            CaptureError: there is no video in it.
        """
        if not container.streams.video:
            container.close()
            raise CaptureError(CaptureFault.NOT_VIDEO)
        self._container = container
        self._video = container.streams.video[0]
        self._video.thread_count = limits.decoder_threads
        # Slices, not frames: frame threads keep back a frame for each thread.
        self._video.thread_type = "NONE" if limits.decoder_threads == 1 else "SLICE"
        self._formats = frozenset(container.format.name.split(","))
        self._bad_packets = 0
        self.effort = DecodeEffort.ALL
        self.at_keyframe = True

    @property
    def is_segmented(self) -> bool:
        """Whether the stream comes in chunks that are to be played at their own pace."""
        return bool(self._formats & _SEGMENTED_FORMATS)

    def set_effort(self, effort: DecodeEffort) -> None:
        """Choose which pictures are decoded from here on."""
        if effort is not self.effort:
            self._video.codec_context.skip_frame = effort.value
            self.effort = effort

    def frames(self) -> Iterator[StreamFrame]:
        """Yield every decoded frame until the stream ends.

        Raises:
            CaptureError: the connection failed, fell silent or cannot be decoded.
        """
        try:
            for packet in self._container.demux(self._video):
                self.at_keyframe = bool(packet.is_keyframe)
                for frame in self._decode(packet):
                    yield StreamFrame(
                        Picture(frame), self._stream_seconds(frame), self._sender_start_ms()
                    )
        except av.error.FFmpegError as error:
            raise CaptureError(_reading_fault(error)) from None

    def close(self) -> None:
        """Close the connection."""
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decode(self, packet: "av.Packet[av.VideoStream]") -> list[av.VideoFrame]:
        try:
            frames = packet.decode()
        except av.error.InvalidDataError as error:
            # Packets are lost and cut on bad networks; the decoder goes on with the next.
            self._bad_packets += 1
            if self._bad_packets > _MOST_BAD_PACKETS:
                raise CaptureError(CaptureFault.UNDECODABLE) from error
            return []
        if frames:
            self._bad_packets = 0
        return list(frames)

    def _stream_seconds(self, frame: av.VideoFrame) -> float | None:
        if frame.time is None or self._formats & _UNTIMED_FORMATS:
            return None
        return float(frame.time)

    def _sender_start_ms(self) -> float | None:
        start_us = self._container.start_time_realtime
        return None if start_us is None else start_us / 1000


def open_stream(url: StreamUrl, rules: StreamUrlRules, limits: CaptureLimits) -> CameraStream:
    """Connect to a camera.

    Raises:
        CaptureError: it cannot be reached, refuses, or has no video.
    """
    started = time.monotonic()
    try:
        container = _open_container(url, rules, limits)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        timed_out = time.monotonic() - started >= limits.open_timeout_seconds * 0.95
        # Without its cause: FFmpeg's errors carry the address.
        raise CaptureError(_opening_fault(error, url.scheme, timed_out)) from None
    return CameraStream(container, limits)


def _open_container(
    url: StreamUrl, rules: StreamUrlRules, limits: CaptureLimits
) -> av.container.InputContainer:
    if url.scheme is StreamScheme.FILE:
        return _open_file(url)
    address = resolve(url.host, url.port, rules)
    if url.scheme in (StreamScheme.RTSP, StreamScheme.RTSPS):
        target, options = _at_address(url, address), _rtsp_options(limits)
    else:
        target, options = url.text, _http_options(limits)
    timeouts = (limits.open_timeout_seconds, limits.read_timeout_seconds)
    return av.open(target, options=options, timeout=timeouts)


def _open_file(url: StreamUrl) -> av.container.InputContainer:
    # A device or a pipe could block for ever.
    if not Path(url.path).is_file():
        raise CaptureError(CaptureFault.NO_FILE)
    options = {"protocol_whitelist": "file", "format_whitelist": _FILE_FORMATS}
    return av.open(f"file:{url.path}", options=options)


def _rtsp_options(limits: CaptureLimits) -> dict[str, str]:
    return {
        "rtsp_transport": "tcp",
        "allowed_media_types": "video",
        "protocol_whitelist": "rtsp,rtsps,rtp,tcp,tls,crypto",
        "timeout": str(round(limits.read_timeout_seconds * 1_000_000)),
        "fflags": "nobuffer",
    }


def _http_options(limits: CaptureLimits) -> dict[str, str]:
    return {
        "protocol_whitelist": "http,https,tcp,tls,crypto",
        "format_whitelist": _HTTP_FORMATS,
        "rw_timeout": str(round(limits.read_timeout_seconds * 1_000_000)),
    }


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
