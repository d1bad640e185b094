from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.progress import PartitionProgress, Position, StallDetector


def _progress(*offsets: int) -> PartitionProgress:
    progress = PartitionProgress()
    for offset in offsets:
        progress.delivered(offset)
    return progress


def test_commits_after_the_finished_head() -> None:
    progress = _progress(10, 11, 12)
    progress.done(10)
    progress.done(11)
    assert progress.pop_committable() == 12
    assert progress.pop_committable() is None


def test_a_rewind_makes_what_was_done_open_again() -> None:
    progress = _progress(5, 6, 7)
    progress.done(6)
    progress.done(7)
    progress.delivered(5)
    progress.delivered(6)
    progress.done(5)
    assert progress.pop_committable() == 6


def test_rewind_forgets_what_is_in_flight() -> None:
    progress = _progress(5, 6)
    progress.done(5)
    progress.rewind(4)
    assert progress.pop_committable() is None
    assert progress.expected_offset == 4
    progress.delivered(4)
    assert progress.is_next(4)
    progress.done(4)
    assert progress.pop_committable() == 5


def test_done_before_a_redelivery_does_not_count_for_it() -> None:
    progress = _progress(5)
    progress.rewind(5)
    progress.done(5)
    progress.delivered(5)
    assert progress.pop_committable() is None


@given(
    offsets=st.sets(st.integers(0, 60), min_size=1).map(sorted),
    data=st.data(),
)
def test_no_order_of_finishing_commits_past_an_open_record(
    offsets: list[int], data: st.DataObject
) -> None:
    progress = _progress(*offsets)
    finished: set[int] = set()
    committed = None
    for offset in data.draw(st.permutations(offsets)):
        progress.done(offset)
        finished.add(offset)
        committable = progress.pop_committable()
        if committable is not None:
            assert {o for o in offsets if o < committable} <= finished
            committed = committable
    assert finished == set(offsets)
    assert committed == offsets[-1] + 1


def test_the_next_one_is_the_first_that_is_not_done() -> None:
    progress = _progress(5, 6, 9)
    assert [o for o in (4, 5, 6, 9) if progress.is_next(o)] == [5]
    progress.done(6)
    assert progress.is_next(5)
    progress.done(5)
    progress.pop_committable()
    assert [o for o in (5, 6, 9) if progress.is_next(o)] == [9]
    progress.done(9)
    assert not progress.is_next(9)


def test_what_is_read_again_comes_in_order_once_more() -> None:
    progress = _progress(5, 6, 7)
    progress.done(5)
    progress.delivered(6)
    assert progress.is_next(6)
    progress.rewind(5)
    assert not progress.is_next(6)
    progress.delivered(5)
    assert progress.is_next(5)


def _at(done: int, end: int) -> dict[str, Position]:
    return {"a": Position(done=done, end=end)}


def test_lag_without_progress_is_a_stall() -> None:
    detector = StallDetector[str](30)
    assert detector.observe(0, _at(5, 9)) == ()
    assert detector.observe(29, _at(5, 20)) == ()
    assert detector.observe(30, _at(5, 20)) == ("a",)


def test_progress_restarts_the_count() -> None:
    detector = StallDetector[str](30)
    detector.observe(0, _at(5, 9))
    assert detector.observe(29, _at(6, 9)) == ()
    assert detector.observe(58, _at(6, 9)) == ()
    assert detector.observe(59, _at(6, 9)) == ("a",)


def test_without_lag_nothing_is_stalled() -> None:
    detector = StallDetector[str](30)
    for now in range(0, 300, 10):
        assert detector.observe(now, _at(9, 9)) == ()
    assert detector.observe(310, _at(9, 10)) == ()


def test_an_excuse_restarts_the_count() -> None:
    detector = StallDetector[str](30)
    detector.observe(0, _at(5, 9))
    detector.reset(29)
    assert detector.observe(58, _at(5, 9)) == ()


def test_a_partition_that_was_revoked_and_assigned_again_is_new() -> None:
    detector = StallDetector[str](30)
    detector.observe(0, _at(5, 9))
    detector.observe(10, {})
    assert detector.observe(40, _at(5, 9)) == ()


def test_a_single_partition_can_be_stalled() -> None:
    detector = StallDetector[str](30)
    for now in range(0, 31, 10):
        stalled = detector.observe(
            now, {"a": Position(done=now, end=99), "b": Position(done=1, end=2)}
        )
    assert stalled == ("b",)
