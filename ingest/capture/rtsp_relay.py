"""Relays between FFmpeg and an RTSP camera, so that FFmpeg only reaches the checked IP address.

FFmpeg follows a camera's redirect (RFC 2326, section 11.3) to any destination, and verifies
certificates differently. So FFmpeg connects to a local socket, and the relay connects to the
camera, over TLS for rtsps. Until the stream is open, the relay parses the camera's messages and
forwards them in an unambiguous form. It never forwards a redirect.
"""

import re
import select
import socket
import ssl
import threading
from contextlib import suppress
from typing import Final

from ingest.errors import CaptureErrorCode

_BLOCK_BYTES: Final = 65_536
_MAX_HEAD_BYTES: Final = 65_536
_MAX_BODY_BYTES: Final = 1_048_576
_SEND_SECONDS: Final = 30.0

_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_ANSWER: Final = re.compile(rb"RTSP/\d\.\d ([1-5]\d\d)(?: [\x20-\x7e\x80-\xff]*)?")
_REQUEST: Final = re.compile(rb"[A-Z_]{1,32} [\x21-\x7e]{1,2048} RTSP/\d\.\d")
_FIELD: Final = re.compile(rb"([A-Za-z0-9-]{1,64})[ \t]*:[ \t]*([\x20-\x7e\x80-\xff\t]{0,4000})")
_LENGTH: Final = re.compile(rb"\d{1,7}")


class AnswerReader:
    """Parses a camera's messages until the stream is open. No I/O.

    **Source:** RFC 2326, sections 4 (messages) and 10.12 (interleaved data).
    """

    def __init__(self) -> None:
        """Create a parser at the start of a message."""
        self._begun = b""
        self._body_bytes = 0
        self.redirected_to: str | None = None
        """Target of a redirect (can be empty), or None. After a redirect, no data is forwarded."""

    def add(self, data: bytes) -> bytes:
        """Add received bytes, and return the bytes to forward: complete headers and their bodies.

        Raises:
            ValueError: the data is not RTSP.
        """
        self._begun += data
        out = bytearray()
        while self._begun and self.redirected_to is None:
            taken = self._next_message()
            if taken is None:
                break
            out += taken
        return bytes(out)

    def rest(self) -> bytes:
        """Return the bytes that were added but not yet forwarded."""
        rest, self._begun = self._begun, b""
        return rest

    def _next_message(self) -> bytes | None:
        """Return the next bytes to forward, or None until more data has been added."""
        if self._body_bytes:
            return self._cut(min(self._body_bytes, len(self._begun)), is_body=True)
        if self._begun.startswith(b"$"):
            if len(self._begun) < 4:
                return None
            self._body_bytes = int.from_bytes(self._begun[2:4], "big")
            return self._cut(4)
        # Some cameras send additional line breaks after a message.
        self._begun = self._begun.lstrip(b"\r\n")
        end = _HEAD_END.search(self._begun, 0, _MAX_HEAD_BYTES)
        if end is None:
            if len(self._begun) > _MAX_HEAD_BYTES:
                raise ValueError("the header of an RTSP message is incomplete")
            return None
        head = self._cut(end.end())
        return self._head(head[: end.start()].split(b"\n"))

    def _cut(self, size: int, *, is_body: bool = False) -> bytes:
        piece, self._begun = self._begun[:size], self._begun[size:]
        if is_body:
            self._body_bytes -= size
        return piece

    def _head(self, lines: list[bytes]) -> bytes:
        """Return a message's header in an unambiguous form."""
        first = lines[0].removesuffix(b"\r")
        answer = _ANSWER.fullmatch(first)
        if answer is None and not _REQUEST.fullmatch(first):
            raise ValueError("the data is not an RTSP message")
        fields = [match for line in lines[1:] if (match := _FIELD.fullmatch(line.rstrip(b"\r")))]
        if answer is not None and answer[1].startswith(b"3"):
            places = [match[2] for match in fields if match[1].lower() == b"location"]
            self.redirected_to = places[0].strip().decode("ascii", "replace") if places else ""
            return b""
        self._body_bytes = _body_bytes(fields)
        return b"\r\n".join((first, *(match[1] + b": " + match[2] for match in fields), b"", b""))


def _body_bytes(fields: list[re.Match[bytes]]) -> int:
    lengths = {match[2].strip() for match in fields if match[1].lower() == b"content-length"}
    if not lengths:
        return 0
    length = lengths.pop()
    if lengths or not _LENGTH.fullmatch(length) or int(length) > _MAX_BODY_BYTES:
        raise ValueError("the body length of an RTSP message is invalid")
    return int(length)


class RtspRelay:
    """One connection of FFmpeg to a camera. A separate thread forwards the data.

    The thread ends when either side or :meth:`close` closes the connection.
    """

    def __init__(self, camera: socket.socket) -> None:
        """Listen for FFmpeg. The relay takes ownership of ``camera``, a connected socket."""
        self._camera = camera
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1)
        self._reader = AnswerReader()
        self._is_open = False
        self._is_closed = False
        self._ours: socket.socket | None = None
        self.refusal: CaptureErrorCode | None = None
        """The reason why the relay closed the connection, or None."""
        threading.Thread(target=self._run, name="rtsp-relay", daemon=True).start()

    @property
    def port(self) -> int:
        """The port for FFmpeg, on 127.0.0.1."""
        return int(self._listener.getsockname()[1])

    @property
    def redirected_to(self) -> str | None:
        """Target of the camera's redirect, or None if the camera did not redirect."""
        return self._reader.redirected_to

    def opened(self) -> None:
        """Record that the stream is open. FFmpeg then no longer follows redirects."""
        self._is_open = True

    def close(self) -> None:
        """Close both connections without waiting for the thread. Any thread can call this."""
        self._is_closed = True
        for connection in (self._listener, self._camera, self._ours):
            if connection is not None:
                with suppress(OSError):
                    # SSLSocket.shutdown() would drop the cipher that the relay's thread is using.
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _run(self) -> None:
        with self._camera, self._listener, suppress(OSError, ValueError):
            self._ours, _ = self._listener.accept()
            # Accept only one client, so that other local processes cannot reach the camera.
            self._listener.close()
            with self._ours:
                if not self._is_closed:
                    self._pass_on(self._ours)

    def _pass_on(self, ours: socket.socket) -> None:
        for connection in (ours, self._camera):
            connection.settimeout(_SEND_SECONDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            readable, _, _ = select.select((ours, self._camera), (), ())
            if ours in readable:
                data = ours.recv(_BLOCK_BYTES)
                if not data:
                    return
                self._camera.sendall(data)
            if self._camera in readable and not self._answer(ours):
                return

    def _answer(self, ours: socket.socket) -> bool:
        """Forward received data to FFmpeg. Return whether more data can follow."""
        data = self._received()
        if data is None:
            return True
        if not data:
            return False
        if self._is_open:
            rest = self._reader.rest()
            ours.sendall(rest + data if rest else data)
            return True
        try:
            ours.sendall(self._reader.add(data))
        except ValueError:
            self.refusal = CaptureErrorCode.NOT_VIDEO
            raise
        return self._reader.redirected_to is None

    def _received(self) -> bytes | None:
        """Return the camera's available data, empty at the end, or None if there is no data yet.

        TLS has messages without application data.
        """
        parts: list[bytes] = []
        self._camera.settimeout(0)
        try:
            while True:
                parts.append(self._camera.recv(_BLOCK_BYTES))
                # select() does not report data that TLS has already decrypted.
                if not isinstance(self._camera, ssl.SSLSocket) or not self._camera.pending():
                    return b"".join(parts)
        except (BlockingIOError, ssl.SSLWantReadError):
            return b"".join(parts) or None
        finally:
            self._camera.settimeout(_SEND_SECONDS)
