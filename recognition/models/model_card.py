"""Loads model cards: JSON files that describe the input and output of the ONNX files next to them.

``recognition/models/README.md`` documents the fields.
"""

import hashlib
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from common.errors import MisconfiguredError

Interpolation = Literal["linear", "cubic"]
Resize = Literal["letterbox", "stretch"]
"""Method of resizing images: padding, which preserves the aspect ratio, or stretching."""

_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class DetectorDecoder(StrEnum):
    """Layout of a detector's output."""

    ULTRALYTICS = "ultralytics"
    """N x (4 + classes) x A: boxes (centre, size) and class scores, without suppression."""
    END2END_ROWS = "end2end_rows"
    """Rows of batch, x1, y1, x2, y2, class, score, after suppression of overlapping boxes."""


END2END_ROW_VALUES = 7
"""Number of values in a row of :attr:`DetectorDecoder.END2END_ROWS`."""


class InputCard(msgspec.Struct, frozen=True, kw_only=True):
    """The image tensor, and how an image becomes one."""

    name: str
    dtype: Literal["float32", "uint8"]
    layout: Literal["NCHW", "NHWC"]
    colour: Literal["RGB", "BGR"]
    scale: float
    resize: Resize
    height: Annotated[int, msgspec.Meta(ge=1)]
    width: Annotated[int, msgspec.Meta(ge=1)]
    pad_value: int | None = None
    dynamic_batch: bool = False
    dynamic_size: bool = False
    canvases: tuple[tuple[int, int], ...] = ()
    stride: Annotated[int, msgspec.Meta(ge=1)] = 32


class DetectorOutputCard(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a detector. Thresholds are from 0 to 1."""

    decoder: DetectorDecoder
    name: str
    classes: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    score_threshold: float
    iou_threshold: float


class ReaderOutputCard(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a reader: N x slots x alphabet, the probability of each character."""

    decoder: Literal["slots"]
    name: str
    alphabet: str
    slots: int
    pad_char: str
    region_name: str | None = None
    regions: tuple[str, ...] | None = None


class MarginsCard(msgspec.Struct, frozen=True, kw_only=True):
    """Margins on each side of a box, as fractions of the box's width and height."""

    margin_x: float = 0.0
    margin_y: float = 0.0


class TurnedCropsCard(msgspec.Struct, frozen=True, kw_only=True):
    """Rotated crops of plates that may be tilted. With a lower ``least``, signs become plates."""

    step: Annotated[float, msgspec.Meta(ge=5, le=40)]
    most: Annotated[float, msgspec.Meta(ge=5, le=40)]
    above: _Share
    below: _Share
    gain: _Share
    least: _Share
    least_width: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    least_score: _Share = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError, which msgspec converts, if the values contradict each other."""
        if self.step > self.most or self.above >= self.below:
            raise ValueError("`step` must not exceed `most`, and `above` must be less than `below`")


class CropCard(MarginsCard, frozen=True, kw_only=True):
    """Crops of a plate."""

    interpolation: Interpolation = "linear"
    turned: TurnedCropsCard | None = None


class CalibrationCard(msgspec.Struct, frozen=True, kw_only=True):
    """Table from mean character probability (``x``, increasing) to confidence (``y``), 0 to 1."""

    method: Literal["piecewise_linear"]
    x: Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        """Raise ValueError, which msgspec converts, for a table that would fail at a plate."""
        if len(self.x) != len(self.y) or any(a >= b for a, b in pairwise(self.x)):
            raise ValueError("x must be increasing and have as many values as y")


class PlateProbabilityCard(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of the features in :mod:`recognition.reading.confidence`, in their order."""

    offset: float
    score: float
    least_sure: float
    letters_alone: float
    digits_alone: float
    at_most_three: float
    four_characters: float
    close_up: float


class _Card(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    schema: int
    name: str
    version: str
    file: str
    sha256: str
    input: InputCard


class DetectorCard(_Card, frozen=True, kw_only=True, tag="detector"):
    """Model card of a detector, which finds plates in an image."""

    output: DetectorOutputCard
    plate_chance: PlateProbabilityCard | None = None


class ReaderCard(_Card, frozen=True, kw_only=True, tag="reader"):
    """Model card of a reader, which reads the characters of a plate's crop."""

    output: ReaderOutputCard
    crop: CropCard = CropCard()
    calibration: CalibrationCard | None = None


class CtcOutputCard(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a CTC reader: log probabilities, N x steps x (blank, then the alphabet)."""

    name: str
    alphabet: str
    look_alikes: tuple[str, ...] = ()


class CtcReaderCard(_Card, frozen=True, kw_only=True, tag="line-reader"):
    """Model card of a CTC reader, the second reader, which reads a plate as a line of text.

    With a lower ``least``, signs become plates.
    """

    least_width: int
    output: CtcOutputCard
    crop: MarginsCard = MarginsCard()
    below: float
    least: float = 0.0
    weight: float
    calibration: CalibrationCard | None = None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


_SCHEMA = 1
_C = TypeVar("_C", DetectorCard, ReaderCard, CtcReaderCard)


def load_card(card_type: type[_C], model: Path) -> _C:
    """Return the model card next to an ONNX file, after verifying the file's checksum.

    Raises:
        MisconfiguredError: a file is missing, the card is invalid, or the checksum differs.
    """
    path = model.with_suffix(".json")
    try:
        card = msgspec.json.decode(path.read_bytes(), type=card_type)
        digest = file_sha256(model)
    except OSError as error:
        raise MisconfiguredError(f"cannot read model {model} and its card {path}") from error
    except msgspec.MsgspecError as error:
        raise MisconfiguredError(f"model card {path}: {error}") from error
    if card.schema != _SCHEMA:
        raise MisconfiguredError(f"model card {path} has schema {card.schema}; expected {_SCHEMA}")
    if card.sha256 != digest:
        raise MisconfiguredError(f"model {model} does not match the SHA-256 in its model card")
    return card
