"""Limits the time and the data until the next frame of a camera connection."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from ingest.capture.rtsp_relay import RtspRelay
from ingest.errors import CaptureError, CaptureErrorCode

FRAME_SECONDS: Final = 90.0
"""Maximum time without a frame, even if other data arrives. Some cameras send one frame per minute.
Encoders that save bandwidth send key frames up to half a minute apart, and nothing can be decoded
without a key frame."""

KEY_FRAME_SECONDS: Final = 45.0
"""Maximum time without a frame while only key frames are decoded. Streams with a single key frame
(intra refresh, an endless GOP) then show nothing more. A new connection decodes all frames."""

BYTES_BETWEEN_FRAMES: Final = 32 * 1024 * 1024
"""Maximum data between two frames, which FFmpeg buffers: ten seconds of 25 Mbit/s before a key
frame, or the largest JPEG (40 Mpx) at 0.8 bytes per pixel."""


class ConnectionDeadline:
    """Ends a connection that delivers no frame in time or was stopped.

    A socket's timeout restarts with each byte, so a peer that sends one byte at a time never
    exceeds it. FFmpeg does not limit the total time. So all code that reads from a camera checks
    this deadline. A reader has one deadline for all of its connections. Any thread can call
    :meth:`stop`; only the reader's thread can call the other methods.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` returns the monotonic time in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._is_stopped = False
        self._waiting_socket: socket.socket | None = None
        self._relay: RtspRelay | None = None
        self.expired_with: CaptureErrorCode | None = None
        """The reason why this deadline ended the connection, or None."""
        self._error_code = CaptureErrorCode.UNREACHABLE
        self._expires_seconds = clock() + FRAME_SECONDS
        self._bytes = 0

    def start(self, open_seconds: float) -> None:
        """Start the deadline of a connection, which must be open within ``open_seconds``."""
        self.expired_with = None
        self._expect(CaptureErrorCode.UNREACHABLE, open_seconds)

    def await_frame(self, *, key_frame: bool = False) -> None:
        """Restart the time limit for the next frame. Call this after opening and after each frame.

        ``key_frame``: whether only key frames are decoded.
        """
        self._expect(CaptureErrorCode.SILENT, KEY_FRAME_SECONDS if key_frame else FRAME_SECONDS)

    def stop(self) -> None:
        """End this connection and all later connections, and cancel a pending read."""
        with self._lock:
            self._is_stopped = True
            if self._waiting_socket is not None:
                with suppress(OSError):
                    # SSLSocket.shutdown() would drop the cipher that the reader's thread is using.
                    socket.socket.shutdown(self._waiting_socket, socket.SHUT_RDWR)
            if self._relay is not None:
                self._relay.close()

    def close_on_stop(self, relay: RtspRelay) -> None:
        """Make :meth:`stop` close this relay instead of the previous relay, which has ended."""
        with self._lock:
            self._relay = relay
            if self._is_stopped:
                relay.close()

    def check(self) -> None:
        """Raise an error if the connection cannot continue.

        Raises:
            CaptureError: the connection timed out or was stopped.
        """
        self.remaining_seconds(FRAME_SECONDS)

    def remaining_seconds(self, limit_seconds: float) -> float:
        """Return the remaining time, at most ``limit_seconds``.

        Raises:
            CaptureError: the connection timed out or was stopped.
        """
        if self._is_stopped:
            raise CaptureError(CaptureErrorCode.ENDED)
        # FFmpeg ignores some errors and continues with a partial frame.
        if self.expired_with is not None:
            raise CaptureError(self.expired_with)
        left = self._expires_seconds - self._clock()
        if left <= 0:
            self._end(self._error_code)
        return min(limit_seconds, left)

    @contextmanager
    def guarded_wait(self, connection: socket.socket, limit_seconds: float) -> Iterator[None]:
        """Set the connection's timeout to the remaining time, and let :meth:`stop` cancel the wait.

        Raises:
            CaptureError: the connection timed out or was stopped.
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
            CaptureError: too many bytes were received without a frame.
        """
        self._bytes += size_bytes
        if self._bytes > BYTES_BETWEEN_FRAMES:
            self._end(CaptureErrorCode.TOO_MUCH)

    def reset_bytes(self) -> None:
        """Reset the count, because the received bytes do not belong to the awaited frame."""
        self._bytes = 0

    def _end(self, code: CaptureErrorCode) -> NoReturn:
        self.expired_with = code
        raise CaptureError(code)

    def _expect(self, code: CaptureErrorCode, within_seconds: float) -> None:
        self._error_code = code
        self._expires_seconds = self._clock() + within_seconds
        self._bytes = 0
