"""A motion stream is read beside the main one, and says what is wrong with it."""

from pathlib import Path
from queue import SimpleQueue

import numpy as np

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.messages import (
    CaptureLimits,
    LookSettings,
    MotionRules,
    MotionTold,
    ReaderSettings,
    Report,
    Running,
)
from ingest.clocks import MonotonicWallClock
from ingest.errors import CaptureErrorCode
from ingest.motion.stream import MotionStream
from tests.unit.ingest.capture.scenes import video

now = MonotonicWallClock()


class View:
    """A motion stream that plays a file, and what it reports."""

    def __init__(self, path: Path, snapshot_seconds: float = 5.0) -> None:
        rules = StreamUrlRules(files_folder=path.parent)
        limits = CaptureLimits(open_timeout_seconds=5, read_timeout_seconds=5, decoder_threads=1)
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self.stream = MotionStream(
            7,
            "camera",
            parse_stream_url(f"file://{path}", rules),
            ReaderSettings(
                addresses=rules,
                limits=limits,
                reconnect_min_seconds=0.01,
                reconnect_max_seconds=0.01,
            ),
            LookSettings(
                motion=MotionRules(hold_seconds=3),
                jpeg_quality=80,
                max_width_px=0,
                snapshot_interval_seconds=snapshot_seconds,
            ),
            now,
            self.reports.put,
        )


def _codes(view: View, ahead_seconds: float, count: int) -> list[CaptureErrorCode | None]:
    """Ask as the main stream's thread does, until so many faults were told."""
    told: list[CaptureErrorCode | None] = []
    while len(told) < count:
        view.stream.is_quiet(now().seconds + ahead_seconds)
        if not view.reports.empty():
            report = view.reports.get()
            told += [report.code] if isinstance(report, MotionTold) else []
    return told


def test_one_that_is_not_there_is_told_once_that_lasts(tmp_path: Path) -> None:
    view = View(tmp_path / "nothing.ts")
    view.stream.start()
    running = view.reports.get(timeout=10)

    assert isinstance(running, Running) and running.is_motion and running.number == 7
    assert view.stream.is_quiet(now().seconds) is None
    # Until its first connection has failed it is silent.
    while _codes(view, 11, 1) != [CaptureErrorCode.NO_FILE]:
        pass
    view.stream.stop()


def test_pictures_of_the_scene_of_the_main_stream_make_it_one_to_go_by(tmp_path: Path) -> None:
    path = tmp_path / "small.ts"
    path.write_bytes(video(3, size=(160, 90), fps=5, scene_number=1))
    view = View(path)
    view.stream.start()
    scene = np.kron(np.random.default_rng(1).integers(40, 140, (9, 16)), np.ones((11, 11))).astype(
        np.uint8
    )
    is_quiet: bool | None = None
    while is_quiet is None:
        view.stream.main_pictured(scene, False, now().seconds)
        is_quiet = view.stream.is_quiet(now().seconds)
    # The first picture of a connection counts as movement.
    assert is_quiet is False
    view.stream.stop()


def test_one_that_crashed_its_reader_is_not_read_and_told_as_that(tmp_path: Path) -> None:
    view = View(tmp_path / "nothing.ts")
    view.stream.bar()

    assert _codes(view, 11, 1) == [CaptureErrorCode.CRASH]


def test_one_that_is_refused_is_told_once_and_never_read(tmp_path: Path) -> None:
    view = View(tmp_path / "nothing.ts")
    view.stream.refuse(CaptureErrorCode.MAIN_NOT_LIVE)
    view.stream.start()
    view.stream.refuse(CaptureErrorCode.MAIN_NOT_LIVE)

    assert view.stream.is_quiet(now().seconds + 11) is None
    told = view.reports.get_nowait()
    assert isinstance(told, MotionTold) and told.code is CaptureErrorCode.MAIN_NOT_LIVE
    assert view.reports.empty()


def test_key_frames_of_the_main_stream_are_seen_as_often_as_pictures_are_stored(
    tmp_path: Path,
) -> None:
    path = tmp_path / "nothing.ts"

    assert [View(path, given).stream.glimpse_seconds for given in (1, 12, 3600)] == [5, 12, 30]


def test_the_first_judgement_is_told_also_where_nothing_is_wrong(tmp_path: Path) -> None:
    view = View(tmp_path / "nothing.ts")

    # A fault of an earlier process is over with it.
    assert _codes(view, 2, 1) == [None]


def test_one_that_is_barred_is_not_said_to_be_used_meanwhile(tmp_path: Path) -> None:
    view = View(tmp_path / "nothing.ts")
    view.stream.bar()

    assert _codes(view, 2, 1) == [CaptureErrorCode.CRASH]
