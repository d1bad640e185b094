"""A motion stream is gone by while it moves when the main stream does, and only then."""

import numpy as np
import pytest

from ingest.capture.sampling import GreyImage
from ingest.errors import CaptureErrorCode
from ingest.motion.trust import MotionTrust

_RNG = np.random.default_rng(1)
_SCENE = np.kron(_RNG.integers(40, 200, (9, 16)), np.ones((11, 11), np.int64))
_PICTURES = [
    np.clip(_SCENE + _RNG.integers(-3, 4, _SCENE.shape), 0, 255).astype(np.uint8) for _ in range(7)
]
PERIOD_SECONDS = 40


class Road:
    """Two streams of a road on which a car passes now and then, five pictures a second."""

    def __init__(self) -> None:
        self.trust = MotionTrust(3.0, 0.0)
        self._number = 0

    def drive(self, seconds: float, late_seconds: float = 0.0, *, is_away: bool = False) -> None:
        """Go on; a car is there from the 11th to the 14th of each 40 seconds.

        The motion stream shows it so much later, or nothing at all while it is away.
        """
        end = self._number + round(5 * seconds)
        while self._number < end:
            now = self._number / 5
            if not is_away:
                small = late_seconds < now and _passes(now - late_seconds)
                self.trust.pictured(self._picture(0), small or self._number == 0, now)
            # One key frame in five seconds is looked at; else all.
            if self.trust.is_quiet(now) is not True or self._number % 25 == 0:
                self.trust.main_pictured(self._picture(3), _passes(now), now)
            self._number += 1

    def _picture(self, shift: int) -> GreyImage:
        picture: GreyImage = _PICTURES[(self._number + shift) % len(_PICTURES)]
        return picture

    @property
    def fault(self) -> CaptureErrorCode | None:
        return self.trust.fault(self._number / 5)

    @property
    def is_quiet(self) -> bool | None:
        return self.trust.is_quiet(self._number / 5)


def _passes(seconds: float) -> bool:
    return 11 <= seconds % PERIOD_SECONDS < 14


@pytest.mark.parametrize("late_seconds", [0.0, 2.0])
def test_one_that_shows_the_same_movement_is_gone_by(late_seconds: float) -> None:
    road = Road()
    road.drive(10 * PERIOD_SECONDS, late_seconds)

    assert road.fault is None
    assert road.is_quiet


@pytest.mark.parametrize("late_seconds", [7.0, 10.0, 15.0])
def test_one_that_shows_movement_late_is_told_and_not_gone_by(late_seconds: float) -> None:
    road = Road()
    road.drive(6 * PERIOD_SECONDS, late_seconds)

    assert road.fault is CaptureErrorCode.OTHER_MOVEMENT
    assert road.is_quiet is None


def test_one_that_is_in_time_again_is_gone_by_after_some_passes() -> None:
    road = Road()
    road.drive(6 * PERIOD_SECONDS, 10)
    road.drive(6 * PERIOD_SECONDS)

    assert road.fault is None
    assert road.is_quiet


def test_what_passes_while_it_is_away_is_not_held_against_it() -> None:
    road = Road()
    road.drive(2 * PERIOD_SECONDS)
    road.trust.lost(CaptureErrorCode.UNREACHABLE)
    road.drive(5 * PERIOD_SECONDS, is_away=True)
    assert road.fault is CaptureErrorCode.UNREACHABLE
    road.drive(10)

    assert road.fault is None
    assert road.is_quiet


def test_what_passes_when_it_falls_silent_is_not_held_against_it() -> None:
    road = Road()
    road.drive(PERIOD_SECONDS + 11.2)
    road.drive(20, is_away=True)
    road.drive(15)

    assert road.fault is None
    assert road.is_quiet
