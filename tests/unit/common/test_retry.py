from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.retry import Backoff, RateBound, RetryPolicy


@pytest.mark.parametrize("failures", [1, 2, 5, 10_000])
def test_pauses_grow_up_to_the_longest(failures: int) -> None:
    policy = RetryPolicy(first_pause_seconds=1.0, longest_pause_seconds=8.0)
    ceiling = min(8.0, 0.5 * 2.0 ** min(failures, 10))
    pauses = {policy.pause_seconds(failures) for _ in range(50)}
    assert all(ceiling / 2 <= pause <= ceiling for pause in pauses)
    assert len(pauses) > 1


def test_the_bound_counts_from_the_first_try() -> None:
    policy = RetryPolicy(bound_seconds=3.0)
    assert not policy.is_exhausted(2.9)
    assert policy.is_exhausted(3.0)


def test_without_a_bound_it_never_gives_up() -> None:
    assert not RetryPolicy().is_exhausted(1e9)


def _backoff(random: float | list[float], first: float = 1, longest: float = 60) -> Backoff:
    policy = RetryPolicy(
        first_pause_seconds=first, longest_pause_seconds=longest, spread=(0.75, 1.25)
    )
    numbers = iter(random) if isinstance(random, list) else None
    return Backoff(policy, 30, lambda: next(numbers) if numbers else cast(float, random))


def test_pauses_of_a_connection_double_up_to_the_longest() -> None:
    backoff = _backoff(0.5)

    pauses = [backoff.next_pause_seconds(0) for _ in range(8)]

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_good_connection_makes_the_next_pause_short() -> None:
    backoff = _backoff(0.5)
    for _ in range(5):
        backoff.next_pause_seconds(29)

    assert backoff.next_pause_seconds(30) == 1
    assert backoff.next_pause_seconds(0) == 2


@given(
    random=st.lists(st.floats(0, 1), min_size=1, max_size=2000),
    first=st.floats(0.01, 60),
    longest=st.floats(60, 3600),
)
def test_pauses_stay_within_their_bounds(random: list[float], first: float, longest: float) -> None:
    backoff = _backoff(random, first, longest)

    pauses = [backoff.next_pause_seconds(0) for _ in random]

    assert all(0.75 * first <= pause <= longest for pause in pauses)


def test_pauses_of_two_connections_differ() -> None:
    assert _backoff(0.0).next_pause_seconds(0) == 0.75
    assert _backoff(1.0).next_pause_seconds(0) == 1.25


def test_the_rate_bound_looks_at_the_window_only() -> None:
    bound = RateBound(limit=2, window_seconds=60)
    assert [bound.is_exceeded_by(at) for at in (0, 1, 2)] == [False, False, True]
    assert [bound.is_exceeded_by(at) for at in (62.5, 63)] == [False, False]


def test_what_remains_of_the_rate_limit_is_reported_without_counting() -> None:
    bound = RateBound(limit=2, window_seconds=60)
    assert [bound.remaining(0), bound.remaining(0)] == [2, 2]
    for at in (0, 1, 2):
        bound.count(at)
    assert [bound.remaining(at) for at in (2, 60.5, 61.5, 63)] == [0, 0, 1, 2]
