"""What a connection to a camera may take, in time and in bytes, until its next picture."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from ingest.faults import CaptureError, CaptureFault

FRAME_SECONDS: Final = 90.0
"""Longest time without a picture, whatever else comes: some cameras send one a minute. Encoders
that save bandwidth send key pictures up to half a minute apart, and without one nothing can be
decoded."""

KEY_FRAME_SECONDS: Final = 45.0
"""The same while only key pictures are decoded. Streams with one at most (intra refresh, an endless
group of pictures) show nothing any more then; a new connection decodes all again."""

BYTES_BETWEEN_FRAMES: Final = 32 * 1024 * 1024
"""Most that comes between two pictures, and so most that FFmpeg gathers for one: ten seconds of
25 Mbit/s before a key picture, or the largest JPEG (40 Mpx) at 0.8 bytes a pixel."""


class Watch:
    """Ends a connection that gives no picture in time, and any that nobody wants any longer.

    A socket's own time-out begins anew with each byte, so a peer that sends one at a time never
    meets it, and inside FFmpeg nobody asks whether to go on. So what reads from a camera asks here.
    One for all connections of a reader, one connection at a time; :meth:`stop` may come from any
    thread, the rest is for the reader's own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a monotonic clock, in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._is_stopped = False
        self._waits_on: socket.socket | None = None
        self.over: CaptureFault | None = None
        """What ended this connection, where the watch did."""
        self._fault = CaptureFault.UNREACHABLE
        self._deadline_seconds = clock() + FRAME_SECONDS
        self._bytes = 0

    def begin(self, open_seconds: float) -> None:
        """Note that a connection begins, which has to be open after so many seconds."""
        self.over = None
        self._expect(CaptureFault.UNREACHABLE, open_seconds)

    def await_frame(self, *, key_frame: bool = False) -> None:
        """Note that the connection is open, or that a picture came: the next one has its time.

        ``key_frame`` says that none but a key picture is decoded.
        """
        self._expect(CaptureFault.SILENT, KEY_FRAME_SECONDS if key_frame else FRAME_SECONDS)

    def stop(self) -> None:
        """End the connection, and all later ones; what waits for a byte waits no longer."""
        with self._lock:
            self._is_stopped = True
            if self._waits_on is not None:
                with suppress(OSError):
                    # Not ssl's own, which takes the cipher away from under the reader's thread.
                    socket.socket.shutdown(self._waits_on, socket.SHUT_RDWR)

    def check(self) -> None:
        """Return if the connection may go on.

        Raises:
            CaptureError: its time is over, or it is to end.
        """
        self.seconds(FRAME_SECONDS)

    def seconds(self, most: float) -> float:
        """Return how long the next step may take, ``most`` or less.

        Raises:
            CaptureError: the connection's time is over, or it is to end.
        """
        if self._is_stopped:
            raise CaptureError(CaptureFault.ENDED)
        # FFmpeg passes over some faults, and goes on with what it has of a picture.
        if self.over is not None:
            raise CaptureError(self.over)
        left = self._deadline_seconds - self._clock()
        if left <= 0:
            self._end(self._fault)
        return min(most, left)

    @contextmanager
    def waiting_on(self, connection: socket.socket, most_seconds: float) -> Iterator[None]:
        """Let the connection's time-out be what is left, and :meth:`stop` break it off.

        Raises:
            CaptureError: the connection's time is over, or it is to end.
        """
        with self._lock:
            connection.settimeout(self.seconds(most_seconds))
            self._waits_on = connection
        try:
            yield
        except TimeoutError:
            self.check()
            raise
        finally:
            with self._lock:
                self._waits_on = None

    def count(self, size_bytes: int) -> None:
        """Count what has come.

        Raises:
            CaptureError: it is too much without a picture.
        """
        self._bytes += size_bytes
        if self._bytes > BYTES_BETWEEN_FRAMES:
            self._end(CaptureFault.TOO_MUCH)

    def forget_bytes(self) -> None:
        """Note that what has come so far is not what is waited for."""
        self._bytes = 0

    def _end(self, fault: CaptureFault) -> NoReturn:
        self.over = fault
        raise CaptureError(fault)

    def _expect(self, fault: CaptureFault, within_seconds: float) -> None:
        self._fault = fault
        self._deadline_seconds = self._clock() + within_seconds
        self._bytes = 0
