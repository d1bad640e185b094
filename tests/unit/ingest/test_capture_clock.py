"""Capture times follow the stream, not its delays, and never fall."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.capture_clock import CaptureClock, Timeline

START_MS = 1_800_000_000_000


def _stream(clock: CaptureClock, delays_ms: list[float], fps: float = 25) -> list[float]:
    """Return how far each capture time lies after the true one, in ms."""
    errors = []
    for number, delay_ms in enumerate(delays_ms):
        true_ms = START_MS + number * 1000 / fps
        captured_ms = clock.capture_ms(number / fps, round(true_ms + delay_ms))
        errors.append(captured_ms - true_ms)
    return errors


def test_delay_on_the_way_does_not_move_capture_times() -> None:
    noise = random.Random(1)
    delays = [20 + noise.expovariate(1 / 30) for _ in range(2000)]

    errors = _stream(CaptureClock(), delays)

    assert max(errors[50:]) <= 25
    assert min(errors) >= 18


def test_a_stall_leaves_the_times_of_its_backlog_true() -> None:
    clock = CaptureClock()
    # Nothing comes for 3 s, then everything at once.
    delays = [20.0] * 100 + [20.0 + max(0, 3000 - 40 * n) for n in range(100)] + [20.0] * 10

    errors = _stream(clock, delays)

    assert max(errors) <= 21


def test_drift_between_the_clocks_is_followed() -> None:
    clock = CaptureClock()
    last_error_ms = 0.0
    # A camera whose clock runs 200 ppm slow, for an hour at 1 frame/s.
    for number in range(3600):
        arrival_ms = START_MS + number * 1000 + 20
        captured_ms = clock.capture_ms(number * (1 - 200e-6), arrival_ms)
        last_error_ms = arrival_ms - captured_ms

    assert 0 <= last_error_ms <= 10


def test_the_cameras_own_clock_takes_off_the_way() -> None:
    clock = CaptureClock()
    true_ms = [START_MS + 40 * number for number in range(100)]

    times = [
        clock.capture_ms(0.04 * n, t + 350, None if n < 50 else START_MS)
        for n, t in enumerate(true_ms)
    ]

    assert times[49] - true_ms[49] == 350
    assert times[50] - true_ms[50] == 0
    assert times[99] - true_ms[99] == 0


@pytest.mark.parametrize("off_ms", [-86_400_000, -5_000, 5_000, 86_400_000])
def test_a_cameras_wrong_clock_is_not_believed(off_ms: int) -> None:
    clock = CaptureClock()

    assert clock.capture_ms(0.0, START_MS, START_MS + off_ms) == START_MS


def test_a_stream_without_times_is_as_old_as_its_arrival() -> None:
    assert CaptureClock().capture_ms(None, START_MS) == START_MS


def test_a_stream_that_begins_anew_is_tied_anew() -> None:
    clock = CaptureClock()
    clock.capture_ms(1000.0, START_MS)

    assert clock.capture_ms(998.0, START_MS + 40) == START_MS + 40
    assert clock.capture_ms(5000.0, START_MS + 80) == START_MS + 80


def test_lag_is_told_while_the_stream_is_behind() -> None:
    clock = CaptureClock()
    _stream(clock, [20.0] * 100)
    assert clock.lag_ms == pytest.approx(0, abs=1)

    clock.capture_ms(4.0, START_MS + 4000 + 20 + 1500)

    assert clock.lag_ms == pytest.approx(1500, abs=1)


@given(
    frames=st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(0, 1e7)),
            st.integers(0, 10_000),
            st.one_of(st.none(), st.integers(0, 2 * START_MS)),
        ),
        max_size=50,
    )
)
def test_no_frame_is_from_the_future(
    frames: list[tuple[float | None, int, int | None]],
) -> None:
    clock = CaptureClock()
    arrival_ms = START_MS
    for stream_seconds, later_ms, sender_ms in frames:
        arrival_ms += later_ms
        assert clock.capture_ms(stream_seconds, arrival_ms, sender_ms) <= arrival_ms


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["frame", "tick", "gone"]), st.integers(-5000, 5000)), max_size=80
    )
)
def test_a_timeline_never_falls_and_frames_rise(steps: list[tuple[str, int]]) -> None:
    timeline = Timeline(START_MS)
    now_ms = START_MS
    for kind, offset_ms in steps:
        before_ms = timeline.last_ms
        now_ms += abs(offset_ms)
        if kind == "frame":
            assert timeline.frame(now_ms + offset_ms) > before_ms
        elif kind == "tick":
            assert timeline.tick(now_ms + offset_ms, now_ms) >= before_ms
        else:
            assert timeline.disconnected(now_ms) >= before_ms


def test_ticks_leave_room_for_frames_that_are_held_up() -> None:
    timeline = Timeline(START_MS)

    assert timeline.tick(START_MS + 100, START_MS + 900) == START_MS + 100
    assert timeline.tick(START_MS + 100, START_MS + 5000) == START_MS + 3000
    assert timeline.frame(START_MS + 3500) == START_MS + 3500
    assert timeline.disconnected(START_MS + 6000) == START_MS + 6000
