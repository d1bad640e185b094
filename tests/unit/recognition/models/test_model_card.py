import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from common.errors import MisconfiguredError
from recognition.models.model_card import (
    CalibrationCard,
    CtcReaderCard,
    DetectorCard,
    PlateProbabilityCard,
    ReaderCard,
    TurnedCropsCard,
    load_card,
)
from recognition.settings import MODELS, RecognizerPoolSettings
from tests.unit.recognition.cards import recognizer_settings

CARD: dict[str, Any] = {
    "schema": 1,
    "kind": "detector",
    "name": "mine",
    "version": "1",
    "file": "mine.onnx",
    "summary": "fields that the engine does not need are fine",
    "input": {
        "name": "images",
        "dtype": "float32",
        "layout": "NCHW",
        "colour": "RGB",
        "scale": 1.0,
        "resize": "letterbox",
        "height": 320,
        "width": 320,
        "pad_value": 114,
    },
    "output": {
        "decoder": "ultralytics",
        "name": "output0",
        "classes": ["plate"],
        "score_threshold": 0.4,
        "iou_threshold": 0.5,
    },
}


CHANCE = dict.fromkeys(PlateProbabilityCard.__struct_fields__, 0.0)


def model_with(folder: Path, **changes: Any) -> Path:
    model = folder / "mine.onnx"
    model.write_bytes(b"network")
    card = {**CARD, "sha256": hashlib.sha256(b"network").hexdigest(), **changes}
    model.with_suffix(".json").write_text(json.dumps(card))
    return model


def test_reads_a_card_of_ones_own(tmp_path: Path) -> None:
    card = load_card(DetectorCard, model_with(tmp_path))
    assert card.name == "mine"
    assert card.input.pad_value == 114


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sha256": "0" * 64}, "does not match the SHA-256"),
        ({"schema": 2}, "schema 2"),
        ({"kind": "reader"}, "card"),
        ({"input": {}}, "card"),
        ({"output": {**CARD["output"], "decoder": "mystery"}}, "mystery"),
        # These faults would otherwise be noticed at the first plate only.
        ({"input": {**CARD["input"], "stride": 0}}, "stride"),
        ({"input": {**CARD["input"], "width": 0}}, "width"),
        ({"output": {**CARD["output"], "classes": []}}, "classes"),
        ({"plate_chance": {**CHANCE, "score": "much"}}, "plate_chance.score"),
        ({"plate_chance": {"offset": 1.0}}, "missing required field"),
    ],
)
def test_refuses_a_card_that_does_not_fit(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(MisconfiguredError, match=words):
        load_card(DetectorCard, model_with(tmp_path, **changes))


def test_refuses_a_missing_card(tmp_path: Path) -> None:
    model = model_with(tmp_path)
    model.with_suffix(".json").unlink()
    with pytest.raises(MisconfiguredError, match="mine.json"):
        load_card(DetectorCard, model)


def test_our_own_cards_fit_their_files() -> None:
    assert load_card(DetectorCard, MODELS / "plate-detector.onnx").output.classes
    assert load_card(CtcReaderCard, MODELS / "plate-second-reader.onnx").output.alphabet
    assert load_card(ReaderCard, MODELS / "plate-reader.onnx").output.alphabet


def test_the_detector_for_gpus_is_used_as_the_one_for_processors() -> None:
    eight_bits = load_card(DetectorCard, MODELS / "plate-detector.onnx")
    floats = load_card(DetectorCard, MODELS / "plate-detector-float.onnx")
    own = {"name": "", "file": "", "sha256": ""}
    assert replace(floats, **own, input=eight_bits.input) == replace(eight_bits, **own)
    fed = {"dtype": "uint8", "layout": "NHWC", "colour": "BGR"}
    assert replace(floats.input, **fed, scale=1.0) == eight_bits.input


@pytest.mark.parametrize(
    ("providers", "name"),
    [
        ("CPUExecutionProvider", "plate-detector.onnx"),
        ("CPU", "plate-detector.onnx"),
        ("GPU", "plate-detector-float.onnx"),
        ("CUDAExecutionProvider,CPUExecutionProvider", "plate-detector-float.onnx"),
    ],
)
def test_the_device_decides_which_of_our_detectors_is_used(providers: str, name: str) -> None:
    assert recognizer_settings(providers=providers).detector_path == MODELS / name


@pytest.mark.parametrize(
    ("providers", "given", "mib"),
    [
        ("CPUExecutionProvider", 0, 1536),
        ("CUDAExecutionProvider,CPUExecutionProvider", 0, 4096),
        ("CUDAExecutionProvider,CPUExecutionProvider", 300, 300),
    ],
)
def test_a_process_gets_the_memory_that_its_device_takes(
    providers: str, given: int, mib: int
) -> None:
    settings = RecognizerPoolSettings.model_validate(
        {
            "recognition_providers": providers,
            "recognition_worker_memory_bytes": given * 2**20,
        }
    )
    assert settings.worker_memory_bytes == mib * 2**20
    with pytest.raises(ValueError, match="must be 0, or at least 268435456"):
        RecognizerPoolSettings.model_validate({"recognition_worker_memory_bytes": 1000})


@pytest.mark.parametrize(
    "changes",
    [{"step": 20, "most": 10}, {"above": 0.9}, {"gain": -1}, {"most": 41}, {"step": 0.5}],
    ids=str,
)
def test_turned_crops_that_cannot_be_are_refused(changes: dict[str, float]) -> None:
    fields = {"step": 10, "most": 20, "above": 0.2, "below": 0.9, "gain": 0.1, "least": 0.7}
    assert msgspec.convert(fields, TurnedCropsCard).step == 10
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields | changes, TurnedCropsCard)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": [], "y": []}, "x"),
        ({"y": [0.5]}, "as many values"),
        ({"x": [1.0, 0.0]}, "must be increasing"),
        ({"method": "spline"}, "spline"),
    ],
)
def test_a_table_that_is_none_is_refused(changes: dict[str, Any], words: str) -> None:
    table = {"method": "piecewise_linear", "x": [0.0, 1.0], "y": [0.0, 1.0]}
    assert msgspec.convert(table, CalibrationCard).y == (0.0, 1.0)
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert(table | changes, CalibrationCard)
