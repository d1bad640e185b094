"""An RTSP camera with two video streams, which later sends only the second stream."""

import socket
import struct
import threading
import time

import cv2
import numpy as np

from tests.integration.ingest.http_cameras import TalkingCamera

_MEDIA = b"".join(b"m=video 0 RTP/AVP 26\r\na=control:%d\r\n" % number for number in (1, 2))
_SDP = b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n" + _MEDIA
_BOTH_SECONDS = 1.0
_SIDE_PX = 64


class TwoStreamCamera(TalkingCamera):
    """Sends motion JPEG on two channels for a second, and then on one channel forever."""

    def __init__(self) -> None:
        super().__init__()
        self.left = threading.Event()
        """Set once the peer has closed its connection."""

    @property
    def url(self) -> str:
        return f"rtsp://127.0.0.1:{self.port}/x"

    def _talk(self, peer: socket.socket) -> None:
        try:
            with peer:
                _negotiate(peer)
                _play(peer)
        except OSError:
            self.left.set()


def _negotiate(peer: socket.socket) -> None:
    """Respond to requests up to PLAY (RFC 2326)."""
    requests = peer.makefile("rb")
    method = b""
    while method != b"PLAY":
        method = requests.readline().split()[0]
        fields = {}
        while (line := requests.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            fields[name.lower()] = value.strip()
        answer = b"RTSP/1.0 200 OK\r\nCSeq: %b\r\nSession: 1\r\n" % fields[b"cseq"]
        if method == b"SETUP":
            answer += b"Transport: %b\r\n" % fields[b"transport"]
        body = _SDP if method == b"DESCRIBE" else b""
        if body:
            answer += b"Content-Type: application/sdp\r\nContent-Length: %d\r\n" % len(body)
        peer.sendall(answer + b"\r\n" + body)


def _play(peer: socket.socket) -> None:
    """Send one RTP packet per frame within the connection (RFC 2326, 10.12; RFC 2435)."""
    jpeg = cv2.imencode(".jpg", np.zeros((_SIDE_PX, _SIDE_PX, 3), np.uint8))[1].tobytes()
    coded = jpeg[jpeg.index(b"\xff\xda") + 14 :]
    frame = struct.pack(">IBBBB", 0, 1, 80, _SIDE_PX // 8, _SIDE_PX // 8) + coded
    begin = time.monotonic()
    for number in range(10_000):
        for channel in (0, 1) if time.monotonic() - begin < _BOTH_SECONDS else (1,):
            head = struct.pack(">BBHII", 0x80, 0x80 | 26, number, number * 3600, channel + 1)
            packet = head + frame
            peer.sendall(struct.pack(">cBH", b"$", 2 * channel, len(packet)) + packet)
        time.sleep(0.04)
