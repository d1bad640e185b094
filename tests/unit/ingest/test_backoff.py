"""Waits between two tries grow, are spread, and begin anew after a good connection."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.backoff import Backoff


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(1, 60, lambda: 0.5)

    waits = [backoff.next_wait_seconds(0) for _ in range(8)]

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_good_connection_makes_the_next_wait_short() -> None:
    backoff = Backoff(1, 60, lambda: 0.5)
    for _ in range(5):
        backoff.next_wait_seconds(29)

    assert backoff.next_wait_seconds(30) == 1
    assert backoff.next_wait_seconds(0) == 2


@given(
    random=st.lists(st.floats(0, 1), min_size=1, max_size=2000),
    least=st.floats(0.01, 60),
    most=st.floats(60, 3600),
)
def test_waits_stay_within_their_bounds(random: list[float], least: float, most: float) -> None:
    numbers = iter(random)
    backoff = Backoff(least, most, lambda: next(numbers))

    waits = [backoff.next_wait_seconds(0) for _ in random]

    assert all(0.75 * least <= wait <= most for wait in waits)


def test_waits_of_two_cameras_differ() -> None:
    assert Backoff(1, 60, lambda: 0.0).next_wait_seconds(0) == 0.75
    assert Backoff(1, 60, lambda: 1.0).next_wait_seconds(0) == 1.25
