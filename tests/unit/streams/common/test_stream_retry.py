import pytest

from streams.common.retry import RateBound, RetryPolicy


@pytest.mark.parametrize("failures", [1, 2, 5, 10_000])
def test_pauses_grow_up_to_the_longest(failures: int) -> None:
    policy = RetryPolicy(first_pause_seconds=0.5, longest_pause_seconds=8.0)
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


def test_the_rate_bound_looks_at_the_window_only() -> None:
    bound = RateBound(limit=2, window_seconds=60)
    assert [bound.is_exceeded_by(at) for at in (0, 1, 2)] == [False, False, True]
    assert [bound.is_exceeded_by(at) for at in (62.5, 63)] == [False, False]


def test_what_remains_of_the_rate_bound_is_told_without_counting() -> None:
    bound = RateBound(limit=2, window_seconds=60)
    assert [bound.remaining(0), bound.remaining(0)] == [2, 2]
    for at in (0, 1, 2):
        bound.count(at)
    assert [bound.remaining(at) for at in (2, 60.5, 61.5, 63)] == [0, 0, 1, 2]
