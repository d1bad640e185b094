"""Parts of images: what their edges cut is never told in part."""

from collections.abc import Iterator

import pytest

from common.records.frames import Box
from recognition.engine import Recognizer
from recognition.look import Look
from recognition.settings import RecognizerSettings
from streams.recognition.geometry import share_within
from tests.integration.streams.recognition.scenes import HEIGHT_PX, WIDTH_PX, Parked, car_scene

CARS = {"SH350AZ": (400, 480), "VB221VX": (900, 480)}
"""Standing cars by their plates, with the middle of these."""

_WIDTH_PX, _HEIGHT_PX = 230, 200


def parts_beside(middle: tuple[int, int]) -> Iterator[Box]:
    """Parts that end at a plate: beyond it, within it in steps of a character, before it."""
    x, y = middle
    for offset in range(-100, 101, 20):
        for left in (x + offset - _WIDTH_PX, x + offset):
            yield Box(x=left, y=y - _HEIGHT_PX / 2, width=_WIDTH_PX, height=_HEIGHT_PX)


@pytest.fixture(scope="module")
def engine() -> Recognizer:
    return Recognizer(RecognizerSettings.model_validate({}))


@pytest.mark.parametrize("plate", CARS)
def test_a_plate_at_the_edge_of_a_part_is_read_in_whole_or_not(
    engine: Recognizer, plate: str
) -> None:
    image = car_scene([Parked(text, *middle) for text, middle in CARS.items()])
    (whole,) = (one.box for one in engine.recognize(image) if one.text == plate)
    frame = Box(x=0, y=0, width=WIDTH_PX, height=HEIGHT_PX)
    for part in parts_beside(CARS[plate]):
        assert share_within(part, frame) > 0.5
        (found,) = engine.find_all([image], [0], [Look(part=part)])
        texts = [one.text for one in found.readings]
        assert set(texts) <= set(CARS)
        assert plate in texts or share_within(whole, part) < 1
