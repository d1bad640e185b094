"""HTTP cameras: correct, faulty, and silent ones."""

import atexit
import base64
import functools
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import av
import cv2
import numpy as np

from tests.services.peers import PeerServer
from tests.services.rtsp_quirks import PASSWORD, USER, is_proved

_PROTECTED = ("/basic", "/digest", "/sha-256")
_ANY_KIND = "application/octet-stream"
_REALM, _NONCE = "camera", "0123456789abcdef"


class HttpCamera:
    """Serves on a free port: ``/mjpeg``, ``/basic``, ``/digest``, ``/sha-256`` (with a password),
    ``/page`` (HTML), ``/hls/…`` (files of a folder), ``/to?<address>`` (a redirect).
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(folder, _image()))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def port(self) -> int:
        return self._server.server_port

    def url(self, path: str, *, user: str = "") -> str:
        login = f"{user}@" if user else ""
        return f"http://{login}127.0.0.1:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class SilentCamera(PeerServer):
    """Accepts connections and never responds."""

    def talk(self, peer: socket.socket) -> None:
        while peer.recv(65_536):
            pass


@functools.cache
def closed_port() -> int:
    """Return a port without a listener, which is reserved while this process runs."""
    held = socket.socket()
    atexit.register(held.close)
    held.bind(("127.0.0.1", 0))
    return int(held.getsockname()[1])


def write_playlist(folder: Path, clip: Path) -> str:
    """Write a clip as HLS into a folder, and return the name of the playlist."""
    playlist = folder / "live.m3u8"
    options = {"hls_time": "1", "hls_list_size": "0"}
    with av.open(str(clip)) as source, av.open(str(playlist), "w", "hls", options) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    return playlist.name


def _image() -> bytes:
    image = np.random.default_rng(1).integers(0, 255, (360, 640, 3), dtype=np.uint8)
    return cv2.imencode(".jpg", image)[1].tobytes()


def _handler(folder: Path | None, image: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            path, _, query = self.path.partition("?")
            if path == "/to":
                self._head(302, Location=query)
            elif path == "/page":
                self._body("text/html", b"<html><body>Please log in</body></html>")
            elif path == "/mjpeg" or (path in _PROTECTED and self._may(path)):
                self._play()
            elif path in _PROTECTED:
                self._head(401, **{"WWW-Authenticate": _challenge(path)})
            elif folder is not None and (folder / Path(path).name).is_file():
                is_playlist = path.endswith(".m3u8")
                kind = "application/vnd.apple.mpegurl" if is_playlist else _ANY_KIND
                self._body(kind, (folder / Path(path).name).read_bytes())
            else:
                self._head(404)

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests."""

        def _may(self, path: str) -> bool:
            given = self.headers.get("Authorization", "")
            if path == "/basic":
                return given == "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            return is_proved(given, "GET", PASSWORD, _NONCE)

        def _play(self) -> None:
            self._head(200, **{"Content-Type": "multipart/x-mixed-replace; boundary=frame"})
            part = b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%b\r\n"
            try:
                while True:
                    self.wfile.write(part % (len(image), image))
                    time.sleep(0.1)
            except OSError:
                return

        def _body(self, media_type: str, body: bytes) -> None:
            self._head(200, **{"Content-Type": media_type, "Content-Length": str(len(body))})
            self.wfile.write(body)

        def _head(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

    return Handler


def _challenge(path: str) -> str:
    if path == "/basic":
        return f'Basic realm="{_REALM}"'
    algorithm = "MD5" if path == "/digest" else "SHA-256"
    return f'Digest realm="{_REALM}", nonce="{_NONCE}", qop="auth", algorithm={algorithm}'
