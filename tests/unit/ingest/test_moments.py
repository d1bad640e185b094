"""The worker's clock follows the machine's, but never back."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.moments import Moment, SteadyClock

START = 1_800_000_000.0


class Machine:
    """A machine whose clocks the test sets."""

    def __init__(self) -> None:
        self.unix_seconds = START
        self.monotonic_seconds = 500.0
        self.clock = SteadyClock(lambda: self.unix_seconds, lambda: self.monotonic_seconds)

    def passes(self, seconds: float, step_seconds: float = 0.0) -> Moment:
        """Let time pass, and the time of day be set by ``step_seconds``."""
        self.unix_seconds += seconds + step_seconds
        self.monotonic_seconds += seconds
        return self.clock()


def test_the_clock_is_the_machines() -> None:
    machine = Machine()

    assert machine.passes(1.5) == Moment(int((START + 1.5) * 1000), 501.5)


def test_a_machine_set_forward_is_followed_at_once() -> None:
    assert Machine().passes(1, step_seconds=3600).unix_ms == int((START + 3601) * 1000)


def test_a_machine_set_back_is_waited_for_without_standing_still() -> None:
    machine = Machine()
    first = machine.passes(1, step_seconds=-10)
    later = [machine.passes(1) for _ in range(120)]

    gains = [b.unix_ms - a.unix_ms for a, b in zip([first, *later], later, strict=False)]
    assert all(899 <= gain <= 1001 for gain in gains)
    assert abs(later[-1].unix_ms - machine.unix_seconds * 1000) <= 1


@given(steps=st.lists(st.tuples(st.floats(0, 100), st.floats(-1e6, 1e6)), max_size=50))
def test_time_never_goes_back(steps: list[tuple[float, float]]) -> None:
    machine = Machine()
    last = machine.clock()
    for seconds, step_seconds in steps:
        moment = machine.passes(seconds, step_seconds)
        assert moment.unix_ms >= last.unix_ms
        last = moment
