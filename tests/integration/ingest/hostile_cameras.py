"""Cameras under an attacker's control, which respond without end or one byte at a time."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import cv2
import numpy as np

from tests.services.peers import PeerServer

DRIP_SECONDS = 0.02
_BLOCK = b"\x01" * 65_536

HEAD = b"HTTP/1.1 200 OK\r\n"
MULTIPART = HEAD + b"Content-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n"
PLAYLIST = HEAD + b"Content-Type: application/vnd.apple.mpegurl\r\n\r\n"
PART = b"--b\r\nContent-Type: image/jpeg\r\n"


class HostileCamera(PeerServer):
    """Responds to any request with the pieces of ``answer``. Use it as a context manager."""

    def __init__(self, answer: Callable[[], Iterator[bytes]]) -> None:
        super().__init__()
        self._answer = answer
        self.sent_bytes = 0
        self.asked = threading.Event()
        self.left = threading.Event()
        """Set once a peer has closed its connection."""

    def url(self, path: str = "/x", scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def talk(self, peer: socket.socket) -> None:
        try:
            peer.recv(65_536)
            self.asked.set()
            for piece in self._answer():
                peer.sendall(piece)
                self.sent_bytes += len(piece)
            peer.shutdown(socket.SHUT_WR)
            peer.recv(1)
        finally:
            self.left.set()


def dripping(begin: bytes, drop: bytes = b"1") -> Callable[[], Iterator[bytes]]:
    """Return a response that sends one byte at a time after its beginning."""

    def answer() -> Iterator[bytes]:
        yield begin
        while True:
            time.sleep(DRIP_SECONDS)
            yield drop

    return answer


def flooding(begin: bytes, block: bytes = _BLOCK) -> Callable[[], Iterator[bytes]]:
    """Return a response that continues as fast as the client reads, after its beginning."""

    def answer() -> Iterator[bytes]:
        yield begin
        while True:
            yield block

    return answer


def showing(width_px: int, height_px: int) -> Callable[[], Iterator[bytes]]:
    """Return motion JPEG whose frames all have this size."""
    return playing([cv2.imencode(".jpg", np.zeros((height_px, width_px), np.uint8))[1].tobytes()])


def playing(jpegs: list[bytes]) -> Callable[[], Iterator[bytes]]:
    """Return motion JPEG that repeats these frames. The list can change meanwhile."""

    def answer() -> Iterator[bytes]:
        yield MULTIPART
        while True:
            for jpeg in tuple(jpegs):
                yield PART + b"Content-Length: %d\r\n\r\n%b\r\n" % (len(jpeg), jpeg)
                time.sleep(0.05)

    return answer


def saying(answer: bytes) -> Callable[[], Iterator[bytes]]:
    """Return a response that ends after ``answer``."""
    return lambda: iter([answer])
