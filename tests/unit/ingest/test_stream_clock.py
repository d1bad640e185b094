"""Capture times follow the stream despite network delays, and never decrease."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.clocks import CaptureClock, LiveEdge, Pacer

START_MS = 1_800_000_000_000


def _stream(clock: CaptureClock, delays_ms: list[float], fps: float = 25) -> list[float]:
    """Return the difference between each capture time and the true time, in ms."""
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
    # No frame arrives for 3 s, and then all frames arrive together.
    delays = [20.0] * 100 + [20.0 + max(0, 3000 - 40 * n) for n in range(100)] + [20.0] * 10

    errors = _stream(clock, delays)

    assert max(errors) <= 21


def test_drift_between_the_clocks_is_followed() -> None:
    clock = CaptureClock()
    last_error_ms = 0.0
    # A camera whose clock runs 200 ppm slow, during one hour at 1 frame/s.
    for number in range(3600):
        arrival_ms = START_MS + number * 1000 + 20
        captured_ms = clock.capture_ms(number * (1 - 200e-6), arrival_ms)
        last_error_ms = arrival_ms - captured_ms

    assert 0 <= last_error_ms <= 10


def test_the_cameras_own_clock_removes_the_transit_time() -> None:
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


def test_a_stream_that_begins_again_is_synchronised_again() -> None:
    clock = CaptureClock()
    clock.capture_ms(1000.0, START_MS)

    assert clock.capture_ms(998.0, START_MS + 40) == START_MS + 40
    assert clock.capture_ms(5000.0, START_MS + 80) == START_MS + 80


def test_lag_is_reported_while_the_stream_is_late() -> None:
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


def test_a_recording_is_played_at_its_speed_after_a_hold_up_too() -> None:
    pacer = Pacer()

    assert pacer.wait_seconds(0.0, 100.0) == 0
    assert pacer.wait_seconds(0.04, 100.01) == pytest.approx(0.03)
    assert pacer.wait_seconds(0.08, 105.0) == 0
    assert pacer.wait_seconds(0.12, 105.0) == pytest.approx(0.04)
    # A jump is no wait.
    assert pacer.wait_seconds(3600.0, 105.04) == 0


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


def test_frames_that_waited_for_others_to_be_decoded_start_no_new_time_line() -> None:
    clock = CaptureClock()
    for seconds in range(0, 60, 5):
        clock.capture_ms(float(seconds), seconds * 1000)

    assert clock.capture_ms(60.0, 72_000, backlog_ms=12_000) == 60_000
    assert clock.lag_ms == 12_000
