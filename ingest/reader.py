"""The thread that keeps the connection to one camera."""

import random
import threading
import traceback
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from contracts.stream_urls import StreamScheme, StreamUrl, StreamUrlRules
from ingest.backoff import Backoff
from ingest.camera_stream import CameraStream, StreamFrame
from ingest.capture import CaptureLimits, open_stream
from ingest.capture_clock import CaptureClock
from ingest.decoding import DecodeControl
from ingest.faults import CaptureError, CaptureFault
from ingest.moments import Moment, Now
from ingest.pictures import Picture
from ingest.played_segments import PlayedSegments
from ingest.sampling import LiveEdge, Pacer
from ingest.watch import Watch

log = structlog.get_logger(__name__)

_LOOP_GAP_SECONDS: Final = 0.04
"""Between the last frame of a file and its first, when it is played again."""


class ReaderListener(Protocol):
    """Who hears from a reader, in the reader's thread."""

    def connected(self, reader: "Reader") -> None:
        """Hear that a new connection begins."""

    def frame(
        self,
        reader: "Reader",
        picture: Picture,
        stream_seconds: float,
        captured_ms: int,
        arrival: Moment,
    ) -> None:
        """Hear of a decoded frame."""

    def failed(self, reader: "Reader", fault: CaptureFault) -> None:
        """Hear that a connection failed or ended."""


@dataclass(frozen=True, kw_only=True)
class ReaderRules:
    """How cameras are connected to."""

    addresses: StreamUrlRules
    limits: CaptureLimits
    reconnect_min_seconds: float
    reconnect_max_seconds: float


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """What a reader shares with each of its connections.

    ``stop`` and ``watch`` are set from any thread, all else is used in the reader's.
    """

    url: StreamUrl
    rules: ReaderRules
    listener: ReaderListener
    now: Now
    stop: threading.Event
    watch: Watch
    played: PlayedSegments


class Reader:
    """Reads one stream address for as long as it is not stopped: connects again and again.

    Its methods are for other threads. Its own connects, waits, and tells the listener.
    """

    def __init__(
        self, name: str, url: StreamUrl, rules: ReaderRules, listener: ReaderListener, now: Now
    ) -> None:
        """Prepare; nothing runs before :meth:`start`. ``name`` names the thread."""
        self._shared = _Shared(
            url=url,
            rules=rules,
            listener=listener,
            now=now,
            stop=threading.Event(),
            watch=Watch(),
            played=PlayedSegments(),
        )
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._backoff = Backoff(
            rules.reconnect_min_seconds, rules.reconnect_max_seconds, random.random
        )
        self._log = log.bind(reader=name)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; returns at once.

        What is read over HTTP is broken off. FFmpeg's own connections (RTSP) cannot be: they end
        with the next packet, or within their time-outs.
        """
        self._shared.stop.set()
        self._shared.watch.stop()

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the thread's end; returns whether it came."""
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        stop, now = self._shared.stop, self._shared.now
        while not stop.is_set():
            started = now()
            fault = self._read_connection()
            if stop.is_set():
                return
            self._shared.listener.failed(self, fault)
            wait_seconds = self._backoff.next_wait_seconds(now().seconds - started.seconds)
            self._log.info(
                "camera_lost", fault=fault.name.lower(), retry_seconds=round(wait_seconds, 1)
            )
            stop.wait(wait_seconds)

    def _read_connection(self) -> CaptureFault:
        try:
            _Connection(self, self._shared).read()
        except CaptureError as error:
            return error.fault
        except Exception as error:
            # Without its message: FFmpeg's errors carry the address and its password.
            self._log.error(
                "reader_failed",
                error=type(error).__name__,
                trace="".join(traceback.format_tb(error.__traceback__)),
            )
            return CaptureFault.INTERNAL
        return CaptureFault.ENDED


class _Connection:
    """One connection from open to end; for a file, all its repetitions. In the reader's thread."""

    def __init__(self, reader: Reader, shared: _Shared) -> None:
        self._reader = reader
        self._shared = shared
        self._clock = CaptureClock()
        self._pacer: Pacer | None = None
        self._control = DecodeControl()
        self._edge = LiveEdge()
        self._base_seconds = 0.0
        self._last_seconds: float | None = None

    def read(self) -> None:
        """Read until the stream ends, fails, or the reader is stopped.

        Raises:
            CaptureError: the stream failed.
        """
        shared = self._shared
        is_file = shared.url.scheme is StreamScheme.FILE
        announced = False
        while not shared.stop.is_set():
            stream = open_stream(
                shared.url,
                shared.rules.addresses,
                shared.rules.limits,
                shared.watch,
                shared.played,
            )
            with stream:
                if not announced:
                    shared.listener.connected(self._reader)
                    announced = True
                if self._pacer is None and (is_file or stream.is_segmented):
                    self._pacer = Pacer()
                self._play(stream)
            if not is_file or self._last_seconds is None:
                return
            self._base_seconds = self._last_seconds + _LOOP_GAP_SECONDS

    def _play(self, stream: CameraStream) -> None:
        first_seconds: float | None = None
        for frame in stream.frames():
            if self._shared.stop.is_set():
                return
            seconds = frame.stream_seconds
            if seconds is not None and self._shared.url.scheme is StreamScheme.FILE:
                first_seconds = seconds if first_seconds is None else first_seconds
                seconds = self._base_seconds + seconds - first_seconds
            if self._pacer is not None and seconds is not None:
                wait_seconds = self._pacer.wait_seconds(seconds, self._shared.now().seconds)
                if self._shared.stop.wait(wait_seconds):
                    return
            self._hand_on(stream, frame, seconds)

    def _hand_on(self, stream: CameraStream, frame: StreamFrame, seconds: float | None) -> None:
        arrival = self._shared.now()
        self._last_seconds = seconds
        captured_ms = self._clock.capture_ms(seconds, arrival.unix_ms, frame.sender_start_ms)
        if self._pacer is None and seconds is not None:
            lag_ms = self._clock.lag_ms
            stream.set_effort(self._control.next(lag_ms, stream.at_keyframe, arrival.seconds))
            if not self._edge.reached(seconds, arrival.seconds):
                return
        sample_seconds = arrival.seconds if seconds is None else seconds
        self._shared.listener.frame(
            self._reader, frame.picture, sample_seconds, captured_ms, arrival
        )
