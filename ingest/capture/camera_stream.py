"""Reads the decoded frames of an open stream."""

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
"""Enough for the largest allowed frame as BGR (121 MB). Without a limit, a 100 kB MP4 whose header
claims 20 million frames took 700 MiB, and an RTSP response took as much as its body length."""


def configure_ffmpeg() -> None:
    """Limit the size of each FFmpeg allocation in this process, and disable FFmpeg's log.

    **Source:** ``av_max_alloc`` in libavutil/mem.h, which PyAV does not expose.
    """
    # FFmpeg logs complete URLs, including passwords.
    av.logging.set_level(av.logging.PANIC)
    # PyAV's library resolves FFmpeg's symbols. The names of FFmpeg's files vary between systems.
    limit = ctypes.CDLL(av._core.__file__).av_max_alloc
    limit.argtypes, limit.restype = [ctypes.c_size_t], None
    limit(MAX_ALLOCATION_BYTES)


configure_ffmpeg()

DECODER_OPTIONS: Final = {"max_pixels": str(MAX_PIXELS + MAX_PIXELS // 40)}
"""The margin allows for coded sizes in whole blocks. The visible size is checked separately."""

_OVER_MAX_PIXELS: Final = "exceeds specified max pixel count"

_MAX_BAD_PACKETS: Final = 250
"""Number of consecutive undecodable packets that end a connection (10 s at 25 per second)."""

MAX_HELD_BYTES: Final = 8 * 1024 * 1024
MAX_HELD_PACKETS: Final = 1_000

_UNTIMED_FORMATS: Final = frozenset({"mpjpeg", "mjpeg", "jpeg_pipe", "image2pipe"})
"""Formats whose frames have no timestamps, for which FFmpeg assumes 25 frames per second."""

_SEGMENTED_FORMATS: Final = frozenset({"hls"})
"""Formats that arrive in chunks of several seconds and are played at the recorded speed."""


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """An open FFmpeg container, and the connection that the container reads but does not close."""

    container: av.container.InputContainer
    connection: HttpBody | RtspRelay | None = None

    def close(self) -> None:
        """Close the connection or the file."""
        # Close the container first, because FFmpeg then ends the session with the camera.
        self.container.close()
        if self.connection is not None:
            self.connection.close()


class _HeldPackets:
    """The undecoded packets of a stream without motion, starting with the last key frame.

    The key frame was already decoded on arrival. ``key_frame_seconds`` is the key frame's time
    within the stream.
    """

    def __init__(self, key_frame_seconds: float | None) -> None:
        self.key_frame_seconds = key_frame_seconds
        self.packets: list[tuple[av.Packet[Any], Instant]] = []
        self._size_bytes = 0

    def add(self, packet: "av.Packet[Any]", arrival: Instant) -> None:
        self.packets.append((packet, arrival))
        self._size_bytes += packet.size

    @property
    def is_full(self) -> bool:
        return self._size_bytes > MAX_HELD_BYTES or len(self.packets) > MAX_HELD_PACKETS


class CameraStream:
    """An open connection to a camera, or an open video file, as a context manager."""

    def __init__(
        self,
        opened: OpenedStream,
        deadline: ConnectionDeadline,
        played: PlayedSegments,
        now: Clock | None = None,
        device: VideoDevice | None = None,
    ) -> None:
        """Prepare decoding. ``device`` is the device with which the stream was opened, if any.

        Raises:
            CaptureError: the stream contains no video.
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
        # More threads use more CPU time in total.
        self._video.thread_count = 1
        self._video.thread_type = "NONE"
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
        """Set whether the scene is still. In a still scene, only key frames are decoded.

        A change takes effect at the next key frame. If something moves in a key frame, the frames
        held back since the previous key frame follow, and then the same key frame again.
        """
        self._is_still = is_still

    @property
    def is_segmented(self) -> bool:
        """Whether the stream arrives in chunks that are played at the recorded speed."""
        return bool(self._formats & _SEGMENTED_FORMATS)

    def set_effort(self, effort: DecodeEffort) -> None:
        """Set which of the following frames are decoded."""
        if effort is not self._effort:
            self._video.codec_context.skip_frame = effort.value
            self._effort = effort
            self._await_frame()

    def frames(self) -> Iterator[StreamFrame]:
        """Yield all decoded frames until the stream ends, except frames that were already played.

        Raises:
            CaptureError: the connection failed, timed out or delivered nothing new, the stream
                cannot be decoded, or its frames are too large.
        """
        if self._played.is_over:
            raise CaptureError(CaptureErrorCode.ENDED)
        self._await_frame()
        is_old = self._played.is_old
        try:
            # Demux all streams, so that the deadline also applies to the data of other streams.
            for packet in self._container.demux():
                self._deadline.check()
                # Compare streams, not indexes: every stream's final packet has index 0.
                if packet.stream is not self._video:
                    continue
                self.at_keyframe = bool(packet.is_keyframe)
                # The last frames of an old segment arrive after the new segment was opened.
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
        """Yield the frames of a packet, after the held-back frames if the still scene ended."""
        if packet.is_keyframe:
            self._sizes.key_frame(arrival.seconds, packet.pts)
            if self._held is not None or self._can_reduce():
                yield from self._at_key_frame(packet, arrival)
                return
        elif not self._is_still:
            self._sizes.skip()
        elif self._sizes.rises(packet.size, arrival.seconds, packet.pts):
            yield from self._open()
        if self._held is not None and not self._held.is_full and packet.size:
            self._held.add(packet, arrival)
            return
        yield from self._open()
        yield from self._decoded(packet, arrival)

    def _can_reduce(self) -> bool:
        return self._is_still and self._effort is DecodeEffort.ALL and self._sizes.can_reduce()

    def _at_key_frame(self, packet: "av.Packet[Any]", arrival: Instant) -> Iterator[StreamFrame]:
        """Yield a key frame, decoded alone. Without motion, hold back this and later packets."""
        if self._held is None:
            for frame in self._drained():
                yield self._as_frame(frame, arrival)
        frames = self._decode_alone(packet)
        if not frames:
            # The packet is falsely marked as a key frame, so no frame can be skipped.
            self._sizes.distrust()
            yield from self._open()
            yield from self._decoded(packet, arrival)
            return
        self._await_frame()
        process_key_frame = self._as_frame(frames[0], arrival)
        yield replace(process_key_frame, is_lone_key_frame=True)
        if self._can_reduce():
            self._held = _HeldPackets(process_key_frame.stream_seconds)
            self._held.add(packet, arrival)
            return
        yield from self._open()
        yield from self._decoded(packet, arrival)

    def _open(self) -> Iterator[StreamFrame]:
        """Yield the held-back frames, if any, without the already decoded key frame."""
        held, self._held = self._held, None
        if held is None:
            return
        # Reset the decoder, which decoded the key frame alone.
        self._video.codec_context.flush_buffers()
        for packet, arrival in held.packets:
            for frame in self._decoded(packet, arrival):
                seconds, key_seconds = frame.stream_seconds, held.key_frame_seconds
                # Frames that are shown before the key frame (open GOP) lack their references.
                if seconds is None or key_seconds is None or seconds > key_seconds:
                    yield replace(frame, was_held_back=True)

    def _decoded(self, packet: "av.Packet[Any]", arrival: Instant) -> Iterator[StreamFrame]:
        for frame in self._decode(packet):
            self._await_frame()
            yield self._as_frame(frame, arrival)

    def _decode_alone(self, packet: "av.Packet[Any]") -> list[av.VideoFrame]:
        """Return the frames of a packet that is decoded alone, so that the decoder buffers none."""
        self._video.codec_context.flush_buffers()
        return self._decode(packet) or self._drained()

    def _drained(self) -> list[av.VideoFrame]:
        """Flush the decoder. Return the buffered frames and reset the decoder."""
        context = self._video.codec_context
        frames: list[av.VideoFrame] = []
        with suppress(av.error.FFmpegError):
            frames = [each for each in context.decode(None) if isinstance(each, av.VideoFrame)]
        context.flush_buffers()
        for frame in frames:
            # PyAV normally sets the time base from the packet.
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
            # Bad networks lose and truncate packets, so the decoder continues with the next packet.
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
