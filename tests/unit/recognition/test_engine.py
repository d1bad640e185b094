import math

import numpy as np
import pytest
from msgspec.structs import replace

from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.models.model_card import CalibrationCard, PlateProbabilityCard
from recognition.models.runtime import Tensor
from recognition.reading.confidence import PlateFeatures
from recognition.reading.plate_reading import plate_features
from recognition.reading.reader import Plate, Reader
from recognition.types import Character, CropText, Detection
from tests.unit.recognition.cards import (
    SaidModel,
    centre_rows,
    detector_card,
    plate_chance_card,
    reader_card,
    recognizer_settings,
    slots_of,
)

IMAGE = np.zeros((320, 320, 3), np.uint8)
HALVED = CalibrationCard(method="piecewise_linear", x=(0.0, 1.0), y=(0.0, 0.5))


def recognizer(
    *texts: str,
    width: float = 60,
    probability: float = 0.9,
    calibration: CalibrationCard | None = None,
    classes: tuple[str, ...] = ("plate",),
    plate_chance: PlateProbabilityCard | None = None,
    **settings: object,
) -> Recognizer:
    found = [(50 + 100 * i, 150, width, 20, 0.9 - 0.1 * i) for i in range(len(texts))]
    detects = SaidModel(lambda _: {"output0": centre_rows(*found)})

    def say(batch: Tensor) -> dict[str, Tensor]:
        return {"plate": np.stack([slots_of(t, probability) for t in texts[: len(batch)]])}

    fields = recognizer_settings(**settings)
    card = replace(detector_card(classes=classes), plate_chance=plate_chance)
    reader = Reader(reader_card(calibration=calibration), SaidModel(say))
    return Recognizer(fields, (Detector(card, detects, fields), reader))


def test_a_reading_says_what_where_and_how_sure() -> None:
    (found,) = recognizer("AB123CD").recognize(IMAGE)
    assert found.text == "AB123CD"
    assert found.confidence == pytest.approx(0.9, abs=1e-4)
    assert found.detection_confidence == pytest.approx(0.9)
    assert (found.box.x, found.box.y) == pytest.approx((20, 140))
    assert (found.box.width, found.box.height) == pytest.approx((60, 20))
    assert [options[0].character for options in found.positions] == list("AB123CD")
    assert found.plate_type == "car"


def test_confidence_is_calibrated_and_the_mean_of_the_characters() -> None:
    (found,) = recognizer("AB123CD", calibration=HALVED).recognize(IMAGE)
    assert found.confidence == pytest.approx(0.45, abs=1e-4)
    best = [options[0].probability for options in found.positions]
    assert sum(best) / len(best) == pytest.approx(found.confidence)


@pytest.mark.parametrize(("text", "confidence"), [("AB123CD", 0.81), ("WELCOME", 0.45)])
def test_confidence_is_less_where_it_may_be_no_plate(text: str, confidence: float) -> None:
    # The detector's confidence of 0.9 gives odds of 9 to 1. Letters alone reduce them to 1 to 1.
    chance = plate_chance_card(score=1.0, letters_alone=-math.log(9))
    (found,) = recognizer(text, plate_chance=chance).recognize(IMAGE)
    assert found.confidence == pytest.approx(confidence, abs=1e-4)
    best = [options[0].probability for options in found.positions]
    assert sum(best) / len(best) == pytest.approx(found.confidence)


def test_features_say_what_share_of_the_width_a_plate_takes() -> None:
    found = Detection(80, 100, 240, 150, 0.7, "plate")
    text = CropText((Character((("A", 0.9),)), Character((("1", 0.6),))), None)
    assert plate_features(Plate(IMAGE, found), text) == PlateFeatures(0.7, 0.5, "A1", 0.6)


def test_several_plates_best_detection_first() -> None:
    found = recognizer("AB123CD", "XY987ZW").recognize(IMAGE)
    assert [f.text for f in found] == ["AB123CD", "XY987ZW"]


@pytest.mark.parametrize("text", ["A", ""])
def test_what_is_too_short_is_left_out(text: str) -> None:
    assert recognizer(text).recognize(IMAGE) == []


def test_length_and_confidence_decide_what_is_a_plate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recognition.reading.selection.MIN_CHARACTERS", 4)
    monkeypatch.setattr("recognition.reading.selection.READING_THRESHOLD", 0.95)
    assert not recognizer("ABC", probability=0.99).recognize(IMAGE)
    assert not recognizer("AB123CD").recognize(IMAGE)
    assert recognizer("AB123CD", probability=0.99).recognize(IMAGE)


@pytest.mark.parametrize(
    ("part", "sureness", "text"),
    [
        (("B123C", 0.8), 0.9, "AB123CD"),
        (("B123C", 0.8), 0.5, "B123C"),
        (("B", 0.99), 0.6, "AB123CD"),
    ],
    ids=["whole", "part", "too short"],
)
def test_of_one_plate_the_box_with_the_better_reading_counts(
    part: tuple[str, float], sureness: float, text: str
) -> None:
    # A part of the plate scores 0.45 in the large input; all of it scores 0.42 in the half-size
    # one.
    near = centre_rows((160, 150, 150, 40, 0.45), (160, 290, 90, 20, 0.4))
    hints = iter([near, centre_rows((160, 155, 110, 25, 0.42)), centre_rows((0, 0, 0, 0, 0.0))])
    detects = SaidModel(lambda _: {"output0": next(hints)})
    said = iter([part, ("AB123CD", sureness), ("XY987ZW", 0.9)])

    def say(batch: Tensor) -> dict[str, Tensor]:
        return {"plate": np.stack([slots_of(*next(said)) for _ in batch])}

    fields = recognizer_settings()
    detector = Detector(detector_card(), detects, fields)
    found = Recognizer(fields, (detector, Reader(reader_card(), SaidModel(say)))).recognize(IMAGE)

    assert [one.text for one in found] == [text, "XY987ZW"]


def test_no_more_plates_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recognition.detection.detector.MAX_PLATES", 1)
    few = recognizer("AB123CD", "XY987ZW")
    assert [one.text for one in few.recognize(IMAGE)] == ["AB123CD"]
    assert len(few.detect(IMAGE)) == 1


def test_narrow_plates_are_not_read() -> None:
    assert recognizer("AB123CD", width=60).recognize(IMAGE, min_plate_width_px=61) == []
    assert recognizer("AB123CD", width=60).recognize(IMAGE, min_plate_width_px=60)


@pytest.mark.parametrize(("width", "is_read"), [(31.9, False), (32.1, True)])
def test_plates_under_32_px_are_not_read_and_not_counted_as_small(
    width: float, is_read: bool
) -> None:
    (found,) = recognizer("AB123CD", width=width).find_all([IMAGE], [0])
    assert (len(found.readings), found.left.small) == (is_read, 0)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("motorcycle", "motorcycle"), ("two-row", "two-row"), ("plate", "car"), ("licence", "car")],
)
def test_the_detector_class_gives_the_plate_type(kind: str, expected: str) -> None:
    (found,) = recognizer("AB123CD", classes=(kind,)).recognize(IMAGE)
    assert found.plate_type == expected


@pytest.mark.parametrize(
    ("classes", "expected"), [(("plate",), "two-row"), (("car", "two-row"), "car")]
)
def test_two_rows_are_recognised_where_the_classes_name_no_kinds(
    classes: tuple[str, ...], expected: str
) -> None:
    striped = IMAGE.copy()
    for top in (123, 153):
        for left in (22, 23):
            striped[top : top + 24, left:78:4] = 255
    scores = (0.9, *(0.0,) * (len(classes) - 1))
    said = np.array([[50, 150, 60, 60, *scores]], np.float32).T[None]
    fields, detects = recognizer_settings(), SaidModel(lambda _: {"output0": said})
    detector = Detector(detector_card(classes=classes), detects, fields)
    reader = Reader(reader_card(), SaidModel(lambda _: {"plate": slots_of("AB123CD", 0.9)[None]}))
    (found,) = Recognizer(fields, (detector, reader)).recognize(striped)
    assert found.plate_type == expected
