"""Reads a camera's frames, and reconnects after failures."""

import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import structlog

from common.retry import Backoff, RetryPolicy
from common.urls.streams import StreamScheme, StreamUrl
from ingest.capture.camera_stream import CameraStream
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.decode_control import DecodeControl
from ingest.capture.decoded_frame import DecodedFrame, StreamFrame
from ingest.capture.hardware import DecodingChoice, VideoDevice
from ingest.capture.hls import PlayedSegments
from ingest.capture.messages import ReaderSettings
from ingest.capture.opening import open_stream
from ingest.clocks import CaptureClock, Clock, Instant, LiveEdge, Pacer
from ingest.errors import CaptureError, CaptureErrorCode

log = structlog.get_logger(__name__)

_STABLE_SECONDS = 30.0
"""A connection that lasted for this time resets the reconnection pause."""

_RECONNECT_SPREAD = (0.75, 1.25)
"""Range of a random factor, which spreads the reconnections after a network switch restarts."""

_LOOP_GAP_SECONDS: Final = 0.04
"""Interval between the last frame of a file and the first frame of its repetition."""


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """The connection is open, and its first frame follows."""


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """One frame of a camera.

    ``stream_seconds`` is the time within the stream or, without times, of arrival (monotonic).
    ``captured_ms`` is Unix time (UTC), never after ``arrival``. For ``is_lone_key_frame`` and
    ``was_held_back``, see :class:`ingest.capture.decoded_frame.StreamFrame`.
    """

    frame: DecodedFrame
    stream_seconds: float
    captured_ms: int
    arrival: Instant
    is_lone_key_frame: bool = False
    was_held_back: bool = False


CaptureEvent = StreamOpened | CapturedFrame


class FrameReader:
    """Reads a stream URL until the reader is stopped, and reconnects after failures.

    A separate thread iterates over :meth:`connections`. Other threads call the other methods.
    """

    def __init__(
        self,
        name: str,
        url: StreamUrl,
        settings: ReaderSettings,
        now: Clock,
        device: VideoDevice | None = None,
    ) -> None:
        """Prepare reading. :meth:`start` starts the thread, which is named ``name``."""
        self.name = name
        self.url = url
        self.settings = settings
        self.now = now
        # Any thread can set ``stopped`` and stop ``deadline``.
        self.stopped = threading.Event()
        self.deadline = ConnectionDeadline()
        # These belong to the reader's thread.
        self.played = PlayedSegments()
        self.decoding = DecodingChoice(device)
        self._thread: threading.Thread | None = None
        self._backoff = Backoff(
            RetryPolicy(
                first_pause_seconds=settings.reconnect_min_seconds,
                longest_pause_seconds=settings.reconnect_max_seconds,
                spread=_RECONNECT_SPREAD,
            ),
            stable_seconds=_STABLE_SECONDS,
        )

    def start(self, follow: Callable[["FrameReader"], None]) -> None:
        """Start the thread with ``follow``, which must iterate over :meth:`connections`."""
        self._thread = threading.Thread(target=follow, args=(self,), name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, without waiting for its end.

        Pending reads over HTTP and RTSP are cancelled.
        """
        self.stopped.set()
        self.deadline.stop()

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the thread to end. Return whether it ended in time."""
        if self._thread is None:
            return True
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def connections(self) -> Iterator["CameraConnection"]:
        """Yield connections, with a pause after each, until :meth:`stop` is called."""
        while not self.stopped.is_set():
            started = self.now()
            connection = CameraConnection(self)
            yield connection
            if self.stopped.is_set():
                return
            pause_seconds = self._backoff.next_pause_seconds(self.now().seconds - started.seconds)
            log.info(
                "camera_connection_lost",
                reader=self.name,
                cause=connection.error_code.name.lower(),
                retry_seconds=round(pause_seconds, 1),
            )
            self.stopped.wait(pause_seconds)


class CameraConnection:
    """One connection, or all repetitions of a file. Only for the reader's thread.

    The connection is a context manager. Iterate over it for the connection's events. An error in
    the connection or in the ``with`` block is not raised, but stored as :attr:`error_code`.
    """

    def __init__(self, reader: FrameReader) -> None:
        self._reader = reader
        self._clock = CaptureClock()
        self._pacer: Pacer | None = None
        self._control = DecodeControl()
        self._edge = LiveEdge()
        self._base_seconds = 0.0
        self._last_seconds: float | None = None
        self._stream: CameraStream | None = None
        self._is_by_device = False
        self._events = self._read()
        self.error_code = CaptureErrorCode.ENDED
        """The reason why the connection ended; :attr:`CaptureErrorCode.ENDED` while it is open."""

    @property
    def is_stopped(self) -> bool:
        """Whether the reader was stopped. The end of the connection is then not a failure."""
        return self._reader.stopped.is_set()

    def reduce_decoding(self, is_still: bool) -> None:
        """Set whether the scene is still. In a still scene, only key frames of a live stream are
        decoded (see :mod:`ingest.capture.camera_stream`).
        """
        # A stream that is played at the recorded speed is read in bursts between key frames.
        if self._stream is not None and self._pacer is None:
            self._stream.reduce_decoding(is_still)

    def __enter__(self) -> Self:
        return self

    def __iter__(self) -> Iterator[CaptureEvent]:
        return self._events

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        # Ignore the error, because a stream that cannot be closed has already failed.
        with suppress(Exception):
            self._events.close()
        if isinstance(error, CaptureError):
            self.error_code = error.code
            if self._is_by_device and error.code is CaptureErrorCode.UNDECODABLE:
                self._reader.decoding.disable()
        elif isinstance(error, Exception):
            # Omit the message, because FFmpeg's errors contain the URL with the password.
            log.error(
                "stream_reader_failed",
                reader=self._reader.name,
                error=type(error).__name__,
                trace="".join(traceback.format_tb(trace)),
            )
            self.error_code = CaptureErrorCode.INTERNAL
        return error is None or isinstance(error, Exception)

    def _read(self) -> Generator[CaptureEvent, None, None]:
        """Yield events until the stream ends or fails (CaptureError), or the reader is stopped."""
        reader = self._reader
        is_file = reader.url.scheme is StreamScheme.FILE
        is_announced = False
        while not reader.stopped.is_set():
            device = reader.decoding.next()
            self._is_by_device = device is not None
            stream = open_stream(
                reader.url,
                reader.settings.addresses,
                reader.settings.limits,
                reader.deadline,
                reader.played,
                reader.now,
                device,
            )
            self._stream = stream
            with stream:
                if self._pacer is None and (is_file or stream.is_segmented):
                    self._pacer = Pacer()
                if not is_announced:
                    yield StreamOpened()
                    is_announced = True
                yield from self._play(stream)
            if not is_file or self._last_seconds is None:
                return
            self._base_seconds = self._last_seconds + _LOOP_GAP_SECONDS

    def _play(self, stream: CameraStream) -> Iterator[CapturedFrame]:
        first_seconds: float | None = None
        for frame in stream.frames():
            if self.is_stopped:
                return
            seconds = frame.stream_seconds
            if seconds is not None and self._reader.url.scheme is StreamScheme.FILE:
                first_seconds = seconds if first_seconds is None else first_seconds
                seconds = self._base_seconds + seconds - first_seconds
            if self._pacer is not None and seconds is not None:
                wait_seconds = self._pacer.wait_seconds(seconds, self._reader.now().seconds)
                if self._reader.stopped.wait(wait_seconds):
                    return
            captured = self._captured(stream, frame, seconds)
            if captured is not None:
                yield captured

    def _captured(
        self, stream: CameraStream, frame: StreamFrame, seconds: float | None
    ) -> CapturedFrame | None:
        """Return the frame with its times, or None if it belongs to a new connection's burst."""
        arrival = frame.arrival if self._pacer is None else self._reader.now()
        self._last_seconds = seconds
        if frame.was_held_back:
            captured_ms = self._clock.late_capture_ms(seconds, arrival.unix_ms)
            now_seconds = self._reader.now().seconds
            self._control.held_back(1000 * (now_seconds - arrival.seconds), now_seconds)
        else:
            backlog_ms = self._control.backlog_ms
            captured_ms = self._clock.capture_ms(
                seconds, arrival.unix_ms, frame.sender_start_ms, backlog_ms
            )
            if self._pacer is None and seconds is not None:
                lag_ms = self._clock.lag_ms
                stream.set_effort(self._control.next(lag_ms, stream.at_keyframe, arrival.seconds))
                if not self._edge.reached(seconds, arrival.seconds):
                    return None
                if self._control.backlog_ms:
                    # The frame waited while held-back frames were decoded.
                    arrival = arrival.later(-lag_ms / 1000)
                    captured_ms = min(captured_ms, arrival.unix_ms)
        return CapturedFrame(
            frame.decoded,
            arrival.seconds if seconds is None else seconds,
            captured_ms,
            arrival,
            frame.is_lone_key_frame,
            frame.was_held_back,
        )
