"""Third-party model files: their metadata, and clear errors if metadata is missing."""

import hashlib
from pathlib import Path

import pytest
from pydantic import ValidationError

from common.errors import MisconfiguredError
from recognition.models import third_party_models
from recognition.models.model_card import DetectorDecoder
from recognition.models.runtime import OnnxInfo
from recognition.models.third_party_models import (
    detector_card,
    fetch_hub_reader,
    reader_card,
)
from recognition.settings import RecognizerSettings

ULTRALYTICS = {"task": "detect", "names": "{0: 'plate', 1: 'two-row'}", "stride": "32"}
FREE_SIZE = ("batch", 3, "height", "width")
CONFIG = """
max_plate_slots: 10
alphabet: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_'
pad_char: '_'
img_height: 64
img_width: 128
image_color_mode: rgb
plate_regions: [Brazil, Unknown]
interpolation: linear
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "mine.onnx"
    path.write_bytes(b"network")
    return path


def says(
    monkeypatch: pytest.MonkeyPatch,
    metadata: dict[str, str] | None = None,
    image: tuple[int | str, ...] = FREE_SIZE,
    output: tuple[int | str, ...] = ("batch", 6, "anchors"),
    outputs: tuple[str, ...] = ("output0",),
) -> None:
    facts = OnnxInfo(metadata or {}, "images", "tensor(float)", image, outputs, output)
    monkeypatch.setattr(third_party_models, "inspect_onnx", lambda _: facts)


def test_an_ultralytics_export_needs_no_card(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ULTRALYTICS)
    card = detector_card(model)
    assert card.output.decoder is DetectorDecoder.ULTRALYTICS
    assert card.output.classes == ("plate", "two-row")
    assert (card.input.height, card.input.dynamic_size, card.input.stride) == (640, True, 32)


def test_a_detector_with_suppression_inside_keeps_its_size(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, image=(1, 3, 416, 416), output=("batch", 7))
    card = detector_card(model)
    assert card.output.decoder is DetectorDecoder.END2END_ROWS
    assert (card.input.width, card.input.dynamic_size, card.input.dynamic_batch) == (
        416,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({}, "has no model card mine.json"),
        ({**ULTRALYTICS, "task": "segment"}, "has no model card mine.json"),
        ({**ULTRALYTICS, "names": "plate"}, "defines no class names"),
    ],
    ids=["nothing", "other-task", "no-names"],
)
def test_a_detector_that_says_nothing_useful_is_refused(
    model: Path, monkeypatch: pytest.MonkeyPatch, metadata: dict[str, str], words: str
) -> None:
    says(monkeypatch, metadata)
    with pytest.raises(MisconfiguredError, match=words):
        detector_card(model)


def test_a_plate_configuration_is_a_readers_card(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, outputs=("plate", "region"))
    model.with_name("mine_plate_config.yaml").write_text(CONFIG)
    card = reader_card(model)
    assert (card.input.height, card.input.width, card.output.slots) == (64, 128, 10)
    assert (card.output.region_name, card.output.regions) == ("region", ("Brazil", "Unknown"))
    assert (card.crop.margin_x, card.crop.margin_y) == (0.04, 0.1)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("max_plate_slots: many", "plate configuration"),
        (CONFIG.replace("rgb", "grayscale"), "grey models are not supported"),
        (CONFIG + "keep_aspect_ratio: true\n", "keep_aspect_ratio"),
    ],
    ids=["broken", "grey", "ratio"],
)
def test_a_plate_configuration_that_cannot_be_served_is_refused(
    model: Path, config: str, words: str
) -> None:
    model.with_name("mine_plate_config.yaml").write_text(config)
    with pytest.raises(MisconfiguredError, match=words):
        reader_card(model)


def test_a_reader_without_card_and_configuration_is_refused(model: Path) -> None:
    with pytest.raises(MisconfiguredError, match=r"mine\.json"):
        reader_card(model)


def test_a_hub_model_that_does_not_exist_is_refused() -> None:
    with pytest.raises(MisconfiguredError, match="available: .*cct-xs-v2-global-model"):
        fetch_hub_reader("my-model")


def test_a_hub_that_cannot_be_reached_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str) -> tuple[Path, Path]:
        raise OSError(f"no route for {name}")

    monkeypatch.setattr("fast_plate_ocr.inference.hub.download_model", unreachable)
    with pytest.raises(MisconfiguredError, match="no route for cct-s-v2-global-model"):
        fetch_hub_reader("cct-s-v2-global-model")


def test_a_hub_configuration_is_stored_under_its_models_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, config = tmp_path / "arg_ocr.onnx", tmp_path / "arg_config.yaml"
    config.write_text(CONFIG)
    monkeypatch.setattr("fast_plate_ocr.inference.hub.download_model", lambda _: (model, config))
    assert fetch_hub_reader("argentinian-plates-cnn-model") == model
    assert (tmp_path / "arg_ocr_plate_config.yaml").read_text() == CONFIG


@pytest.fixture
def hub_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The hub's files under any name: a model and its configuration."""
    model, config = tmp_path / "cct.onnx", tmp_path / "cct_plate_config.yaml"
    model.write_bytes(b"network")
    config.write_text(CONFIG)
    monkeypatch.setattr("fast_plate_ocr.inference.hub.download_model", lambda _: (model, config))
    return model, config


def _pinned(*files: Path) -> str:
    sums = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    return f"cct-s-v2-global-model#sha256={','.join(sums)}"


def test_a_pinned_hub_model_is_taken(hub_files: tuple[Path, Path]) -> None:
    model, config = hub_files
    for name in (_pinned(model, config), _pinned(config, model)):
        assert fetch_hub_reader(name) == model
        assert RecognizerSettings.model_validate({"recognition_reader_model": f"hub:{name}"})


@pytest.mark.parametrize("which", [0, 1], ids=["model", "configuration"])
def test_another_file_than_the_pinned_one_is_refused(
    hub_files: tuple[Path, Path], which: int
) -> None:
    name = _pinned(*hub_files)
    hub_files[which].write_text("something else")
    with pytest.raises(MisconfiguredError, match=f"{hub_files[which].name} has SHA-256"):
        fetch_hub_reader(name)


@pytest.mark.parametrize("pin", ["#sha256=", "#sha256=ab,cd", "#md5=ab", f"#sha256={'a' * 64}"])
def test_a_pin_that_pins_nothing_is_refused(pin: str) -> None:
    with pytest.raises(ValidationError):
        RecognizerSettings.model_validate({"recognition_reader_model": f"hub:cct-s-v2{pin}"})
