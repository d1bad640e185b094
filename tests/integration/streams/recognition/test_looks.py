"""Standing vehicles beside moving ones, where only what changed is looked at."""

from collections.abc import Iterator

import av
import pytest

from recognition.engine import Recognizer
from recognition.settings import RecognizerSettings
from tests.integration.streams.recognition.scenes import PLATES, Parked, car_scene
from tools.benchmarks.looks import START_MS, Stage, play, sent_frames

FRAMES_PER_SECOND = 5
STAYS, LEAVES, *DRIVERS = PLATES[:4]
LEFT_S = 7.5
_CROSSING_S = 6.0


def scene(seconds: float) -> list[Parked]:
    """Two cars that stand, one of which is gone at once, and others that drive by before them."""
    cars = [Parked(STAYS, 930, 330)]
    if seconds < LEFT_S:
        cars.append(Parked(LEAVES, 330, 330))
    for number, plate in enumerate(DRIVERS):
        since_s = seconds - 2 - number * _CROSSING_S
        if 0 <= since_s < _CROSSING_S:
            cars.append(Parked(plate, 250 + round(130 * since_s), 625))
    return cars


def video(until_s: float = 14.4) -> Iterator[tuple[float, av.VideoFrame]]:
    for number in range(round(until_s * FRAMES_PER_SECOND)):
        seconds = number / FRAMES_PER_SECOND
        image = car_scene(scene(seconds), seed=number)
        yield seconds, av.VideoFrame.from_ndarray(image, format="bgr24")


@pytest.mark.parametrize("behind", [0, 1])
def test_standing_vehicles_are_told_once_and_in_whole(behind: int) -> None:
    stage = Stage(Recognizer(RecognizerSettings.model_validate({})), behind, whole_ms=2_000)
    spent = play(stage, list(sent_frames(video(), FRAMES_PER_SECOND)))
    assert sorted(one.plate for one in spent.passes) == sorted([STAYS, LEAVES, *DRIVERS])
    assert {plate for _, plate in spent.early} <= {STAYS, LEAVES, *DRIVERS}
    (left,) = (one for one in spent.passes if one.plate == LEAVES)
    assert (left.last_seen_ms - START_MS) / 1000 < LEFT_S
