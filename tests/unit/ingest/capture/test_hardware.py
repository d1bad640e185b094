"""Video is decoded by a device if a device opens, and otherwise by the CPU. Both are reported."""

from pathlib import Path

import av
import pytest
from structlog.testing import capture_logs

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture import hardware
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.hardware import DecodingChoice, VideoDevice, decoder_of, find_device
from ingest.capture.messages import CaptureLimits
from ingest.capture.opening import open_stream

CLIP = Path("deploy/local/demo/road.mp4").resolve()
RULES = StreamUrlRules(files_folder=CLIP.parent)
LIMITS = CaptureLimits(open_timeout_seconds=5, read_timeout_seconds=5)
WITHOUT_DECODER = VideoDevice("drm")
"""A device type that FFmpeg supports but FFmpeg's H.264 decoder does not."""


class Devices:
    """The devices of a machine. Only devices in ``usable`` open."""

    def __init__(self, *usable: VideoDevice) -> None:
        self.usable = set(usable)
        self.tried: list[VideoDevice] = []

    def open(self, device: VideoDevice) -> bool:
        """Record the attempt, and return whether the device opens."""
        self.tried.append(device)
        return device in self.usable


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Devices:
    made = Devices(VideoDevice("qsv"), VideoDevice("cuda", "1"))
    monkeypatch.setattr(hardware, "hwdevices_available", lambda: ["cuda", "qsv", "drm"])
    monkeypatch.setattr(VideoDevice, "opens", lambda device: made.open(device))
    return made


def test_auto_takes_the_first_device_that_opens(devices: Devices) -> None:
    assert find_device("auto") == VideoDevice("qsv")
    assert devices.tried == [VideoDevice("cuda"), VideoDevice("qsv")]


def test_a_named_device_is_the_only_one_that_is_tried(devices: Devices) -> None:
    assert find_device("cuda:1") == VideoDevice("cuda", "1")
    assert find_device("cuda") is None
    assert devices.tried == [VideoDevice("cuda", "1"), VideoDevice("cuda")]


def test_nothing_is_tried_where_it_is_off(devices: Devices) -> None:
    assert find_device("off") is None
    assert devices.tried == []


def test_a_device_that_is_gone_is_not_asked_again(devices: Devices) -> None:
    choice = DecodingChoice(VideoDevice("qsv"))
    assert choice.next() == VideoDevice("qsv")

    devices.usable.clear()
    with capture_logs() as logs:
        assert choice.next() is None
    devices.usable.add(VideoDevice("qsv"))

    assert choice.next() is None
    assert [log["event"] for log in logs] == ["video_device_disabled"]


@pytest.mark.parametrize("kind", ["cuda", "qsv", "vaapi", "none_such"])
def test_a_device_that_is_not_there_does_not_open(kind: str) -> None:
    assert not VideoDevice(kind, "9").opens()


def test_what_a_device_cannot_decode_the_processor_does() -> None:
    url = parse_stream_url(f"file://{CLIP}", RULES)
    deadline = ConnectionDeadline()
    with open_stream(url, RULES, LIMITS, deadline, device=WITHOUT_DECODER) as stream:
        frame = next(stream.frames()).decoded

    assert (frame.width_px, frame.decoder) == (1920, "software")


def test_a_frame_from_a_device_is_recognised_by_its_format() -> None:
    device = VideoDevice("cuda")

    assert decoder_of(av.VideoFrame(64, 64, "nv12"), device) == "cuda"
    assert decoder_of(av.VideoFrame(64, 64, "yuv420p"), device) == "software"
    assert decoder_of(av.VideoFrame(64, 64, "nv12"), None) == "software"
