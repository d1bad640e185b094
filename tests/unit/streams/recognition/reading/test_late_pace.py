from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.recognition.reading.late_pace import LatePace, step_ms
from tests.unit.streams.recognition.builders import RULES, Drive, film, plates, play

CAMERA = UUID(int=7)
AFTER_MS = 20_000
MINUTE_MS = 60_000
PLATES = ("AB123CD", "XK907LM", "ZW445HT", "GP862VY")


def read(count: int, age_ms: int, gap_ms: int = 200) -> list[int]:
    """Return the numbers of the frames that are read if ``count`` frames are this old."""
    pace = LatePace(AFTER_MS)
    return [n for n in range(count) if pace.admits(CAMERA, n * gap_ms, age_ms=age_ms)]


@pytest.mark.parametrize(
    ("age_ms", "gap_ms", "expected"),
    [
        (AFTER_MS, 200, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (AFTER_MS + 1, 200, [0, 2, 4, 6, 8]),
        (6 * MINUTE_MS, 200, [0, 2, 4, 6, 8]),
        (15 * MINUTE_MS, 200, [0, 5]),
        (5 * MINUTE_MS, 500, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
    ids=["in time", "late", "six minutes", "a quarter of an hour", "seldom sent"],
)
def test_late_frames_are_read_in_steps(age_ms: int, gap_ms: int, expected: list[int]) -> None:
    assert read(10, age_ms, gap_ms) == expected


def test_each_camera_has_its_own_step() -> None:
    pace = LatePace(AFTER_MS)
    others = [pace.admits(UUID(int=n), 100 * n, age_ms=MINUTE_MS) for n in range(5)]
    assert all(others)


def test_a_clock_that_is_set_back_holds_nothing_up() -> None:
    pace = LatePace(AFTER_MS)
    assert pace.admits(CAMERA, 100_000, age_ms=MINUTE_MS)
    assert pace.admits(CAMERA, 50_000, age_ms=MINUTE_MS)
    assert not pace.admits(CAMERA, 50_200, age_ms=MINUTE_MS)
    assert pace.admits(CAMERA, 50_400, age_ms=MINUTE_MS)


@given(st.integers(AFTER_MS + 1, 24 * 60 * MINUTE_MS))
def test_the_older_the_fewer(age_ms: int) -> None:
    assert step_ms(AFTER_MS) <= step_ms(age_ms) <= step_ms(age_ms + 1)


@given(
    begin_ms=st.integers(0, 400),
    caught_up_ms=st.integers(0, 30_000),
    lengths_ms=st.lists(st.integers(1_000, 6_000), min_size=1, max_size=4),
)
def test_wherever_late_and_fresh_meet_each_pass_comes_out_once(
    begin_ms: int, caught_up_ms: int, lengths_ms: list[int]
) -> None:
    drives, from_ms = [], begin_ms
    for plate, length_ms in zip(PLATES, lengths_ms, strict=False):
        drives.append(Drive(plate, from_ms, from_ms + length_ms, confidence=0.8))
        from_ms += length_ms + 3_000
    pace = LatePace(AFTER_MS)

    def age_ms(captured_ms: int) -> int:
        return MINUTE_MS if captured_ms < caught_up_ms else 1_000

    frames = film(drives, from_ms + RULES.end_ms)
    first_ms = frames[0].captured_ms
    kept = [
        each
        for each in frames
        if pace.admits(CAMERA, each.captured_ms, age_ms=age_ms(each.captured_ms - first_ms))
    ]
    _, found = play(kept)
    assert plates(found) == [drive.plate for drive in drives]
    assert all(each.readings_count >= 2 for each in found)
