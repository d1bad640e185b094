"""An open stream, however it was opened: its decoded frames, or why there are no more."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Self

import av
import av._core
import av.container
import av.error
import av.logging

from common.records.frames import MAX_PIXELS, is_too_large
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.decoded_frame import DecodedFrame
from ingest.capture.hls import PlayedSegments
from ingest.capture.http_source import HttpBody
from ingest.capture.rtsp_relay import RtspRelay
from ingest.errors import CaptureError, CaptureErrorCode

_BEHIND_MS: Final = 700
_FAR_BEHIND_MS: Final = 1_500
_CAUGHT_UP_MS: Final = 300

_TOLERANCE_SECONDS: Final = 1.0
"""A backlog of some seconds on the network is decoded in less than this (4 ms a frame at 1080p);
only a machine that is too slow stays behind longer."""


class DecodeEffort(Enum):
    """The share of a stream's frames that is decoded; the values are FFmpeg's ``skip_frame``."""

    ALL = "DEFAULT"
    REFERENCES = "NONREF"
    KEYFRAMES = "NONKEY"


class DecodeControl:
    """Decodes less of a stream that stays behind itself, and all again once it has caught up.

    Skipping frames on which no other is built costs nothing but those frames. Skipping all but
    key frames is the last resort; full effort then returns at a key frame, since the frames
    between would be built on missing ones.
    """

    def __init__(self) -> None:
        self.effort = DecodeEffort.ALL
        self._behind_since_seconds: float | None = None

    def next(self, lag_ms: float, at_keyframe: bool, now_seconds: float) -> DecodeEffort:
        """Return what to decode next.

        ``lag_ms`` is how far the stream is behind itself, ``now_seconds`` monotonic time.
        """
        is_tolerated = self._is_tolerated(lag_ms, now_seconds)
        if lag_ms < _CAUGHT_UP_MS:
            if self.effort is not DecodeEffort.KEYFRAMES or at_keyframe:
                self.effort = DecodeEffort.ALL
        elif lag_ms > _FAR_BEHIND_MS and not is_tolerated:
            self.effort = DecodeEffort.KEYFRAMES
        elif lag_ms > _BEHIND_MS and self.effort is DecodeEffort.ALL:
            self.effort = DecodeEffort.REFERENCES
        return self.effort

    def _is_tolerated(self, lag_ms: float, now_seconds: float) -> bool:
        if lag_ms <= _FAR_BEHIND_MS:
            self._behind_since_seconds = None
            return True
        if self._behind_since_seconds is None:
            self._behind_since_seconds = now_seconds
        return now_seconds - self._behind_since_seconds < _TOLERANCE_SECONDS


MAX_ALLOCATION_BYTES: Final = 128 * 1024 * 1024
"""The largest allowed frame takes 121 MB as BGR. A header can promise any amount: an MP4 of 100 kB
with a table of 20 million frames took 700 MiB, an RTSP answer with a long body its length."""


def configure_ffmpeg() -> None:
    """Bound each allocation of FFmpeg in this process, and keep its log to ourselves.

    **Source:** ``av_max_alloc`` in libavutil/mem.h, which PyAV does not pass on.
    """
    # FFmpeg writes whole addresses into its log, passwords included.
    av.logging.set_level(av.logging.PANIC)
    # Its own libraries are found through PyAV's, whatever they are called on this system.
    limit = ctypes.CDLL(av._core.__file__).av_max_alloc
    limit.argtypes, limit.restype = [ctypes.c_size_t], None
    limit(MAX_ALLOCATION_BYTES)


configure_ffmpeg()

DECODER_OPTIONS: Final = {"max_pixels": str(MAX_PIXELS + MAX_PIXELS // 40)}
"""Coded sizes are rounded up to whole blocks; the visible size is checked again."""

_OVER_MAX_PIXELS: Final = "exceeds specified max pixel count"

_MAX_BAD_PACKETS: Final = 250
"""So many undecodable packets in a row (10 s at 25 a second) end a connection."""

_UNTIMED_FORMATS: Final = frozenset({"mpjpeg", "mjpeg", "jpeg_pipe", "image2pipe"})
"""Formats whose frames have no time of their own; FFmpeg counts 25 a second."""

_SEGMENTED_FORMATS: Final = frozenset({"hls"})
"""Streams that come in chunks of seconds and are played at their own pace."""


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """One decoded frame.

    ``stream_seconds`` is its time within the stream (None: the stream has none),
    ``sender_start_ms`` the Unix time of the stream's zero by the camera's own clock.
    """

    decoded: DecodedFrame
    stream_seconds: float | None
    sender_start_ms: float | None


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """An open FFmpeg container, and the connection that it reads, which it does not close."""

    container: av.container.InputContainer
    connection: HttpBody | RtspRelay | None = None

    def close(self) -> None:
        """Close the connection or the file."""
        # Before it: FFmpeg takes its leave of the camera.
        self.container.close()
        if self.connection is not None:
            self.connection.close()


class CameraStream:
    """An open connection to a camera, or an open video file. Use it as a context manager."""

    def __init__(
        self,
        opened: OpenedStream,
        decoder_threads: int,
        deadline: ConnectionDeadline,
        played: PlayedSegments,
    ) -> None:
        """Prepare decoding.

        Raises:
            CaptureError: there is no video in it.
        """
        container = opened.container
        if not container.streams.video:
            opened.close()
            raise CaptureError(CaptureErrorCode.NOT_VIDEO)
        self._opened = opened
        self._deadline = deadline
        self._played = played
        self._container = container
        self._video = container.streams.video[0]
        self._video.codec_context.options = DECODER_OPTIONS
        self._video.thread_count = decoder_threads
        # Slices, not frames: frame threads keep back a frame for each thread.
        self._video.thread_type = "NONE" if decoder_threads == 1 else "SLICE"
        self._formats = frozenset(container.format.name.split(","))
        self._bad_packets = 0
        self._effort = DecodeEffort.ALL
        self.at_keyframe = True

    @property
    def is_segmented(self) -> bool:
        """True for a stream that comes in chunks, to be played at their own pace."""
        return bool(self._formats & _SEGMENTED_FORMATS)

    def set_effort(self, effort: DecodeEffort) -> None:
        """Set which frames are decoded from here on."""
        if effort is not self._effort:
            self._video.codec_context.skip_frame = effort.value
            self._effort = effort
            self._await_frame()

    def frames(self) -> Iterator[StreamFrame]:
        """Yield every decoded frame until the stream ends, but none that was played before.

        Raises:
            CaptureError: the connection failed, fell silent, brought nothing new, cannot be decoded
                or shows frames that are too large.
        """
        if self._played.is_over:
            raise CaptureError(CaptureErrorCode.ENDED)
        self._await_frame()
        is_old = self._played.is_old
        try:
            # All of them: what other streams send must not go on where the deadline is not checked.
            for packet in self._container.demux():
                self._deadline.check()
                # Of the stream itself: at the end each has a packet that says to be of the first.
                if packet.stream is not self._video:
                    continue
                self.at_keyframe = bool(packet.is_keyframe)
                # The last frames of the old segment come after the new one was opened.
                if self.at_keyframe and not self._played.is_old:
                    is_old = False
                if is_old:
                    self._deadline.reset_bytes()
                    continue
                for frame in self._decode(packet):
                    self._await_frame()
                    yield StreamFrame(
                        DecodedFrame(frame), self._stream_seconds(frame), self._sender_start_ms()
                    )
        except av.error.FFmpegError as error:
            raise CaptureError(self._deadline.expired_with or _reading_error_code(error)) from None
        if is_old:
            raise CaptureError(CaptureErrorCode.SILENT)

    def close(self) -> None:
        """Close the connection."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _await_frame(self) -> None:
        self._deadline.await_frame(key_frame=self._effort is DecodeEffort.KEYFRAMES)

    def _decode(self, packet: "av.Packet[Any]") -> list[av.VideoFrame]:
        try:
            frames = packet.decode()
        except (av.error.InvalidDataError, av.error.ArgumentError) as error:
            if _OVER_MAX_PIXELS in str(error):
                raise CaptureError(CaptureErrorCode.TOO_LARGE) from None
            # Packets are lost and cut on bad networks; the decoder goes on with the next.
            self._bad_packets += 1
            if self._bad_packets > _MAX_BAD_PACKETS:
                raise CaptureError(CaptureErrorCode.UNDECODABLE) from error
            return []
        if frames:
            self._bad_packets = 0
        if any(is_too_large(frame.width, frame.height) for frame in frames):
            raise CaptureError(CaptureErrorCode.TOO_LARGE)
        return list(frames)

    def _stream_seconds(self, frame: av.VideoFrame) -> float | None:
        if frame.time is None or self._formats & _UNTIMED_FORMATS:
            return None
        return float(frame.time)

    def _sender_start_ms(self) -> float | None:
        start_us = self._container.start_time_realtime
        return None if start_us is None else start_us / 1000


def _reading_error_code(error: Exception) -> CaptureErrorCode:
    if isinstance(error, av.error.EOFError):
        return CaptureErrorCode.ENDED
    if isinstance(error, av.error.InvalidDataError):
        return CaptureErrorCode.UNDECODABLE
    return CaptureErrorCode.SILENT
