"""HLS cameras that stall while their server still responds, and their recovery."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.messages import CaptureLimits, ReaderSettings
from ingest.capture.reading import CapturedFrame, FrameReader
from ingest.clocks import MonotonicWallClock
from ingest.errors import CaptureErrorCode
from tests.integration.ingest.clips import write_clip
from tests.integration.ingest.http_cameras import HttpCamera, write_playlist

pytestmark = pytest.mark.integration

ADDRESSES = StreamUrlRules(allow_loopback=True)
RULES = ReaderSettings(
    addresses=ADDRESSES,
    limits=CaptureLimits(open_timeout_seconds=3, read_timeout_seconds=1),
    reconnect_min_seconds=0.1,
    reconnect_max_seconds=0.1,
)
_SEGMENTS = 6


class Heard:
    """Reports of a reader: the number of frames, and the faults of its connections."""

    def __init__(self) -> None:
        self.frames = 0
        self.faults: list[CaptureErrorCode] = []

    def follow(self, reader: FrameReader) -> None:
        for connection in reader.connections():
            with connection:
                for event in connection:
                    self.frames += isinstance(event, CapturedFrame)
            if not connection.is_stopped:
                self.faults.append(connection.error_code)

    def wait(self, *, frames: int = 0, faults: int = 0, seconds: float = 30) -> None:
        """Wait until at least this many frames and faults were reported."""
        deadline = time.monotonic() + seconds
        while self.frames < frames or len(self.faults) < faults:
            assert time.monotonic() < deadline, (self.frames, self.faults)
            threading.Event().wait(0.02)


class LiveFolder:
    """Six segments of one second each, and a playlist that the test writes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        clip = write_clip(folder / "clip.mp4", seconds=_SEGMENTS, moving=True)
        self.name = write_playlist(folder, clip)
        assert len(list(folder.glob("live*.ts"))) == _SEGMENTS

    def publish(self, *numbers: int, sequence: int, name: str = "live", end: bool = False) -> None:
        """Write the playlist. Segments with other names are copies of the ``live`` segments."""
        lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1", f"#EXT-X-MEDIA-SEQUENCE:{sequence}"]
        for number in numbers:
            content = (self.path / f"live{number}.ts").read_bytes()
            (self.path / f"{name}{number}.ts").write_bytes(content)
            lines += ["#EXTINF:1.0,", f"{name}{number}.ts"]
        whole = self.path / "next.m3u8"
        whole.write_text("\n".join([*lines, *(["#EXT-X-ENDLIST"] if end else []), ""]))
        whole.replace(self.path / self.name)


@pytest.fixture
def folder(tmp_path: Path) -> LiveFolder:
    """A live camera that has reached its third segment."""
    folder = LiveFolder(tmp_path)
    folder.publish(0, 1, 2, sequence=10)
    return folder


@pytest.fixture
def heard(folder: LiveFolder) -> Iterator[Heard]:
    heard = Heard()
    with HttpCamera(folder.path) as camera:
        url = parse_stream_url(camera.url(f"/hls/{folder.name}"), ADDRESSES)
        reader = FrameReader("test", url, RULES, MonotonicWallClock())
        reader.start(heard.follow)
        yield heard
        reader.stop()
        assert reader.join(15)


@pytest.mark.long
def test_a_stalled_camera_is_silent_until_its_playlist_goes_on(
    folder: LiveFolder, heard: Heard
) -> None:
    # The third segment is read once; then the stall affects three connections.
    heard.wait(faults=3, seconds=60)
    assert heard.frames == 25
    assert heard.faults[1:] == [CaptureErrorCode.SILENT] * 2

    folder.publish(1, 2, 3, sequence=11)
    heard.wait(frames=50)
    heard.wait(faults=5, seconds=60)

    assert heard.frames == 50


def test_a_live_camera_that_ends_its_playlist_is_not_played_as_a_recording(
    folder: LiveFolder, heard: Heard
) -> None:
    heard.wait(frames=1)
    folder.publish(0, 1, 2, sequence=10, end=True)
    heard.wait(faults=5)

    assert heard.frames == 25
    assert set(heard.faults[1:]) == {CaptureErrorCode.ENDED}
