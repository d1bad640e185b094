"""Pictures of a plate alone are looked at a second time, in a frame."""

import numpy as np
import pytest

from contracts.frames import Box
from contracts.readings import PlateReading
from recognition.close_up import fills, framed, may_be_close_up, unframed
from recognition.detector import Detector
from recognition.engine import Recognizer
from recognition.reader import Reader
from recognition.runtime import Tensor
from recognition.types import BgrImage
from tests.unit.recognition.cards import (
    SaidModel,
    centre_rows,
    detector_card,
    reader_card,
    recognizer_settings,
    slots_of,
)


def picture(height: int, width: int) -> BgrImage:
    return np.zeros((height, width, 3), np.uint8)


def reading(*box: float) -> PlateReading:
    x, y, width, height = box
    return PlateReading(
        text="AB123CD",
        confidence=0.9,
        detection_confidence=0.9,
        box=Box(x=x, y=y, width=width, height=height),
        positions=(),
    )


@pytest.mark.parametrize(
    ("height", "width", "may_be"),
    [(64, 128, True), (500, 512, True), (300, 1400, True), (1080, 1920, False), (480, 640, False)],
)
def test_small_and_flat_pictures_may_be_close_ups(height: int, width: int, may_be: bool) -> None:
    assert may_be_close_up(picture(height, width)) is may_be


@pytest.mark.parametrize(("height", "width"), [(4000, 10_000), (1, 10_000), (1080, 3840)])
def test_the_frame_of_a_large_picture_is_not_large(height: int, width: int) -> None:
    assert may_be_close_up(picture(height, width))
    assert framed(picture(height, width)).size <= 20_000_000


def test_boxes_come_back_into_a_large_picture() -> None:
    image = picture(500, 2000)
    assert framed(image).shape == (160 + 2 * 426, 640 + 2 * 1280, 3)
    box = unframed(reading(1280 + 160, 426 + 40, 320, 80), image).box
    assert (box.x, box.y, box.width, box.height) == (500, 125, 1000, 250)


def test_boxes_come_back_into_the_picture() -> None:
    image = picture(50, 200)
    assert framed(image).shape == (50 + 2 * 133, 200 + 2 * 400, 3)
    box = unframed(reading(390, 122, 215, 70), image).box
    assert (box.x, box.y, box.width, box.height) == (0, 0, 200, 50)


def test_only_what_fills_the_picture_counts() -> None:
    assert fills(reading(0, 0, 150, 50), picture(50, 200))
    assert not fills(reading(0, 0, 80, 30), picture(50, 200))


def recognizer(first: tuple[str, float], framed: tuple[str, float]) -> Recognizer:
    """One that says ``first`` of a picture 300 px wide, then ``framed`` of it in its frame."""
    said = iter((first, framed))
    boxes = iter([(160.0, 160.0, 300.0, 70.0, 0.9), (160.0, 160.0, 62.0, 16.0, 0.9)])

    def read(_: Tensor) -> dict[str, Tensor]:
        return {"plate": slots_of(*next(said))[np.newaxis]}

    fields = recognizer_settings()
    return Recognizer(
        fields,
        Detector(
            detector_card(), SaidModel(lambda _: {"output0": centre_rows(next(boxes))}), fields
        ),
        Reader(reader_card(), SaidModel(read)),
    )


@pytest.mark.parametrize(
    ("first", "framed", "text"),
    [
        (("AB1", 0.5), ("AB123CD", 0.9), "AB123CD"),
        (("AB123CD", 0.9), ("AB1", 0.5), "AB123CD"),
    ],
)
def test_the_surer_look_counts(
    first: tuple[str, float], framed: tuple[str, float], text: str
) -> None:
    (found,) = recognizer(first, framed).read(picture(75, 300))
    assert found.text == text
    assert 0 <= found.box.x < found.box.x + found.box.width <= 300
