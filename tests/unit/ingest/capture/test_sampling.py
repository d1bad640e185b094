"""Frames are sampled evenly by the stream's time. Recordings play at their own speed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ingest.capture.sampling import GreyImage, MotionFilter, Sampler


def _taken(times: list[float], frames_per_second: float) -> list[float]:
    sampler = Sampler()
    return [seconds for seconds in times if sampler.selects(seconds, frames_per_second)]


def test_five_of_twenty_five_frames_are_evenly_spaced() -> None:
    captured = _taken([number / 25 for number in range(250)], 5)

    assert captured == pytest.approx([number / 5 for number in range(50)])


@pytest.mark.parametrize(
    ("source_fps", "sample_fps", "expected"),
    [
        (25, 5, 50),
        (12, 5, 50),
        (30, 5, 50),
        (29.97, 5, 50),
        (3, 5, 30),
        (25, 25, 250),
        (25, 0.5, 5),
    ],
)
def test_the_rate_is_that_of_the_setting_or_the_source(
    source_fps: float, sample_fps: float, expected: int
) -> None:
    captured = _taken([number / source_fps for number in range(int(10 * source_fps))], sample_fps)

    assert abs(len(captured) - expected) <= 1


@given(jitter=st.lists(st.floats(-0.015, 0.015), min_size=250, max_size=250))
def test_jitter_does_not_change_the_rate(jitter: list[float]) -> None:
    times = [number / 25 + jitter[number] for number in range(250)]

    assert 47 <= len(_taken(times, 5)) <= 51


def test_a_stream_that_begins_again_is_sampled_at_once() -> None:
    sampler = Sampler()
    assert sampler.selects(5000.0, 5)

    assert sampler.selects(0.0, 5)
    assert not sampler.selects(0.04, 5)
    assert sampler.selects(900.0, 5)


@given(times=st.lists(st.floats(0, 1e6), max_size=60), fps=st.floats(0.1, 60))
def test_any_times_are_sampled_without_failing(times: list[float], fps: float) -> None:
    captured = _taken(times, fps)

    assert captured[:1] == times[:1]


START_MS = 1_800_000_000_000
SAMPLE_MS = 200
RULES = 3.0


def _road(seed: int, noise: float = 2.0) -> GreyImage:
    rows, columns = np.mgrid[0:100, 0:178]
    scene = 90 + 30 * np.sin(rows / 9) + 20 * np.cos(columns / 13)
    scene += np.random.default_rng(seed).normal(0, noise, scene.shape)
    return np.asarray(np.clip(scene, 0, 255), dtype=np.uint8)


def _with_car(frame: GreyImage, left: float, brightness: int = 40) -> GreyImage:
    result = frame.copy()
    first, last = max(0, round(left)), min(178, round(left) + 32)
    if first < last:
        result[50:72, first:last] = brightness
    return result


def _passes(gate: MotionFilter, frames: list[GreyImage]) -> list[bool]:
    return [gate.passes(p, START_MS + n * SAMPLE_MS) for n, p in enumerate(frames)]


def test_first_frames_pass_then_a_still_scene_is_suppressed() -> None:
    passed = _passes(MotionFilter(RULES), [_road(seed) for seed in range(100)])

    assert passed[:16] == [True] * 16
    assert not any(passed[16:])


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
def test_noise_of_a_camera_is_no_motion(noise: float) -> None:
    passed = _passes(MotionFilter(RULES), [_road(seed, noise) for seed in range(300)])

    assert not any(passed[60:])


@pytest.mark.parametrize("pixels_per_second", [0.5, 1.5, 5, 30, 150])
def test_a_car_passes_from_its_first_to_its_last_frame(pixels_per_second: float) -> None:
    gate = MotionFilter(RULES)
    _passes(gate, [_road(seed) for seed in range(100)])
    count = min(400, int(140 / pixels_per_second * 5))
    frames = [
        _with_car(_road(1000 + n), n * pixels_per_second / 5, brightness=70) for n in range(count)
    ]

    begin_ms = START_MS + 100 * SAMPLE_MS
    passed = [gate.passes(p, begin_ms + n * SAMPLE_MS) for n, p in enumerate(frames)]

    assert all(passed)


def test_frames_pass_for_the_hold_off_after_the_last_motion() -> None:
    gate = MotionFilter(RULES)
    _passes(gate, [_road(0, 0)] * 100)
    begin_ms = START_MS + 100 * SAMPLE_MS
    assert gate.passes(_with_car(_road(0, 0), 50), begin_ms)

    after = [gate.passes(_road(0, 0), begin_ms + n * SAMPLE_MS) for n in range(1, 40)]

    assert after.index(False) == 15


def test_a_standing_car_becomes_background_and_wakes_the_gate_when_it_leaves() -> None:
    gate = MotionFilter(RULES)
    _passes(gate, [_road(0, 0)] * 50)
    standing = _with_car(_road(0, 0), 60)
    begin_ms = START_MS + 50 * SAMPLE_MS
    passed = [gate.passes(standing, begin_ms + n * SAMPLE_MS) for n in range(300)]

    assert 10 <= passed.index(False) * SAMPLE_MS / 1000 <= 30
    assert not any(passed[passed.index(False) :])
    leaves_ms = begin_ms + 300 * SAMPLE_MS
    assert gate.passes(_with_car(_road(0, 0), 62), leaves_ms)


def test_the_seconds_of_a_clock_in_the_frame_are_no_motion() -> None:
    def with_clock(second: int) -> GreyImage:
        frame = _road(0, 0)
        frame[4:7, 150:152] = 255 if second % 2 else 0
        return frame

    passed = _passes(MotionFilter(RULES), [with_clock(n // 5) for n in range(300)])

    assert sum(passed) == 16


def test_a_change_of_size_and_a_reset_start_again() -> None:
    gate = MotionFilter(RULES)
    _passes(gate, [_road(0, 0)] * 100)
    later_ms = START_MS + 100 * SAMPLE_MS
    assert not gate.passes(_road(0, 0), later_ms)

    assert gate.passes(_road(0, 0)[:, :120], later_ms + 200)

    _passes(gate, [_road(0, 0)] * 100)
    gate.reset()
    assert gate.passes(_road(0, 0), later_ms + 60_000)


@given(
    frames=st.lists(
        hnp.arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12))), max_size=10
    ),
    gap_ms=st.integers(-1000, 100_000),
)
def test_any_frames_are_judged(frames: list[GreyImage], gap_ms: int) -> None:
    gate = MotionFilter(RULES)

    for number, frame in enumerate(frames):
        assert gate.passes(frame, START_MS + number * gap_ms) in (True, False)


def test_an_image_in_which_something_moves_is_not_added_before_those_from_before_it() -> None:
    gate = MotionFilter(3.0)
    still, moving = np.full((100, 178), 80, np.uint8), np.full((100, 178), 80, np.uint8)
    moving[40:80, 40:80] = 200
    gate.passes(still, 0)

    assert gate.stays_still(still, 10_000)
    assert not gate.stays_still(moving, 16_000)
    # Buffered frames come next. Frames without motion before or after the motion are not sent.
    assert not gate.passes(still, 10_200)
    assert gate.passes(moving, 15_800)
    assert gate.passes(moving, 16_000)
    assert [gate.passes(still, at_ms) for at_ms in (60_000, 70_000)] == [True, False]
