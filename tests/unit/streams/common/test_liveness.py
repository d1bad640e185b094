from streams.common.liveness import Position, StallDetector


def _at(done: int, end: int) -> dict[str, Position]:
    return {"a": Position(done=done, end=end)}


def test_lag_without_progress_is_a_stall() -> None:
    detector = StallDetector[str](30)
    assert detector.observe(0, _at(5, 9)) == ()
    assert detector.observe(29, _at(5, 20)) == ()
    assert detector.observe(30, _at(5, 20)) == ("a",)


def test_progress_starts_the_count_anew() -> None:
    detector = StallDetector[str](30)
    detector.observe(0, _at(5, 9))
    assert detector.observe(29, _at(6, 9)) == ()
    assert detector.observe(58, _at(6, 9)) == ()
    assert detector.observe(59, _at(6, 9)) == ("a",)


def test_without_lag_nothing_stands_still() -> None:
    detector = StallDetector[str](30)
    for now in range(0, 300, 10):
        assert detector.observe(now, _at(9, 9)) == ()
    assert detector.observe(310, _at(9, 10)) == ()


def test_an_excuse_starts_the_count_anew() -> None:
    detector = StallDetector[str](30)
    detector.observe(0, _at(5, 9))
    detector.excuse(29)
    assert detector.observe(58, _at(5, 9)) == ()


def test_a_partition_that_went_away_and_came_back_is_new() -> None:
    detector = StallDetector[str](30)
    detector.observe(0, _at(5, 9))
    detector.observe(10, {})
    assert detector.observe(40, _at(5, 9)) == ()


def test_one_partition_may_stand_still_beside_others() -> None:
    detector = StallDetector[str](30)
    for now in range(0, 31, 10):
        stalled = detector.observe(
            now, {"a": Position(done=now, end=99), "b": Position(done=1, end=2)}
        )
    assert stalled == ("b",)
