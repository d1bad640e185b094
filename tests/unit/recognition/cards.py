"""Model cards, and models whose output a test sets, so that nothing is computed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from recognition.models.model_card import (
    CalibrationCard,
    CropCard,
    DetectorCard,
    DetectorDecoder,
    DetectorOutputCard,
    InputCard,
    PlateProbabilityCard,
    ReaderCard,
    ReaderOutputCard,
)
from recognition.models.runtime import Tensor
from recognition.settings import RecognizerSettings

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
SLOTS = 10


class SaidModel:
    """A model whose output is a function of its input, and which records its inputs."""

    def __init__(self, say: Callable[[Tensor], dict[str, Tensor]]) -> None:
        self._say = say
        self.inputs: list[Tensor] = []

    def run(self, tensor: Tensor) -> dict[str, Tensor]:
        self.inputs.append(tensor)
        return self._say(tensor)


def recognizer_settings(**fields: Any) -> RecognizerSettings:
    named = {f"recognition_{name}": value for name, value in fields.items()}
    return RecognizerSettings.model_validate(named)


def detector_card(
    decoder: DetectorDecoder = DetectorDecoder.ULTRALYTICS,
    classes: tuple[str, ...] = ("plate",),
    **given: Any,
) -> DetectorCard:
    return DetectorCard(
        schema=1,
        name="detector",
        version="1",
        file="detector.onnx",
        sha256="",
        input=InputCard(
            name="images",
            dtype="float32",
            layout="NCHW",
            colour="RGB",
            scale=1 / 255,
            resize="letterbox",
            pad_value=114,
            height=320,
            width=320,
            **given,
        ),
        output=DetectorOutputCard(
            decoder=decoder,
            name="output0",
            classes=classes,
            score_threshold=0.4,
            iou_threshold=0.5,
        ),
    )


def reader_card(
    regions: tuple[str, ...] | None = None,
    calibration: CalibrationCard | None = None,
    dynamic_batch: bool = True,
    crop: CropCard | None = None,
) -> ReaderCard:
    return ReaderCard(
        schema=1,
        name="reader",
        version="1",
        file="reader.onnx",
        sha256="",
        input=InputCard(
            name="input",
            dtype="uint8",
            layout="NHWC",
            colour="RGB",
            scale=1.0,
            resize="stretch",
            height=64,
            width=128,
            dynamic_batch=dynamic_batch,
        ),
        output=ReaderOutputCard(
            decoder="slots",
            name="plate",
            alphabet=ALPHABET,
            slots=SLOTS,
            pad_char="_",
            region_name="region" if regions else None,
            regions=regions,
        ),
        crop=crop or CropCard(margin_x=0.1, margin_y=0.2),
        calibration=calibration,
    )


def centre_rows(*rows: tuple[float, float, float, float, float]) -> Tensor:
    """Return rows of centre x, centre y, width, height and score, as a 1 x 5 x N tensor."""
    return np.array([rows], np.float32).transpose(0, 2, 1)


def slots_of(text: str, probability: float = 0.9) -> Tensor:
    """Return slots x alphabet probabilities of a text. The next character gets the remainder."""
    slots = np.zeros((SLOTS, len(ALPHABET)), np.float32)
    for row, character in zip(slots, text.ljust(SLOTS, "_"), strict=True):
        best = ALPHABET.index(character)
        row[best] = probability
        row[(best + 1) % (len(ALPHABET) - 1)] += 1 - probability
    return slots


def plate_chance_card(**weights: float) -> PlateProbabilityCard:
    """Return a card with the given weights; the weights of all other features are zero."""
    names = PlateProbabilityCard.__struct_fields__
    return PlateProbabilityCard(**(dict.fromkeys(names, 0.0) | weights))
