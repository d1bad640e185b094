"""Relays between FFmpeg and an RTSP camera, so that FFmpeg only reaches the checked IP address.

FFmpeg follows a camera's redirect (RFC 2326, section 11.3) to any destination, verifies
certificates differently, and knows only MD5 digests. So FFmpeg connects to a local socket, and the
relay connects to the camera, over TLS for rtsps. It adds the password to FFmpeg's requests. Until
the stream is open, the relay parses the camera's messages and forwards them in an unambiguous form.
It never forwards a redirect. Over UDP, FFmpeg exchanges packets with the checked IP address.
"""

import re
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from ingest.capture.authentication import Login
from ingest.errors import CaptureErrorCode, refusal

_BLOCK_BYTES: Final = 65_536
_MAX_HEAD_BYTES: Final = 65_536
_MAX_BODY_BYTES: Final = 1_048_576
_SEND_SECONDS: Final = 30.0

_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_ANSWER: Final = re.compile(rb"RTSP/\d\.\d ([1-5]\d\d)(?: [\x20-\x7e\x80-\xff]*)?")
_REQUEST: Final = re.compile(rb"[A-Z_]{1,32} [\x21-\x7e]{1,4096} RTSP/\d\.\d")
_FIELD: Final = re.compile(rb"([A-Za-z0-9-]{1,64})[ \t]*:[ \t]*([\x20-\x7e\x80-\xff\t]{0,4000})")
_LENGTH: Final = re.compile(rb"\d{1,7}")
_CHALLENGE: Final = re.compile(r"^WWW-Authenticate[ \t]*:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_SOURCE: Final = re.compile(r";source=[^;]*", re.IGNORECASE)

Fields = tuple[tuple[bytes, bytes], ...]


class RtspMessage(NamedTuple):
    """A request, a response, or interleaved data with its header (``first`` is then empty)."""

    first: bytes
    fields: Fields
    body: bytes

    @property
    def status(self) -> int:
        """The status of a response, otherwise 0."""
        answer = _ANSWER.fullmatch(self.first)
        return int(answer[1]) if answer else 0

    def values(self, name: bytes) -> list[str]:
        """Return the values of a field, whose ``name`` is in lower case."""
        return [v.strip().decode("latin-1") for key, v in self.fields if key.lower() == name]

    def having(self, name: bytes, value: bytes) -> "RtspMessage":
        """Return this message with one value of a field."""
        others = (field for field in self.fields if field[0].lower() != name.lower())
        return self._replace(fields=(*others, (name, value)))

    def encoded(self) -> bytes:
        """Return the bytes to send, in an unambiguous form."""
        if not self.first:
            return self.body
        fields = (key + b": " + value for key, value in self.fields)
        return b"\r\n".join((self.first, *fields, b"", self.body))


class MessageReader:
    """Parses the messages of one side of a connection. No I/O.

    **Source:** RFC 2326, sections 4 (messages) and 10.12 (interleaved data).
    """

    def __init__(self) -> None:
        """Create a parser at the start of a message."""
        self._begun = b""

    def add(self, data: bytes) -> Iterator[RtspMessage]:
        """Add received bytes, and yield the messages that are complete.

        Raises:
            ValueError: the data is not RTSP.
        """
        self._begun += data
        while (message := self._next_message()) is not None:
            yield message

    def rest(self) -> bytes:
        """Return the bytes of an incomplete message, which is then no longer parsed."""
        rest, self._begun = self._begun, b""
        return rest

    def _next_message(self) -> RtspMessage | None:
        # Some cameras send additional line breaks after a message.
        self._begun = self._begun.lstrip(b"\r\n")
        if self._begun.startswith(b"$"):
            begin, end = 0, 4 + int.from_bytes(self._begun[2:4], "big")
            first, fields = b"", Fields()
        else:
            head = _HEAD_END.search(self._begun, 0, _MAX_HEAD_BYTES)
            if head is None:
                if len(self._begun) > _MAX_HEAD_BYTES:
                    raise ValueError("the header of an RTSP message is incomplete")
                return None
            first, fields = _head(self._begun[: head.start()])
            begin, end = head.end(), head.end() + _body_bytes(fields)
        if len(self._begun) < end:
            return None
        body, self._begun = self._begun[begin:end], self._begun[end:]
        return RtspMessage(first, fields, body)


def _head(text: bytes) -> tuple[bytes, Fields]:
    first, *lines = (line.removesuffix(b"\r") for line in text.split(b"\n"))
    if not _ANSWER.fullmatch(first) and not _REQUEST.fullmatch(first):
        raise ValueError("the data is not an RTSP message")
    found = (match for line in lines if (match := _FIELD.fullmatch(line)))
    return first, tuple((match[1], match[2]) for match in found)


def _body_bytes(fields: Fields) -> int:
    lengths = {value.strip() for key, value in fields if key.lower() == b"content-length"}
    length = lengths.pop() if lengths else b"0"
    if lengths or not _LENGTH.fullmatch(length) or int(length) > _MAX_BODY_BYTES:
        raise ValueError("the body length of an RTSP message is invalid")
    return int(length)


class RtspRelay:
    """One connection of FFmpeg to a camera. A separate thread forwards the data.

    The thread ends when either side or :meth:`close` closes the connection.
    """

    def __init__(
        self, camera: socket.socket, host: str, login: Login, *, over_udp: bool = False
    ) -> None:
        """Listen for FFmpeg. The relay takes ownership of ``camera``, a connected socket.

        ``host`` is the camera's host and port. ``over_udp``: FFmpeg gets the video over UDP.
        """
        self._camera = camera
        self._over_udp = over_udp
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1)
        self._login = login
        self._hosts = f"//127.0.0.1:{self.port}/", f"//{host}/"
        self._answers, self._requests = MessageReader(), MessageReader()
        self._request = RtspMessage(b"", Fields(), b"")
        self._count = 0
        self._is_open = self._is_closed = self._is_retried = False
        self._ours: socket.socket | None = None
        self.refusal: CaptureErrorCode | None = None
        """The reason why the camera's responses lead to no video, or None."""
        self.redirected_to: str | None = None
        """Target of a redirect (can be empty), or None. After a redirect, no data is forwarded."""
        self.rejects_tcp = False
        """Whether the camera sends its video only over UDP."""
        self.has_answered = False
        """Whether the camera has sent a complete response."""
        threading.Thread(target=self._run, name="rtsp-relay", daemon=True).start()

    @property
    def port(self) -> int:
        """The port for FFmpeg, on 127.0.0.1."""
        return int(self._listener.getsockname()[1])

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
                for message in self._requests.add(data):
                    self._send(message)
            if self._camera in readable and not self._answer(ours):
                return

    def _send(self, message: RtspMessage) -> None:
        """Forward a message of FFmpeg to the camera, a request with the password."""
        if not _REQUEST.fullmatch(message.first):
            self._camera.sendall(message.encoded())
            return
        self._request = message
        self._is_retried = False
        self._send_request()

    def _send_request(self) -> None:
        method, uri, version = self._request.first.decode("latin-1").split(" ")
        uri = uri.replace(*self._hosts, 1)
        self._count += 1
        request = self._request._replace(first=f"{method} {uri} {version}".encode("latin-1"))
        request = request.having(b"CSeq", b"%d" % self._count)
        authorization = self._login.authorization(method, uri)
        if authorization is not None:
            request = request.having(b"Authorization", authorization)
        self._camera.sendall(request.encoded())

    def _retry(self, challenges: list[str]) -> bool:
        """Repeat the request with the password. Return False if that cannot help."""
        if self._is_retried or not self._login.challenged(challenges):
            return False
        self._is_retried = True
        self._send_request()
        return True

    def _answer(self, ours: socket.socket) -> bool:
        """Forward received data to FFmpeg. Return whether more data can follow."""
        data = self._received()
        if data is None:
            return True
        if not data:
            if self.refusal is CaptureErrorCode.SILENT:
                self.refusal = CaptureErrorCode.ENDED
            return False
        if self._is_open:
            rest = self._answers.rest()
            ours.sendall(rest + data if rest else data)
            # The challenge of the requests that keep the session alive can expire.
            if b"RTSP/1.0 401 " in data:
                self._retry(_CHALLENGE.findall(data.decode("latin-1")))
            return True
        try:
            for message in self._answers.add(data):
                forwarded = self._forwarded(message)
                if self.redirected_to is not None:
                    return False
                ours.sendall(forwarded)
        except ValueError:
            self.refusal = CaptureErrorCode.NOT_VIDEO
            raise
        return True

    def _forwarded(self, message: RtspMessage) -> bytes:
        """Return the data for FFmpeg, which is empty if the request is repeated."""
        status, is_setup = message.status, self._request.first.startswith(b"SETUP ")
        transport = "".join(message.values(b"transport"))
        self.has_answered = self.has_answered or status > 0
        if 300 <= status < 400:
            self.redirected_to = next(iter(message.values(b"location")), "")
        elif status == 401 and self._retry(message.values(b"www-authenticate")):
            return b""
        elif status >= 400:
            self.refusal = refusal(status)
            self.rejects_tcp = self.refusal is CaptureErrorCode.TRANSPORT
        elif is_setup and self._over_udp:
            first = _SOURCE.sub("", transport.partition(",")[0])
            transport = f"{first};source={self._camera.getpeername()[0]}"
            message = message.having(b"Transport", transport.encode("latin-1"))
        elif is_setup and transport and "tcp" not in transport.lower():
            self.rejects_tcp = True
        elif status and self._request.first.startswith(b"PLAY "):
            is_udp = self._over_udp
            self.refusal = CaptureErrorCode.TRANSPORT if is_udp else CaptureErrorCode.SILENT
        elif not message.first:
            self.refusal = None
        return message.encoded()

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
