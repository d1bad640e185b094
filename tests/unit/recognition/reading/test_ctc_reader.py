"""The second reader: the uncertain plates that it reads, and how its result is used."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from common.errors import MisconfiguredError
from recognition.models.model_card import (
    CalibrationCard,
    CropCard,
    CtcReaderCard,
    MarginsCard,
    TurnedCropsCard,
)
from recognition.models.model_check import check_same_characters
from recognition.models.runtime import Model, Tensor
from recognition.reading.ctc_reader import CtcReader
from recognition.reading.reader import Reader
from recognition.reading.row_classifier import RowClassifier
from recognition.settings import CPU_PROVIDER, MODELS, Precision, RecognizerSettings
from recognition.types import BgrImage, Detection
from tests.unit.recognition.cards import (
    ALPHABET,
    SaidModel,
    reader_card,
    recognizer_settings,
    slots_of,
)
from tests.unit.recognition.reading.test_row_classifier import shown

FOUND = [Detection(10, 10, 90, 30, 0.9, "plate"), Detection(80, 50, 130, 70, 0.8, "plate")]
SCENE: BgrImage = np.random.default_rng(1).integers(0, 255, (100, 200, 3)).astype(np.uint8)
CALIBRATION = CalibrationCard(method="piecewise_linear", x=(0.0, 1.0), y=(0.5, 0.5))


def line_card() -> CtcReaderCard:
    path = MODELS / "plate-second-reader.json"
    card = msgspec.json.decode(path.read_bytes(), type=CtcReaderCard)
    return msgspec.structs.replace(card, calibration=CALIBRATION)


class SaidLine(CtcReader):
    """A second reader whose model returns one text."""

    def __init__(self, text: str) -> None:
        super().__init__(line_card(), recognizer_settings())
        self.model = SaidModel(lambda _: {"logs": said(text)})

    @property
    def _model(self) -> Model:
        return self.model


def said(text: str) -> Tensor:
    places = [c for character in text for c in (ALPHABET.index(character) + 1, 0)]
    values = np.full((1, len(places), 37), 0.001)
    values[0, np.arange(len(places)), places] = 0.964
    return np.asarray(np.log(values), np.float32)


def first(*slots: Tensor) -> SaidModel:
    return SaidModel(lambda _: {"plate": np.stack(slots)})


def between(one: str, other: str, place: int, text: str) -> Tensor:
    slots = slots_of(text, probability=0.95)
    slots[place] = 0
    slots[place, ALPHABET.index(one)], slots[place, ALPHABET.index(other)] = 0.55, 0.45
    return slots


def test_only_unsure_plates_are_asked_about() -> None:
    second = SaidLine("AB1C")
    model = first(slots_of("XY99", probability=0.97), between("8", "B", 1, "AB1C"))
    sure, unsure = Reader(reader_card(), model, second).read_plates(SCENE, FOUND)
    assert (sure.text, sure.fused) == ("XY99", False)
    assert (unsure.text, unsure.fused) == ("AB1C", True)
    assert len(second.model.inputs) == 1
    assert second.model.inputs[0].dtype == np.uint8


def test_what_may_be_no_plate_at_all_is_not_asked_about() -> None:
    second = SaidLine("AB1C")
    model = first(slots_of("XY99", probability=0.59), between("8", "B", 1, "AB1C"))
    hopeless, unsure = Reader(reader_card(), model, second).read_plates(SCENE, FOUND)
    assert (hopeless.fused, unsure.fused) == (False, True)


def test_what_was_read_upright_is_shown_upright() -> None:
    turned = TurnedCropsCard(step=20, most=20, above=0.4, below=0.9, gain=0.0, least=0.7)
    said = iter([[slots_of("XY99", probability=0.55)], [between("8", "B", 1, "AB1C")] * 2])
    model = SaidModel(lambda _: {"plate": np.stack(next(said))})
    level, upright = SaidLine("AB1C"), SaidLine("AB1C")
    Reader(reader_card(), first(between("8", "B", 1, "AB1C")), level).read_plates(SCENE, FOUND[:1])
    card = reader_card(crop=CropCard(turned=turned))

    (text,) = Reader(card, model, upright).read_plates(SCENE, FOUND[:1])

    assert (text.text, text.fused) == ("AB1C", True)
    assert not np.array_equal(level.model.inputs[0], upright.model.inputs[0])


@pytest.mark.parametrize(("layout", "width"), [("de_two_row", 288), ("us_ca", 96)])
def test_two_rows_are_shown_as_one_line(layout: str, width: int) -> None:
    image, box = shown(layout, seed=1)
    second, model = SaidLine("AB1C"), first(between("8", "B", 1, "AB1C"))
    Reader(reader_card(), model, second, rows=RowClassifier.load()).read_plates(image, [box])
    assert second.model.inputs[0].shape[2] == width


def test_settled_readings_have_a_separate_calibration() -> None:
    model = first(slots_of("XY99", probability=0.97), between("8", "B", 1, "AB1C"))
    reader = Reader(reader_card(), model, SaidLine("AB1C"))
    sure, unsure = reader.read_plates(SCENE, FOUND)
    assert reader.calibration(sure) is None
    assert reader.calibration(unsure) == CALIBRATION


def test_without_a_second_reader_nothing_is_asked() -> None:
    (text,) = Reader(reader_card(), first(between("8", "B", 1, "AB1C"))).read_plates(
        SCENE, FOUND[:1]
    )
    assert (text.text, text.fused) == ("A81C", False)


@pytest.mark.parametrize(
    ("size", "width"), [((20, 80), 192), ((40, 40), 64), ((10, 200), 384)], ids=str
)
def test_crops_keep_their_shape_in_steps(size: tuple[int, int], width: int) -> None:
    second = SaidLine("AB1C")
    second.log_probs(np.zeros((*size, 3), np.uint8))
    assert second.model.inputs[0].shape == (1, 48, width, 3)


def test_an_output_that_does_not_fit_is_reported() -> None:
    second = SaidLine("AB1C")
    second.model = SaidModel(lambda _: {"logs": np.zeros((1, 9, 5), np.float32)})
    with pytest.raises(MisconfiguredError, match="does not match its model card"):
        second.log_probs(SCENE)


def test_other_characters_are_refused() -> None:
    card = msgspec.structs.replace(
        line_card(), output=msgspec.structs.replace(line_card().output, alphabet="0123")
    )
    with pytest.raises(MisconfiguredError, match="different characters"):
        check_same_characters(reader_card(), card)


def test_it_can_be_disabled() -> None:
    assert CtcReader.load(recognizer_settings(second_reader=False)) is None


def test_a_file_of_ones_own_is_tried_at_start(tmp_path: Path) -> None:
    model = tmp_path / "mine.onnx"
    model.write_bytes(b"no model")
    card = msgspec.to_builtins(line_card())
    card["sha256"] = "f3cb0ad42a1bf84e8b9c4e9b7a4bd2dbd3ee1ae15bc47bd3b1f2b9a2b5cf5df5"
    model.with_suffix(".json").write_text(json.dumps(card))
    settings = recognizer_settings(second_reader=model)
    with pytest.raises(MisconfiguredError, match="SHA-256"):
        CtcReader.load(settings)
    assert card["crop"] == msgspec.to_builtins(MarginsCard(margin_x=0.02, margin_y=0.04))


def test_it_runs_on_the_processor_whatever_the_others_run_on_in_the_numbers_of_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[tuple[str, Precision]] = []

    def load(_: Path, settings: RecognizerSettings, precision: Precision) -> Model:
        loaded.append((settings.recognition_providers, precision))
        return SaidModel(lambda _: {"logs": said("AB12CD")})

    monkeypatch.setattr("recognition.reading.ctc_reader.load_model", load)
    settings = recognizer_settings(providers="TensorrtExecutionProvider", precision="bf16")
    CtcReader(line_card(), settings).log_probs(SCENE)
    assert loaded == [(CPU_PROVIDER, Precision.BF16)]
