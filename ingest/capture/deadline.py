"""The limits of a camera connection until its next frame: time and bytes."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from ingest.capture.rtsp_relay import RtspRelay
from ingest.errors import CaptureError, CaptureErrorCode

FRAME_SECONDS: Final = 90.0
"""Longest time without a frame, whatever else comes: some cameras send one a minute. Encoders
that save bandwidth send key frames up to half a minute apart, and without one nothing can be
decoded."""

KEY_FRAME_SECONDS: Final = 45.0
"""The same while only key frames are decoded. Streams with a single one (intra refresh, an endless
group of pictures) show nothing any more then; a new connection decodes all again."""

BYTES_BETWEEN_FRAMES: Final = 32 * 1024 * 1024
"""Limit between two frames, and so of what FFmpeg gathers for one: ten seconds of 25 Mbit/s before
a key frame, or the largest JPEG (40 Mpx) at 0.8 bytes a pixel."""


class ConnectionDeadline:
    """Ends a connection that gives no frame in time, or that was stopped.

    A socket's own time-out restarts with each byte, so a peer that sends one at a time never meets
    it, and FFmpeg has no such check. So all code that reads from a camera checks here. One for all
    connections of a reader, one connection at a time; :meth:`stop` may come from any
    thread, the rest is for the reader's own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` is monotonic, in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._is_stopped = False
        self._waiting_socket: socket.socket | None = None
        self._relay: RtspRelay | None = None
        self.expired_with: CaptureErrorCode | None = None
        """The reason for which this deadline ended the connection, if it did."""
        self._error_code = CaptureErrorCode.UNREACHABLE
        self._expires_seconds = clock() + FRAME_SECONDS
        self._bytes = 0

    def start(self, open_seconds: float) -> None:
        """Note that a connection begins, which has to be open after so many seconds."""
        self.expired_with = None
        self._expect(CaptureErrorCode.UNREACHABLE, open_seconds)

    def await_frame(self, *, key_frame: bool = False) -> None:
        """Start the time until the next frame: the connection is open, or a frame came.

        ``key_frame`` means that only key frames are decoded.
        """
        self._expect(CaptureErrorCode.SILENT, KEY_FRAME_SECONDS if key_frame else FRAME_SECONDS)

    def stop(self) -> None:
        """End this connection and all later ones; a pending read is broken off."""
        with self._lock:
            self._is_stopped = True
            if self._waiting_socket is not None:
                with suppress(OSError):
                    # Not ssl's own, which drops the cipher that the reader's thread is using.
                    socket.socket.shutdown(self._waiting_socket, socket.SHUT_RDWR)
            if self._relay is not None:
                self._relay.close()

    def break_off_at_stop(self, relay: RtspRelay) -> None:
        """Have :meth:`stop` end a connection of this reader's; the one before is over."""
        with self._lock:
            self._relay = relay
            if self._is_stopped:
                relay.close()

    def check(self) -> None:
        """Return if the connection may go on.

        Raises:
            CaptureError: its time is over, or it is to end.
        """
        self.remaining_seconds(FRAME_SECONDS)

    def remaining_seconds(self, limit_seconds: float) -> float:
        """Return the time for the next step, ``limit_seconds`` or less.

        Raises:
            CaptureError: the connection's time is over, or it is to end.
        """
        if self._is_stopped:
            raise CaptureError(CaptureErrorCode.ENDED)
        # FFmpeg ignores some errors, and goes on with the part of a frame that it has.
        if self.expired_with is not None:
            raise CaptureError(self.expired_with)
        left = self._expires_seconds - self._clock()
        if left <= 0:
            self._end(self._error_code)
        return min(limit_seconds, left)

    @contextmanager
    def guarded_wait(self, connection: socket.socket, limit_seconds: float) -> Iterator[None]:
        """Let the connection's time-out be what is left, and :meth:`stop` break it off.

        Raises:
            CaptureError: the connection's time is over, or it is to end.
        """
        with self._lock:
            connection.settimeout(self.remaining_seconds(limit_seconds))
            self._waiting_socket = connection
        try:
            yield
        except TimeoutError:
            self.check()
            raise
        finally:
            with self._lock:
                self._waiting_socket = None

    def count_bytes(self, size_bytes: int) -> None:
        """Count received bytes.

        Raises:
            CaptureError: it is too much without a frame.
        """
        self._bytes += size_bytes
        if self._bytes > BYTES_BETWEEN_FRAMES:
            self._end(CaptureErrorCode.TOO_MUCH)

    def reset_bytes(self) -> None:
        """Start the count again: the bytes so far belong to no frame that is awaited."""
        self._bytes = 0

    def _end(self, code: CaptureErrorCode) -> NoReturn:
        self.expired_with = code
        raise CaptureError(code)

    def _expect(self, code: CaptureErrorCode, within_seconds: float) -> None:
        self._error_code = code
        self._expires_seconds = self._clock() + within_seconds
        self._bytes = 0
