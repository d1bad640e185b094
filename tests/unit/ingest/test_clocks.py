"""The worker's clock follows the machine's clock, but never goes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.clocks import Instant, MonotonicWallClock, Timeline, is_too_far_ahead

START = 1_800_000_000.0
START_UNIX_MS = 1_800_000_000_000


class Machine:
    """A machine whose clocks a test sets."""

    def __init__(self) -> None:
        self.unix_seconds = START
        self.monotonic_seconds = 500.0
        self.clock = MonotonicWallClock(lambda: self.unix_seconds, lambda: self.monotonic_seconds)

    def passes(self, seconds: float, step_seconds: float = 0.0) -> Instant:
        """Advance the clocks, change the time of day by ``step_seconds``, and return the time."""
        self.unix_seconds += seconds + step_seconds
        self.monotonic_seconds += seconds
        return self.clock()


def test_the_clock_is_the_machines() -> None:
    machine = Machine()

    assert machine.passes(1.5) == Instant(int((START + 1.5) * 1000), 501.5)


def test_a_machine_set_forward_is_followed_at_once() -> None:
    assert Machine().passes(1, step_seconds=3600).unix_ms == int((START + 3601) * 1000)


def test_a_machine_set_back_is_waited_for_without_standing_still() -> None:
    machine = Machine()
    first = machine.passes(1, step_seconds=-10)
    later = [machine.passes(1) for _ in range(120)]

    gains = [b.unix_ms - a.unix_ms for a, b in zip([first, *later], later, strict=False)]
    assert all(899 <= gain <= 1001 for gain in gains)
    assert abs(later[-1].unix_ms - machine.unix_seconds * 1000) <= 1


def test_how_far_the_clock_is_ahead_is_known_until_both_agree() -> None:
    machine = Machine()
    machine.passes(1, step_seconds=-4)
    assert machine.clock.ahead_seconds == pytest.approx(3.9, abs=0.01)

    machine.passes(60)

    assert machine.clock.ahead_seconds == 0


@pytest.mark.parametrize(
    ("ahead_seconds", "up_seconds", "is_too_far"),
    [(4.9, 3600, False), (5.1, 3600, True), (59, 10, False), (61, 10, True), (86_400, 0, True)],
    ids=["a small step", "a step", "a step while young", "a minute while young", "a day at start"],
)
def test_only_a_small_step_back_is_compensated(
    ahead_seconds: float, up_seconds: float, is_too_far: bool
) -> None:
    assert is_too_far_ahead(ahead_seconds, up_seconds) is is_too_far


@pytest.mark.parametrize(
    ("back_seconds", "every_seconds", "max_ends"),
    [(3, 30, 0), (6, 60, 24), (4, 30, 24), (60, 600, 24)],
    ids=["3 s twice a minute", "6 s a minute", "4 s twice a minute", "60 s in ten minutes"],
)
def test_a_machine_that_is_often_set_back_is_no_restart_loop(
    back_seconds: float, every_seconds: float, max_ends: int
) -> None:
    machine, up_seconds, ends = Machine(), 0.0, 0
    for _ in range(round(4 * 3600 / every_seconds)):
        machine.passes(1, step_seconds=-back_seconds)
        for _ in range(round(every_seconds)):
            up_seconds += 1
            machine.passes(1)
            if is_too_far_ahead(machine.clock.ahead_seconds, up_seconds):
                machine.clock = MonotonicWallClock(
                    lambda: machine.unix_seconds, lambda: machine.monotonic_seconds
                )
                up_seconds, ends = 0.0, ends + 1

    # The maximum is one stop in ten minutes, over four hours.
    assert ends <= max_ends


@given(steps=st.lists(st.tuples(st.floats(0, 100), st.floats(-1e6, 1e6)), max_size=50))
def test_time_never_goes_back(steps: list[tuple[float, float]]) -> None:
    machine = Machine()
    last = machine.clock()
    for seconds, step_seconds in steps:
        instant = machine.passes(seconds, step_seconds)
        assert instant.unix_ms >= last.unix_ms
        last = instant


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["frame", "tick", "gone"]), st.integers(-5000, 5000)), max_size=80
    )
)
def test_a_timeline_never_falls_and_frames_rise(steps: list[tuple[str, int]]) -> None:
    timeline = Timeline(START_UNIX_MS)
    now_ms = START_UNIX_MS
    for kind, offset_ms in steps:
        before_ms = timeline.last_ms
        now_ms += abs(offset_ms)
        if kind == "frame":
            assert timeline.frame(now_ms + offset_ms) > before_ms
        elif kind == "tick":
            assert timeline.tick(now_ms + offset_ms, now_ms) >= before_ms
        else:
            assert timeline.reached(now_ms) >= before_ms


def test_ticks_leave_room_for_frames_that_are_held_up() -> None:
    timeline = Timeline(START_UNIX_MS)

    assert timeline.tick(START_UNIX_MS + 100, START_UNIX_MS + 900) == START_UNIX_MS + 100
    assert timeline.tick(START_UNIX_MS + 100, START_UNIX_MS + 5000) == START_UNIX_MS + 3000
    assert timeline.frame(START_UNIX_MS + 3500) == START_UNIX_MS + 3500
    assert timeline.reached(START_UNIX_MS + 6000) == START_UNIX_MS + 6000
