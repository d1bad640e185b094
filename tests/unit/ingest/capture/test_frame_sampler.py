"""Frames in a capture process are sampled evenly, checked for motion, and encoded when needed."""

from dataclasses import dataclass, field

import av
import numpy as np
import pytest
from structlog.testing import capture_logs

from ingest.capture.decoded_frame import DecodedFrame
from ingest.capture.frame_sampler import FrameSampler
from ingest.capture.messages import EncodedImage, FrameSettings, Report, Sampled, StatusReport
from ingest.capture.reading import CapturedFrame
from ingest.capture.sampling import GreyImage
from ingest.clocks import Instant

START = Instant(1_800_000_000_000, 5_000.0)
OPEN = FrameSettings(
    motion_hold_seconds=None, jpeg_quality=80, max_width_px=0, snapshot_interval_seconds=5
)
GATED = FrameSettings(
    motion_hold_seconds=3, jpeg_quality=80, max_width_px=960, snapshot_interval_seconds=5
)


def picture(brightness: int = 100) -> av.VideoFrame:
    """Return a grey 1080p frame."""
    return av.VideoFrame.from_ndarray(np.full((1080, 1920), brightness, np.uint8), format="gray")


STILL, BRIGHT = DecodedFrame(picture(), "cuda"), DecodedFrame(picture(180), "cuda")


class BrokenFrame(DecodedFrame):
    def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
        raise MemoryError("no frame of this size")


class NoGrey(DecodedFrame):
    """A frame that cannot be checked for motion."""

    def grey(self) -> GreyImage:
        raise MemoryError


@dataclass
class View:
    """A sampler with its clock and its reports."""

    settings: FrameSettings
    instant: Instant = START
    reports: list[Report] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.looker = FrameSampler(7, self.settings, 5, self.reports.append)
        self.looker.connected()

    def play(self, seconds: float, frame: DecodedFrame) -> None:
        """Process a stream of 25 frames per second with this frame for some seconds."""
        for _ in range(round(seconds * 25)):
            self.instant = self.instant.later(0.04)
            now = self.instant
            self.looker.process(CapturedFrame(frame, now.seconds, now.unix_ms, now))

    def process_key_frame(self, frame: DecodedFrame) -> bool:
        """Skip two seconds and process a key frame; return whether the scene is in motion."""
        self.instant = self.instant.later(2)
        now = self.instant
        self.looker.process(CapturedFrame(frame, now.seconds, now.unix_ms, now, True))
        return not self.looker.is_still

    def looked(self, *, moves: bool = True) -> list[Sampled]:
        return [r for r in self.reports if isinstance(r, Sampled) and (r.moves or not moves)]

    def seen(self) -> list[StatusReport]:
        return [report for report in self.reports if isinstance(report, StatusReport)]


def test_five_frames_a_second_are_reported() -> None:
    view = View(OPEN)
    view.play(4, STILL)

    assert len(view.looked()) == 20
    assert sum(seen.decoded for seen in view.seen()) in range(90, 101)
    assert {report.width_px for report in view.looked()} == {1920}


def test_the_rate_may_change_at_any_time() -> None:
    view = View(OPEN)
    view.play(2, STILL)
    view.reports.clear()

    view.looker.sample_fps = 10
    view.play(2, STILL)

    assert 19 <= len(view.looked()) <= 21


def test_a_first_frame_is_reported_as_seen_at_once_then_a_few_times_a_second() -> None:
    view = View(GATED)
    view.play(0.04, STILL)
    assert len(view.seen()) == 1
    view.play(4, STILL)

    assert 8 <= len(view.seen()) <= 12
    assert (view.seen()[0].width_px, view.seen()[0].height_px) == (1920, 1080)


def test_a_still_scene_gives_snapshots_only() -> None:
    view = View(GATED)
    view.play(10, STILL)
    view.reports.clear()
    view.play(10, STILL)

    assert view.looked() == []
    assert [report.is_snapshot for report in view.looked(moves=False)] == [True, True]
    assert view.seen()[-1].is_still
    assert view.looker.is_still
    assert sum(seen.still for seen in view.seen()) in range(47, 51)


def test_motion_opens_the_gate_with_the_very_frame_that_moved() -> None:
    view = View(GATED)
    view.play(10, STILL)
    view.reports.clear()

    view.play(1, BRIGHT)

    assert len(view.looked()) == 5
    assert not view.looker.is_still


def test_a_still_key_frame_is_reported_and_can_be_a_snapshot() -> None:
    view = View(GATED)
    view.play(10, STILL)
    view.reports.clear()

    assert not any(view.process_key_frame(STILL) for _ in range(5))

    assert view.looked() == []
    assert len(view.looked(moves=False)) == 2
    assert all(seen.holds_back and seen.is_still for seen in view.seen())
    assert len(view.seen()) == 5


def test_a_key_frame_that_moves_is_looked_at_again_with_all_the_others() -> None:
    view = View(GATED)
    view.play(10, STILL)
    view.process_key_frame(STILL)
    view.reports.clear()

    assert view.process_key_frame(BRIGHT)
    assert view.reports == []
    view.play(1, BRIGHT)

    assert len(view.looked()) == 5


def test_scaled_frames_say_how_wide_they_were() -> None:
    view = View(GATED)
    view.play(0.2, STILL)

    report = view.looked()[0]
    assert (report.image.width_px, report.image.height_px) == (960, 540)
    assert report.width_px == 1920


def test_the_first_frame_is_a_snapshot_at_once_then_one_each_interval() -> None:
    view = View(OPEN)
    view.play(0.04, STILL)
    assert view.looked()[0].is_snapshot
    view.play(14, STILL)

    assert sum(report.is_snapshot for report in view.looked()) == 3


def test_a_reconnect_opens_the_gate() -> None:
    view = View(GATED)
    view.play(20, STILL)
    view.reports.clear()

    view.looker.connected()
    view.play(0.04, STILL)

    assert len(view.looked()) == 1


def test_a_frame_that_cannot_be_coded_costs_no_other_and_is_logged_once_a_minute() -> None:
    view = View(OPEN)
    with capture_logs() as logs:
        view.play(119, BrokenFrame(picture()))
    view.play(1, STILL)

    assert [line["event"] for line in logs] == ["frame_processing_failed"] * 2
    assert len(view.looked()) == 5
    assert sum(seen.failed for seen in view.seen()) == pytest.approx(595, abs=2)


def test_a_glimpse_that_cannot_be_looked_at_opens_the_stream() -> None:
    view = View(GATED)
    view.play(10, STILL)

    assert view.process_key_frame(NoGrey(picture()))
