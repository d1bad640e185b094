"""An open stream, however it was opened: its decoded frames, or why there are no more."""

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import av
import av._core
import av.container
import av.error
import av.logging

from common.records.frames import MAX_PIXELS, is_too_large
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.decode_control import DecodeEffort
from ingest.capture.decoded_frame import DecodedFrame, StreamFrame
from ingest.capture.hardware import VideoDevice, decoder_of
from ingest.capture.hls import PlayedSegments
from ingest.capture.http_source import HttpBody
from ingest.capture.packet_sizes import PacketSizeMonitor
from ingest.capture.rtsp_relay import RtspRelay
from ingest.clocks import Clock, Instant, MonotonicWallClock
from ingest.errors import CaptureError, CaptureErrorCode

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

MAX_HELD_BYTES: Final = 8 * 1024 * 1024
MAX_HELD_PACKETS: Final = 1_000

_UNTIMED_FORMATS: Final = frozenset({"mpjpeg", "mjpeg", "jpeg_pipe", "image2pipe"})
"""Formats whose frames have no time of their own; FFmpeg counts 25 a second."""

_SEGMENTED_FORMATS: Final = frozenset({"hls"})
"""Streams that come in chunks of seconds and are played at their own pace."""


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


class _HeldPackets:
    """The undecoded packets of a stream at rest, from its last key frame on.

    The key frame itself was decoded when it arrived; ``glimpsed_seconds`` is its time within the
    stream.
    """

    def __init__(self, glimpsed_seconds: float | None) -> None:
        self.glimpsed_seconds = glimpsed_seconds
        self.packets: list[tuple[av.Packet[Any], Instant]] = []
        self._size_bytes = 0

    def add(self, packet: "av.Packet[Any]", arrival: Instant) -> None:
        self.packets.append((packet, arrival))
        self._size_bytes += packet.size

    @property
    def is_full(self) -> bool:
        return self._size_bytes > MAX_HELD_BYTES or len(self.packets) > MAX_HELD_PACKETS


class CameraStream:
    """An open connection to a camera, or an open video file. Use it as a context manager."""

    def __init__(
        self,
        opened: OpenedStream,
        decoder_threads: int,
        deadline: ConnectionDeadline,
        played: PlayedSegments,
        now: Clock | None = None,
        device: VideoDevice | None = None,
    ) -> None:
        """Prepare decoding; ``device`` is the one that the stream was opened with, if any.

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
        self._device = device
        self._bad_packets = 0
        self._effort = DecodeEffort.ALL
        self._now = now or MonotonicWallClock()
        self._sizes = PacketSizeMonitor()
        self._is_still = False
        self._held: _HeldPackets | None = None
        self.at_keyframe = True

    def reduce_decoding(self, is_still: bool) -> None:
        """Say whether anything moves in the frames so far.

        While nothing does, all but key frames are held back, from the next one on. After a glimpse
        in which something moves, what was held back since the one before comes next, then the
        glimpsed frame again.
        """
        self._is_still = is_still

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
                yield from self._frames_of(packet, self._now())
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

    def _frames_of(self, packet: "av.Packet[Any]", arrival: Instant) -> Iterator[StreamFrame]:
        """Yield the frames that a packet gives, or what was held back until it came."""
        if packet.is_keyframe:
            self._sizes.key_frame(arrival.seconds, packet.pts)
            if self._held is not None or self._can_reduce():
                yield from self._at_key_frame(packet, arrival)
                return
        elif self._rises(packet, arrival):
            yield from self._open()
        if self._held is not None and not self._held.is_full and packet.size:
            self._held.add(packet, arrival)
            return
        yield from self._open()
        yield from self._decoded(packet, arrival)

    def _rises(self, packet: "av.Packet[Any]", arrival: Instant) -> bool:
        self._sizes.shown_at(packet.pts)
        if not self._is_still:
            self._sizes.skip()
            return False
        return self._sizes.rises(packet.size, arrival.seconds)

    def _can_reduce(self) -> bool:
        return self._is_still and self._effort is DecodeEffort.ALL and self._sizes.can_reduce()

    def _at_key_frame(self, packet: "av.Packet[Any]", arrival: Instant) -> Iterator[StreamFrame]:
        """Decode a key frame by itself, and continue to hold packets back unless it moves."""
        if self._held is None:
            for frame in self._drained():
                yield self._as_frame(frame, arrival)
        frames = self._decode_alone(packet)
        if not frames:
            # No key frame, whatever it calls itself: nothing of this stream can be left out.
            self._sizes.distrust()
            yield from self._open()
            yield from self._decoded(packet, arrival)
            return
        self._await_frame()
        process_key_frame = self._as_frame(frames[0], arrival)
        yield replace(process_key_frame, is_glimpse=True)
        if self._can_reduce():
            self._held = _HeldPackets(process_key_frame.stream_seconds)
            self._held.add(packet, arrival)
            return
        yield from self._open()
        yield from self._decoded(packet, arrival)

    def _open(self) -> Iterator[StreamFrame]:
        """Yield what was held back, if anything: the frames after the key frame that was seen."""
        held, self._held = self._held, None
        if held is None:
            return
        # The key frame was decoded by itself.
        self._video.codec_context.flush_buffers()
        for packet, arrival in held.packets:
            for frame in self._decoded(packet, arrival):
                if frame.stream_seconds is None or frame.stream_seconds != held.glimpsed_seconds:
                    yield replace(frame, was_held_back=True)

    def _decoded(self, packet: "av.Packet[Any]", arrival: Instant) -> Iterator[StreamFrame]:
        for frame in self._decode(packet):
            self._await_frame()
            yield self._as_frame(frame, arrival)

    def _decode_alone(self, packet: "av.Packet[Any]") -> list[av.VideoFrame]:
        """Decode a packet as if it were the only one: nothing is kept back for those after it."""
        self._video.codec_context.flush_buffers()
        return self._decode(packet) or self._drained()

    def _drained(self) -> list[av.VideoFrame]:
        """Return the frames that the decoder keeps back, and have it begin anew."""
        context = self._video.codec_context
        frames: list[av.VideoFrame] = []
        with suppress(av.error.FFmpegError):
            frames = [each for each in context.decode(None) if isinstance(each, av.VideoFrame)]
        context.flush_buffers()
        for frame in frames:
            # Which PyAV takes from the packet otherwise.
            frame.time_base = self._video.time_base
            if is_too_large(frame.width, frame.height):
                raise CaptureError(CaptureErrorCode.TOO_LARGE)
        return frames

    def _as_frame(self, frame: av.VideoFrame, arrival: Instant) -> StreamFrame:
        return StreamFrame(
            DecodedFrame(frame, decoder_of(frame, self._device)),
            self._stream_seconds(frame),
            self._sender_start_ms(),
            arrival,
        )

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
