"""Supports third-party models, whose metadata replaces a model card.

Three kinds are supported: detectors exported by Ultralytics, detectors of open-image-models with
built-in suppression, and fast-plate-ocr readers with a plate configuration next to the model.
"""

import ast
import os
import socket
from pathlib import Path
from typing import Any

import msgspec

from common.errors import MisconfiguredError
from recognition.models.model_card import (
    END2END_ROW_VALUES,
    CropCard,
    DetectorCard,
    DetectorDecoder,
    DetectorOutputCard,
    InputCard,
    ReaderCard,
    ReaderOutputCard,
    file_sha256,
    load_card,
)
from recognition.models.runtime import OnnxInfo, inspect_onnx
from recognition.settings import PIN_MARK

FETCH_TIMEOUT_SECONDS = 20.0

DEFAULT_SIDE_PX, DEFAULT_STRIDE_PX = 640, 32
DEFAULT_CANVASES = ((768, 448), (640, 480), (480, 640), (640, 640), (256, 160))
"""Canvases of detectors with a variable size and the default stride."""
DEFAULT_GREY = 114

DEFAULT_CROP = CropCard(margin_x=0.04, margin_y=0.10)
"""The best margins for fast-plate-ocr's reader: 86.3 % of 918 plates correct (81.6 % without)."""


class PlateConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of fast-plate-ocr's plate configuration that are used here."""

    max_plate_slots: int
    alphabet: str
    pad_char: str
    img_height: int
    img_width: int
    keep_aspect_ratio: bool = False
    image_color_mode: str = "grayscale"
    plate_regions: tuple[str, ...] | None = None


def detector_card(path: Path) -> DetectorCard:
    """Return the model card next to a detector, or a card created from the file's metadata.

    Raises:
        MisconfiguredError: neither a card nor metadata exists, or the card does not match.
    """
    if path.with_suffix(".json").exists() or not path.exists():
        return load_card(DetectorCard, path)
    facts = inspect_onnx(path)
    if "names" in facts.metadata and facts.metadata.get("task") == "detect":
        names = _class_names(path, facts.metadata["names"])
        stride = int(facts.metadata.get("stride", DEFAULT_STRIDE_PX))
        return _detector_card(path, facts, DetectorDecoder.ULTRALYTICS, names, stride)
    if len(facts.output_shape) == 2 and facts.output_shape[1] == END2END_ROW_VALUES:
        rows = DetectorDecoder.END2END_ROWS
        return _detector_card(path, facts, rows, ("plate",), DEFAULT_STRIDE_PX)
    raise MisconfiguredError(
        f"detector {path} has no model card {path.with_suffix('.json').name} next to it and is not "
        "an Ultralytics export or an open-image-models file (see recognition/models/README.md)"
    )


def reader_card(path: Path) -> ReaderCard:
    """Return the model card next to a reader, or a card created from the configuration next to it.

    Raises:
        MisconfiguredError: neither a card nor a configuration exists, or the card does not match.
    """
    config = path.with_name(f"{path.stem}_plate_config.yaml")
    if path.with_suffix(".json").exists() or not config.exists():
        return load_card(ReaderCard, path)
    return _fast_plate_ocr_card(path, _plate_config(config), inspect_onnx(path))


def fetch_hub_reader(pinned_name: str) -> Path:
    """Return a reader from fast-plate-ocr's hub, downloading it if it is not cached.

    ``#sha256=`` and the comma-separated checksums of the reader's two files can follow the name.

    Raises:
        MisconfiguredError: the hub has no model of this name, the download failed, or a checksum
            does not match.
    """
    from fast_plate_ocr.inference.hub import AVAILABLE_ONNX_MODELS, download_model

    name, _, sums = pinned_name.partition(PIN_MARK)
    if name not in AVAILABLE_ONNX_MODELS:
        known = ", ".join(sorted(AVAILABLE_ONNX_MODELS))
        raise MisconfiguredError(f"fast-plate-ocr has no model {name!r}; available: {known}")
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(FETCH_TIMEOUT_SECONDS)  # The library's request has no timeout.
    try:
        model, config = download_model(name)
    except (OSError, ValueError) as error:
        raise MisconfiguredError(f"model {name} cannot be downloaded: {error}") from error
    finally:
        socket.setdefaulttimeout(before)
    for file in (model, config) if sums else ():
        if (found := file_sha256(file)) not in sums.split(","):
            raise MisconfiguredError(
                f"{file} has SHA-256 {found}, which is not one of the pinned checksums; delete the "
                "file to download it again"
            )
    return _with_config(model, config)


def _with_config(model: Path, config: Path) -> Path:
    """Copy a configuration next to its model, under the model's name, as names can differ."""
    wanted = model.with_name(f"{model.stem}_plate_config.yaml")
    if config != wanted:
        fresh = wanted.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(config.read_bytes())
        fresh.replace(wanted)
    return model


def _detector_card(
    path: Path, facts: OnnxInfo, decoder: DetectorDecoder, classes: tuple[str, ...], stride: int
) -> DetectorCard:
    sides = [side for side in facts.input_shape[2:4] if isinstance(side, int)]
    is_fixed = len(sides) == 2
    height, width = sides if is_fixed else (DEFAULT_SIDE_PX, DEFAULT_SIDE_PX)
    return DetectorCard(
        **_identity(path),
        input=InputCard(
            name=facts.input,
            dtype="uint8" if facts.input_type == "tensor(uint8)" else "float32",
            layout="NCHW",
            colour="RGB",
            scale=1 / 255,
            resize="letterbox",
            pad_value=DEFAULT_GREY,
            height=height,
            width=width,
            dynamic_batch=not isinstance(facts.input_shape[0], int),
            dynamic_size=not is_fixed,
            canvases=() if is_fixed or stride != DEFAULT_STRIDE_PX else DEFAULT_CANVASES,
            stride=stride,
        ),
        output=DetectorOutputCard(
            decoder=decoder,
            name=facts.outputs[0],
            classes=classes,
            score_threshold=0.4,
            iou_threshold=0.5,
        ),
    )


def _class_names(path: Path, text: str) -> tuple[str, ...]:
    """Return the names in Ultralytics' metadata, a Python dictionary from index to name."""
    try:
        names: dict[int, Any] = ast.literal_eval(text)
        return tuple(str(names[index]) for index in sorted(names))
    except (ValueError, SyntaxError, AttributeError, TypeError) as error:
        raise MisconfiguredError(f"detector {path} defines no class names: {text!r}") from error


def _plate_config(path: Path) -> PlateConfig:
    try:
        config = msgspec.yaml.decode(path.read_bytes(), type=PlateConfig)
    except (OSError, msgspec.MsgspecError) as error:
        raise MisconfiguredError(f"plate configuration {path}: {error}") from error
    if config.keep_aspect_ratio or config.image_color_mode != "rgb":
        raise MisconfiguredError(
            f"plate configuration {path}: keep_aspect_ratio and grey models are not supported"
        )
    return config


def _fast_plate_ocr_card(path: Path, config: PlateConfig, facts: OnnxInfo) -> ReaderCard:
    with_region = config.plate_regions is not None and len(facts.outputs) > 1
    return ReaderCard(
        **_identity(path),
        input=InputCard(
            name=facts.input,
            dtype="float32" if facts.input_type == "tensor(float)" else "uint8",
            layout="NHWC",
            colour="RGB",
            scale=1.0,
            resize="stretch",
            height=config.img_height,
            width=config.img_width,
            dynamic_batch=not isinstance(facts.input_shape[0], int),
        ),
        output=ReaderOutputCard(
            decoder="slots",
            name=facts.outputs[0],
            alphabet=config.alphabet,
            slots=config.max_plate_slots,
            pad_char=config.pad_char,
            region_name=facts.outputs[1] if with_region else None,
            regions=config.plate_regions if with_region else None,
        ),
        crop=DEFAULT_CROP,
    )


def _identity(path: Path) -> dict[str, Any]:
    sha256 = file_sha256(path)
    return {"schema": 1, "name": path.stem, "version": "", "file": path.name, "sha256": sha256}
