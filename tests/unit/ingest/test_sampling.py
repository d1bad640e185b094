"""Frames are taken evenly by the stream's time, recordings are played at their own speed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.sampling import LiveEdge, Pacer, Sampler


def _taken(times: list[float], frames_per_second: float) -> list[float]:
    sampler = Sampler()
    return [seconds for seconds in times if sampler.takes(seconds, frames_per_second)]


def test_five_of_twenty_five_frames_are_evenly_spaced() -> None:
    taken = _taken([number / 25 for number in range(250)], 5)

    assert taken == pytest.approx([number / 5 for number in range(50)])


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
    taken = _taken([number / source_fps for number in range(int(10 * source_fps))], sample_fps)

    assert abs(len(taken) - expected) <= 1


@given(jitter=st.lists(st.floats(-0.015, 0.015), min_size=250, max_size=250))
def test_jitter_does_not_change_the_rate(jitter: list[float]) -> None:
    times = [number / 25 + jitter[number] for number in range(250)]

    assert 47 <= len(_taken(times, 5)) <= 51


def test_a_stream_that_begins_anew_is_sampled_at_once() -> None:
    sampler = Sampler()
    assert sampler.takes(5000.0, 5)

    assert sampler.takes(0.0, 5)
    assert not sampler.takes(0.04, 5)
    assert sampler.takes(900.0, 5)


@given(times=st.lists(st.floats(0, 1e6), max_size=60), fps=st.floats(0.1, 60))
def test_any_times_are_sampled_without_failing(times: list[float], fps: float) -> None:
    taken = _taken(times, fps)

    assert taken[:1] == times[:1]


def test_a_recording_waits_for_its_time() -> None:
    pacer = Pacer()

    assert pacer.wait_seconds(0.0, 100.0) == 0
    assert pacer.wait_seconds(0.04, 100.01) == pytest.approx(0.03)
    assert pacer.wait_seconds(0.08, 100.10) == 0


def test_a_recording_goes_on_at_its_speed_after_a_hold_up() -> None:
    pacer = Pacer()
    pacer.wait_seconds(0.0, 100.0)

    assert pacer.wait_seconds(0.04, 105.0) == 0
    assert pacer.wait_seconds(0.08, 105.0) == pytest.approx(0.04)


def test_a_jump_in_a_recording_is_no_wait() -> None:
    pacer = Pacer()
    pacer.wait_seconds(0.0, 100.0)

    assert pacer.wait_seconds(3600.0, 100.04) == 0


def test_frames_that_come_in_a_rush_are_before_the_edge() -> None:
    edge = LiveEdge()
    rush = [edge.reached(number / 25, 10 + number * 0.004) for number in range(30)]

    assert not any(rush)
    assert edge.reached(30 / 25, 10.15)
    assert edge.reached(31 / 25, 10.151)


def test_a_rush_without_end_is_taken_as_it_is() -> None:
    edge = LiveEdge()
    reached = [edge.reached(number / 25, 10 + number * 0.004) for number in range(200)]

    assert reached.index(True) == 126
