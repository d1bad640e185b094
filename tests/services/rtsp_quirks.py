"""Adds quirks of cameras to an RTSP server."""

import base64
import hashlib
import re
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from tests.services.peers import PeerServer

USER, PASSWORD = "viewer", "hunter2"
_HASHES: Final = {"": "md5", "MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}
_REALM: Final = "camera, front"


@dataclass(frozen=True, kw_only=True)
class Quirk:
    """How a camera differs from one that plays its first video to everyone.

    ``challenges`` are demands for a password: ``Basic``, or an algorithm of Digest and, after a
    blank, its other parameters. ``given`` is the wrong password in the URL, or None without login.
    ``statuses`` answer the requests with these methods; a request for TCP is ``TCP``.
    ``after_play`` is what follows the response to PLAY: video, silence or the end. ``alter``
    changes each response.
    """

    path: str = "/camera"
    challenges: tuple[str, ...] = ()
    password: str = PASSWORD
    given: str | None = ""
    has_new_nonces: bool = False
    statuses: Mapping[str, str] = field(default_factory=dict)
    after_play: str = "video"
    alter: Callable[[bytes], bytes] = lambda answer: answer


class QuirkyCamera(PeerServer):
    """Forwards requests to an RTSP server on 127.0.0.1, apart from its quirk.

    Use the camera as a context manager.
    """

    def __init__(self, port: int, quirk: Quirk) -> None:
        """Listen on a free port. ``port`` is the server's."""
        super().__init__()
        self._server_port = port
        self._quirk = quirk
        self._nonce = 0

    @property
    def url(self) -> str:
        """Stream URL, with a login if the camera requires one."""
        given = self._quirk.given
        login = f"{USER}:{quote(given or self._quirk.password, safe='')}@"
        has_login = self._quirk.challenges and given is not None
        host = f"127.0.0.1:{self.port}"
        return f"rtsp://{login if has_login else ''}{host}{self._quirk.path}"

    def talk(self, peer: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._server_port)) as camera:
            while request := _message(peer):
                method = request.split(b" ", 1)[0].decode()
                answer = self._own_answer(method, request.decode())
                if answer is None:
                    camera.sendall(re.sub(rb"Authorization: [^\r]*\r\n", b"", request))
                    answer = _message(camera)
                    if method == "PLAY":
                        break
                peer.sendall(self._quirk.alter(answer))
            else:
                return
            peer.sendall(self._quirk.alter(answer))
            self._play(peer, camera)

    def _play(self, client: socket.socket, camera: socket.socket) -> None:
        if self._quirk.after_play == "end":
            return
        threading.Thread(target=_pump, args=(client, camera), daemon=True).start()
        _pump(camera, client if self._quirk.after_play == "video" else None)

    def _own_answer(self, method: str, request: str) -> bytes | None:
        sequence = re.search(r"CSeq: (\d+)", request)
        assert sequence
        quirk = self._quirk
        wanted = ["TCP"] if "RTP/AVP/TCP" in request else []
        for status in (
            status for name, status in quirk.statuses.items() if name in (method, *wanted)
        ):
            return f"RTSP/1.0 {status}\r\nCSeq: {sequence[1]}\r\n\r\n".encode()
        if not quirk.challenges or method == "OPTIONS" or self._is_proved(method, request):
            return None
        lines = "".join(
            f"WWW-Authenticate: {self._challenge(each)}\r\n" for each in quirk.challenges
        )
        return f"RTSP/1.0 401 Unauthorized\r\nCSeq: {sequence[1]}\r\n{lines}\r\n".encode()

    def _challenge(self, text: str) -> str:
        if text == "Basic":
            return f'Basic realm="{_REALM}"'
        algorithm, _, rest = text.partition(" ")
        parameters = [f'Digest realm="{_REALM}"', f'nonce="{self._nonce:016x}"', *rest.split()]
        return ", ".join(parameters + ([f"algorithm={algorithm}"] if algorithm else []))

    def _is_proved(self, method: str, request: str) -> bool:
        given = re.search(r"Authorization: ([^\r]*)", request)
        if given is None:
            return False
        nonce = f"{self._nonce:016x}"
        self._nonce += self._quirk.has_new_nonces
        expected = base64.b64encode(f"{USER}:{self._quirk.password}".encode()).decode()
        if "Basic" in self._quirk.challenges and given[1] == f"Basic {expected}":
            return True
        return is_proved(given[1], method, self._quirk.password, nonce)


def is_proved(given: str, method: str, password: str, nonce: str) -> bool:
    """Return whether an Authorization field proves the password (RFC 7616, section 3.4)."""
    if not given.startswith("Digest "):
        return False
    fields = dict(re.findall(r'(\w+)="?([^",]+|(?<=")[^"]*)"?', given.removeprefix("Digest ")))
    fields["realm"] = re.search(r'realm="([^"]*)"', given)[1]  # type: ignore[index]
    if fields.get("username") != USER or fields.get("nonce") != nonce:
        return False
    algorithm = fields.get("algorithm", "")

    def digest(*parts: str) -> str:
        name = _HASHES[algorithm.removesuffix("-sess")]
        return hashlib.new(name, ":".join(parts).encode(), usedforsecurity=False).hexdigest()

    key = digest(USER, fields["realm"], password)
    if algorithm.endswith("-sess"):
        key = digest(key, nonce, fields["cnonce"])
    quality = (fields["nc"], fields["cnonce"], fields["qop"]) if "qop" in fields else ()
    proof: str = fields["response"]
    return proof == digest(key, nonce, *quality, digest(method, fields["uri"]))


def _message(source: socket.socket) -> bytes:
    """Return the next message with its body; empty at the end."""
    message = b""
    while not message.endswith(b"\r\n\r\n"):
        if not (byte := source.recv(1)):
            return b""
        message += byte
    length = re.search(rb"Content-Length: (\d+)", message, re.IGNORECASE)
    missing = int(length[1]) if length else 0
    while missing and (data := source.recv(missing)):
        message, missing = message + data, missing - len(data)
    return message


def _pump(source: socket.socket, target: socket.socket | None) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            if target is not None:
                target.sendall(data)
        if target is not None:
            target.shutdown(socket.SHUT_RDWR)
