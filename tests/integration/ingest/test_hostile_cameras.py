"""Data from a camera takes limited time and memory, and is released with the camera."""

import resource
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture import deadline
from ingest.capture.camera_stream import MAX_ALLOCATION_BYTES
from ingest.capture.deadline import BYTES_BETWEEN_FRAMES, ConnectionDeadline
from ingest.capture.decoded_frame import StreamFrame
from ingest.capture.messages import CaptureLimits, ReaderSettings
from ingest.capture.opening import open_stream
from ingest.capture.reading import FrameReader
from ingest.clocks import MonotonicWallClock
from ingest.errors import CaptureError, CaptureErrorCode
from tests.integration.ingest.clips import transport_stream
from tests.integration.ingest.hostile_cameras import (
    HEAD,
    MULTIPART,
    PART,
    PLAYLIST,
    HostileCamera,
    dripping,
    flooding,
    saying,
    showing,
)

pytestmark = pytest.mark.integration

RULES = StreamUrlRules(allow_loopback=True)
LIMITS = CaptureLimits(open_timeout_seconds=1, read_timeout_seconds=1)
SOCKET_BUFFERS_BYTES = 16 * 1024 * 1024
"""Maximum that the kernel buffers for a connection; 3 to 6 MB were seen."""

DRIPS = {
    "first line": dripping(b"HTTP/1.1 2"),
    "heads": dripping(HEAD, b"X: y\r\n"),
    "heads before the answer": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "boundary": dripping(MULTIPART),
    "part": dripping(MULTIPART + PART + b"Content-Length: 1000000\r\n\r\n\xff\xd8"),
    "length of a chunk": dripping(
        MULTIPART.replace(b"OK\r\n", b"OK\r\nTransfer-Encoding: chunked\r\n"), b"0"
    ),
    "end of the chunks": dripping(
        MULTIPART.replace(b"OK\r\n", b"OK\r\nTransfer-Encoding: chunked\r\n") + b"0\r\n",
        b"X: y\r\n",
    ),
    "unknown format": dripping(HEAD + b"Content-Type: video/x-own\r\n\r\n"),
    "playlist": dripping(PLAYLIST + b"#EXTM3U\n", b"#EXTINF:1,\n"),
}
drips = pytest.mark.parametrize("answer", DRIPS.values(), ids=DRIPS.keys())


def _frames(url: str, count: int, limits: CaptureLimits = LIMITS) -> list[StreamFrame]:
    with open_stream(parse_stream_url(url, RULES), RULES, limits, ConnectionDeadline()) as stream:
        return [frame for frame, _ in zip(stream.frames(), range(count), strict=False)]


def _fault(url: str, count: int = 1) -> CaptureErrorCode:
    with pytest.raises(CaptureError) as caught:
        _frames(url, count)
    return caught.value.code


@drips
def test_a_camera_that_drips_is_closed_in_time(answer: Callable[[], Iterator[bytes]]) -> None:
    with HostileCamera(answer) as camera:
        begin = time.monotonic()
        assert _fault(camera.url()) is CaptureErrorCode.UNREACHABLE
        assert time.monotonic() - begin < 2 * LIMITS.open_timeout_seconds + 1
        assert camera.left.wait(2)


def test_an_rtsp_camera_that_drips_is_closed_in_time() -> None:
    with HostileCamera(dripping(b"RTSP/1.0 200 OK\r\nX: ")) as camera:
        begin = time.monotonic()
        assert _fault(camera.url(scheme="rtsp")) is CaptureErrorCode.UNREACHABLE
        assert time.monotonic() - begin < 2 * LIMITS.open_timeout_seconds + 1
        assert camera.left.wait(2)


def test_frames_have_to_come_whatever_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "FRAME_SECONDS", 1.0)
    first = next(showing(64, 64)()) + next(_parts(64, 64))
    with (
        HostileCamera(dripping(first, PART + b"Content-Length: 1\r\n\r\n1\r\n")) as camera,
        open_stream(
            parse_stream_url(camera.url(), RULES), RULES, LIMITS, ConnectionDeadline()
        ) as stream,
    ):
        frames = stream.frames()
        next(frames)
        begin = time.monotonic()
        with pytest.raises(CaptureError) as caught:
            list(frames)
    assert caught.value.code is CaptureErrorCode.SILENT
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize(
    "begin",
    [
        MULTIPART + PART + b"Content-Length: 2000000000\r\n\r\n\xff\xd8",
        MULTIPART + PART + b"\r\n\xff\xd8",
        HEAD + b"Content-Type: image/jpeg\r\n\r\n\xff\xd8\xff\xc0",
        HEAD + b"Content-Type: video/mp4\r\n\r\n" + struct.pack(">I4s", 2**31, b"moov"),
    ],
    ids=["a part that states its length", "one that does not", "a JPEG", "an MP4"],
)
def test_what_comes_without_a_frame_is_bounded(begin: bytes) -> None:
    with HostileCamera(flooding(begin)) as camera:
        fault = _fault(camera.url())

    assert fault in (
        CaptureErrorCode.TOO_MUCH,
        CaptureErrorCode.NOT_VIDEO,
        CaptureErrorCode.UNDECODABLE,
    )
    assert camera.sent_bytes < BYTES_BETWEEN_FRAMES + SOCKET_BUFFERS_BYTES


def test_the_body_of_a_redirect_is_not_read() -> None:
    begin = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"
    with HostileCamera(flooding(begin)) as camera:
        assert _fault(camera.url()) is CaptureErrorCode.UNREACHABLE

    assert camera.sent_bytes < SOCKET_BUFFERS_BYTES


def test_an_endless_playlist_is_refused_early() -> None:
    begin = PLAYLIST + b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
    with HostileCamera(flooding(begin, b"#EXTINF:1,\na.ts\n" * 4096)) as camera:
        assert _fault(camera.url()) is CaptureErrorCode.TOO_MUCH

    assert camera.sent_bytes < SOCKET_BUFFERS_BYTES


@pytest.mark.parametrize(
    "line", [b"#EXT-X-STREAM-INF:\nx\n", b'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",URI="x"\n']
)
def test_a_playlist_of_endless_renditions_is_refused(line: bytes) -> None:
    with HostileCamera(saying(PLAYLIST + b"#EXTM3U\n" + line * 100)) as camera:
        assert _fault(camera.url()) is CaptureErrorCode.TOO_MUCH


def test_a_playlist_that_names_itself_is_refused() -> None:
    asked: list[None] = []

    def answer() -> Iterator[bytes]:
        asked.append(None)
        yield PLAYLIST + b"#EXTM3U\n" + b"#EXT-X-STREAM-INF:\n/x?%d\n" % len(asked) * 10

    with HostileCamera(answer) as camera:
        assert _fault(camera.url()) in (CaptureErrorCode.TOO_MUCH, CaptureErrorCode.NOT_VIDEO)

    assert len(asked) < 200


@pytest.mark.parametrize(("width_px", "height_px"), [(9000, 9000), (10_016, 32), (32, 10_016)])
def test_frames_of_unusual_sizes_are_rejected(width_px: int, height_px: int) -> None:
    with HostileCamera(showing(width_px, height_px)) as camera:
        assert _fault(camera.url()) is CaptureErrorCode.TOO_LARGE


@pytest.mark.parametrize(("width_px", "height_px"), [(8000, 5000), (10_000, 4000)])
def test_the_largest_frames_are_read(width_px: int, height_px: int) -> None:
    limits = CaptureLimits(open_timeout_seconds=10, read_timeout_seconds=5)
    with HostileCamera(showing(width_px, height_px)) as camera:
        (frame,) = _frames(camera.url(), 1, limits)

    jpeg = frame.decoded.jpeg(50)
    assert (jpeg.width_px, jpeg.height_px) == (width_px, height_px)


def test_oversized_video_is_rejected() -> None:
    begin = HEAD + b"Content-Type: video/mp2t\r\n\r\n"
    with HostileCamera(saying(begin + transport_stream([(8192, 5120)], frames=2))) as camera:
        assert _fault(camera.url()) is CaptureErrorCode.TOO_LARGE


def test_a_short_file_that_promises_many_frames_takes_little_memory() -> None:
    begin = HEAD + b"Content-Type: video/mp4\r\n\r\n"
    before = _resident_bytes()
    with HostileCamera(saying(begin + _promising_mp4(20_000_000))) as camera:
        url = parse_stream_url(camera.url(), RULES)
        with open_stream(url, RULES, LIMITS, ConnectionDeadline()):
            assert _resident_bytes() - before < MAX_ALLOCATION_BYTES


def _ignore_frames(reader: FrameReader) -> None:
    for connection in reader.connections():
        with connection:
            for _ in connection:
                pass


def _reader(url: str, *, patient: bool) -> FrameReader:
    limits = CaptureLimits(open_timeout_seconds=30, read_timeout_seconds=30)
    rules = ReaderSettings(
        addresses=RULES,
        limits=limits if patient else LIMITS,
        reconnect_min_seconds=0.1,
        reconnect_max_seconds=1,
    )
    return FrameReader("camera", parse_stream_url(url, RULES), rules, MonotonicWallClock())


def _parts(width_px: int, height_px: int) -> Iterator[bytes]:
    pieces = showing(width_px, height_px)()
    next(pieces)
    return pieces


def _promising_mp4(frames: int) -> bytes:
    """Return a short MP4 with one chunk of ``frames`` frames of one byte each."""
    sample = _box(b"avc1", bytes(6), struct.pack(">H", 1), bytes(16), struct.pack(">HH", 640, 480))
    table = _box(
        b"stbl",
        _box(b"stsd", struct.pack(">II", 0, 1), sample + bytes(50)),
        _box(b"stts", struct.pack(">IIII", 0, 1, frames, 1)),
        _box(b"stsc", struct.pack(">IIIII", 0, 1, 1, frames, 1)),
        _box(b"stsz", struct.pack(">III", 0, 1, frames)),
        _box(b"stco", struct.pack(">III", 0, 1, 4000)),
    )
    header = struct.pack(">IIIII", 0, 0, 0, 1000, 1000)
    media = _box(
        b"mdia",
        _box(b"mdhd", header, bytes(4)),
        _box(b"hdlr", bytes(8), b"vide", bytes(13)),
        _box(b"minf", _box(b"vmhd", bytes(12)), table),
    )
    track = _box(b"trak", _box(b"tkhd", bytes(84)), media)
    moov = _box(b"moov", _box(b"mvhd", header, bytes(80)), track)
    return _box(b"ftyp", b"isom", bytes(4), b"isom") + moov + _box(b"mdat", bytes(100_000))


def _box(name: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I4s", len(content) + 8, name) + content


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
