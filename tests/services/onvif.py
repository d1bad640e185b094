"""An ONVIF camera on a loopback address: WS-Discovery, device service and media service."""

import base64
import hashlib
import random
import re
import select
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Self
from xml.sax.saxutils import escape

from ingest.onvif import MULTICAST, PORT

USER, PASSWORD = "viewer", "p@ss/<*&"
CALLS: Final = ("GetSystemDateAndTime", "GetServices", "GetProfiles", "GetStreamUri")
"""The calls that list the streams of a camera with one profile."""
MEDIA: Final = "http://www.onvif.org/ver10/media/wsdl"
MEDIA_2: Final = "http://www.onvif.org/ver20/media/wsdl"
_CLOCK_AHEAD: Final = timedelta(days=-400)
"""Error of the camera's clock. The camera rejects passwords that do not have its time."""
_MAX_AGE: Final = timedelta(seconds=30)
_REFUSAL: Final = "<Fault><Code><Subcode><Value>ter:NotAuthorized</Value></Subcode></Code></Fault>"


class OnvifCamera:
    """A camera with its own loopback address and a profile for each of ``streams`` (URLs).

    ``answers`` replace the bodies of responses, by the name of the call; ``Probe`` is the answer
    to WS-Discovery. ``refusal`` is the status and header of responses to requests without HTTP
    authentication. Use the camera as a context manager.
    """

    def __init__(
        self,
        *streams: str,
        host: str = "",
        answers: Mapping[str, bytes] | None = None,
        media: str = MEDIA,
        refusal: tuple[int, str, str] | None = None,
    ) -> None:
        self.host = host or loopback_address()
        self.streams = streams
        self.answers = dict(answers or {})
        self.refusal = refusal
        self.logins: set[str] = set()
        """Methods of HTTP authentication that clients have used."""
        self.media = media
        self._is_ending = False
        handler = type("Handler", (_Handler,), {"camera": self})
        self._http = ThreadingHTTPServer((self.host, 0), handler)
        self._http.daemon_threads = True
        self._udp = [_bound(self.host), _bound(MULTICAST)]
        group = socket.inet_aton(MULTICAST) + socket.inet_aton("127.0.0.1")
        self._udp[1].setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
        serve_http = threading.Thread(target=self._http.serve_forever, args=(0.05,))
        self._threads = (serve_http, threading.Thread(target=self._serve_udp))

    @property
    def url(self) -> str:
        """URL of the device service."""
        return f"http://{self.host}:{self._http.server_port}/onvif/device_service"

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ending = True
        self._http.shutdown()
        for thread in self._threads:
            thread.join()
        self._http.server_close()
        for each in self._udp:
            each.close()

    def _serve_udp(self) -> None:
        while not self._is_ending:
            for ready in select.select(self._udp, (), (), 0.05)[0]:
                data, place = ready.recvfrom(65_535)
                if b"Probe" in data:
                    self._udp[0].sendto(self.answers.get("Probe", self._match()), place)

    def _match(self) -> bytes:
        scopes = "onvif://www.onvif.org/name/Gate%20north onvif://www.onvif.org/hardware/M1"
        urls = f"http://203.0.113.9/onvif/device_service {self.url}"
        return envelope(
            f"<ProbeMatches><ProbeMatch><Scopes>{scopes}</Scopes><XAddrs>{urls}</XAddrs>"
            "</ProbeMatch></ProbeMatches>"
        )

    def answer(self, name: str, body: str) -> bytes:
        """Return the response to a call, or a fault if its password is wrong."""
        if name in self.answers:
            return self.answers[name]
        if name == "GetSystemDateAndTime":
            now = datetime.now(UTC) + _CLOCK_AHEAD
            parts = ("Year", "Month", "Day", "Hour", "Minute", "Second")
            fields = (f"<{part}>{getattr(now, part.lower())}</{part}>" for part in parts)
            return envelope(f"<UTCDateTime>{''.join(fields)}</UTCDateTime>")
        if not _has_password(body):
            return envelope(_REFUSAL)
        if name == "GetServices":
            # Behind NAT, devices return addresses that clients cannot reach.
            place = "http://203.0.113.9:8080/onvif/media"
            named = f"<Namespace>{self.media}</Namespace><XAddr>{place}</XAddr>"
            return envelope(f"<Service>{named}</Service>")
        if name == "GetProfiles":
            return envelope("".join(map(self._profile, range(len(self.streams)))))
        token = re.search("<ProfileToken>(.*)</ProfileToken>", body)
        assert token is not None
        return envelope(f"<Uri>{escape(self.streams[int(token[1])])}</Uri>")

    def _profile(self, number: int) -> str:
        size = f"<Width>{1920 >> number}</Width><Height>{1080 >> number}</Height>"
        tag = "VideoEncoderConfiguration" if self.media == MEDIA else "VideoEncoder"
        video = f"<{tag}><Encoding>H264</Encoding><Resolution>{size}</Resolution></{tag}>"
        if self.media == MEDIA_2:
            video = f"<Configurations>{video}</Configurations>"
        return f'<Profiles token="{number}"><Name>Stream {number + 1}</Name>{video}</Profiles>'


class _Handler(BaseHTTPRequestHandler):
    camera: OnvifCamera

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        login = self.headers.get("Authorization")
        if login:
            self.camera.logins.add(login.partition(" ")[0])
        elif self.camera.refusal:
            status, *header = self.camera.refusal
            self.send_response(status)
            self.send_header(*header)
            self.end_headers()
            return
        name = re.search("<(?:s:)?Body><([A-Za-z]+)", body)
        assert name is not None
        answer = self.camera.answer(name[1], body)
        with suppress(OSError):
            self.send_response(400 if b"<Fault>" in answer else 200)
            self.send_header("Content-Type", "application/soap+xml")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""


def envelope(body: str) -> bytes:
    """Return a SOAP envelope."""
    return f'<e:Envelope xmlns:e="x"><e:Body>{body}</e:Body></e:Envelope>'.encode()


def loopback_address() -> str:
    """Return a loopback address that probably no other test uses."""
    return ".".join(["127", *(str(random.randint(1, 254)) for _ in range(3))])


def _has_password(body: str) -> bool:
    """Return whether a call has the digest of the password and the camera's time."""
    found = {
        name: unescape(re.sub("<[^>]*>", "", match[0]))
        for name in ("Username", "Password", "Nonce", "Created")
        if (match := re.search(f"<{name}[ >].*?</{name}>", body))
    }
    if found.get("Username") != USER:
        return False
    created = datetime.fromisoformat(found["Created"])
    secret = base64.b64decode(found["Nonce"]) + found["Created"].encode() + PASSWORD.encode()
    digest = base64.b64encode(hashlib.sha1(secret).digest()).decode()
    is_current = abs(datetime.now(UTC) + _CLOCK_AHEAD - created) < _MAX_AGE
    return is_current and found["Password"] == digest


def _bound(host: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, PORT))
    return made
