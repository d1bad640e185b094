"""An open stream, however it was opened: its decoded frames, or why there are no more."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import av
import av.container
import av.error

from contracts.pictures import MAX_PIXELS, is_too_large
from ingest import ffmpeg
from ingest.decoding import DecodeEffort
from ingest.faults import CaptureError, CaptureFault
from ingest.http_source import HttpBody
from ingest.pictures import Picture
from ingest.played_segments import PlayedSegments
from ingest.watch import Watch

ffmpeg.tame()

DECODER_OPTIONS: Final = {"max_pixels": str(MAX_PIXELS + MAX_PIXELS // 40)}
"""Coded sizes are rounded up to whole blocks; what they show is judged once more."""

_OVER_MAX_PIXELS: Final = "exceeds specified max pixel count"

_MOST_BAD_PACKETS: Final = 250
"""So many undecodable packets in a row (10 s at 25 a second) end a connection."""

_UNTIMED_FORMATS: Final = frozenset({"mpjpeg", "mjpeg", "jpeg_pipe", "image2pipe"})
"""Pictures without a time of their own; FFmpeg counts them as 25 a second."""

_SEGMENTED_FORMATS: Final = frozenset({"hls"})
"""Streams that come in chunks of seconds and are played at their own pace."""


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
class OpenedStream:
    """What FFmpeg opened; over HTTP also the body that it reads, which it does not close."""

    container: av.container.InputContainer
    body: HttpBody | None = None

    def close(self) -> None:
        """Close the connection or the file."""
        self.container.close()
        if self.body is not None:
            self.body.close()


class CameraStream:
    """An open connection to a camera, or an open video file. Use it as a context manager."""

    def __init__(
        self, opened: OpenedStream, decoder_threads: int, watch: Watch, played: PlayedSegments
    ) -> None:
        """Take what FFmpeg has opened, and by how many threads it is decoded.

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
                if self.at_keyframe and not self._played.is_old:
                    is_old = False
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


def _reading_fault(error: Exception) -> CaptureFault:
    if isinstance(error, av.error.EOFError):
        return CaptureFault.ENDED
    if isinstance(error, av.error.InvalidDataError):
        return CaptureFault.UNDECODABLE
    return CaptureFault.SILENT
