"""Model cards: the JSON beside an ONNX file that describes its input and its output.

The fields are described for people in ``recognition/models/README.md``.
"""

import hashlib
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from common.errors import MisconfiguredError


class TensorLayout(StrEnum):
    """Order of an image tensor's axes."""

    NCHW = "NCHW"
    NHWC = "NHWC"


class TensorType(StrEnum):
    """Element type of an image tensor."""

    FLOAT32 = "float32"
    UINT8 = "uint8"


class ColourOrder(StrEnum):
    """Order of an image tensor's channels."""

    RGB = "RGB"
    BGR = "BGR"


class Resize(StrEnum):
    """The way an image is brought to the model's size: ratio kept and padded, or not kept."""

    LETTERBOX = "letterbox"
    STRETCH = "stretch"


class DetectorDecoder(StrEnum):
    """The layout of a detector's output."""

    ULTRALYTICS = "ultralytics"
    """N x (4 + classes) x A: centre boxes and class scores, nothing suppressed."""
    END2END_ROWS = "end2end_rows"
    """Rows of batch, x1, y1, x2, y2, class, score; overlapping boxes already suppressed."""


END2END_ROW_VALUES = 7
"""Numbers in a row of :attr:`DetectorDecoder.END2END_ROWS`."""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    pass


class InputCard(_Part, frozen=True, kw_only=True):
    """The image tensor. Pixel values 0..255 are multiplied by ``scale``; sizes are in pixels.

    Where any size is taken, an image that is larger than ``height`` and ``width`` comes as large as
    it is, ``largest_side`` at most.
    """

    name: str
    dtype: TensorType
    layout: TensorLayout
    colour: ColourOrder
    scale: float
    resize: Resize
    height: Annotated[int, msgspec.Meta(ge=1)]
    width: Annotated[int, msgspec.Meta(ge=1)]
    pad_value: int | None = None
    dynamic_batch: bool = False
    dynamic_size: bool = False
    largest_side: int | None = None
    stride: Annotated[int, msgspec.Meta(ge=1)] = 32


class DetectorOutputCard(_Part, frozen=True, kw_only=True):
    """The output of a detector. Thresholds are 0..1."""

    decoder: DetectorDecoder
    name: str
    classes: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    score_threshold: float
    iou_threshold: float


class ReaderOutputCard(_Part, frozen=True, kw_only=True):
    """The output of a reader: characters in order of the last axis, slots, padding, regions.

    ``slots``: N x slots x alphabet, probabilities of each character in each slot.
    """

    decoder: Literal["slots"]
    name: str
    alphabet: str
    slots: int
    pad_char: str
    region_name: str | None = None
    regions: tuple[str, ...] | None = None


class Interpolation(StrEnum):
    """The interpolation that brings a crop to the model's size."""

    LINEAR = "linear"
    CUBIC = "cubic"


class MarginsCard(_Part, frozen=True, kw_only=True):
    """The growth of a box on each side, as a share of its own width and height."""

    margin_x: float = 0.0
    margin_y: float = 0.0


class SecondCropCard(MarginsCard, frozen=True, kw_only=True):
    """The second crop of a plate: read where the first one's mean character probability, 0..1,
    lies under ``below``."""

    below: float = 1.0


class TurnedCropsCard(_Part, frozen=True, kw_only=True):
    """Crops of a plate that may hang, turned upright by ``step`` degrees one way and the other.

    Where that makes the reading surer, it goes on that way up to ``most`` degrees. Read where the
    mean character probability lies between ``above`` and ``below``, of plates that are at least
    ``least_width`` pixels wide; that of the surest of them must be higher by ``gain``, and
    ``least`` or more, as a lower one would make a plate of other writing.
    """

    step: Annotated[float, msgspec.Meta(ge=5, le=40)]
    most: Annotated[float, msgspec.Meta(ge=5, le=40)]
    above: Annotated[float, msgspec.Meta(ge=0, le=1)]
    below: Annotated[float, msgspec.Meta(ge=0, le=1)]
    gain: Annotated[float, msgspec.Meta(ge=0, le=1)]
    least: Annotated[float, msgspec.Meta(ge=0, le=1)]
    least_width: Annotated[float, msgspec.Meta(ge=0)] = 0.0

    def __post_init__(self) -> None:
        """Check that it can be done.

        Raises:
            ValueError: it cannot; in a card that is read, an error of msgspec.
        """
        if self.step > self.most or self.above >= self.below:
            raise ValueError("step must not exceed most, above must lie under below")


class CropCard(MarginsCard, frozen=True, kw_only=True):
    """The cut of a crop; with ``second``, an unsure plate is read twice and both are averaged."""

    interpolation: Interpolation = Interpolation.LINEAR
    second: SecondCropCard | None = None
    turned: TurnedCropsCard | None = None


class CalibrationCard(_Part, frozen=True, kw_only=True):
    """From the mean character probability (``x``, rising) to the confidence (``y``), 0..1."""

    method: Literal["piecewise_linear"]
    x: Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the table, as a wrong one would fail at the first plate only.

        Raises:
            ValueError: it is none; in a card that is read, an error of msgspec.
        """
        if len(self.x) != len(self.y) or any(a >= b for a, b in pairwise(self.x)):
            raise ValueError("x must rise and have as many values as y")


class PlateProbabilityCard(_Part, frozen=True, kw_only=True):
    """Weights in the log odds that a text is one of a plate
    (:mod:`recognition.reading.confidence`).

    ``score`` and ``least_sure`` are multiplied by the log odds of the detector's score and of the
    least sure character's probability; the others count where the feature holds.
    """

    offset: float
    score: float
    least_sure: float
    letters_alone: float
    digits_alone: float
    at_most_three: float
    four_characters: float
    close_up: float


class DetectorCard(_Part, frozen=True, kw_only=True, tag="detector", tag_field="kind"):
    """The card of a model that finds plates in an image."""

    schema: int
    name: str
    version: str
    file: str
    sha256: str
    input: InputCard
    output: DetectorOutputCard
    plate_chance: PlateProbabilityCard | None = None


class ReaderCard(_Part, frozen=True, kw_only=True, tag="reader", tag_field="kind"):
    """The card of a model that reads the characters of a plate crop."""

    schema: int
    name: str
    version: str
    file: str
    sha256: str
    input: InputCard
    output: ReaderOutputCard
    crop: CropCard = CropCard()
    calibration: CalibrationCard | None = None


class CtcOutputCard(_Part, frozen=True, kw_only=True):
    """The output of a CTC reader: log probabilities, N x places x (blank, then the alphabet).

    ``look_alikes`` are groups of characters that it confuses.
    """

    name: str
    alphabet: str
    look_alikes: tuple[str, ...] = ()


class CtcReaderCard(_Part, frozen=True, kw_only=True, tag="line-reader", tag_field="kind"):
    """The card of a model that reads a plate as a line of text, as the second reader.

    Crops are brought to the input's height and to a width, by their shape, from ``least_width`` to
    the input's in multiples of its stride. It is used where the reader's mean character
    probability lies under ``below`` and not under ``least``, as it would make a plate of other
    writing. Its logarithms count ``weight`` times.
    """

    schema: int
    name: str
    version: str
    file: str
    sha256: str
    input: InputCard
    least_width: int
    output: CtcOutputCard
    crop: MarginsCard = MarginsCard()
    below: float
    least: float = 0.0
    weight: float
    calibration: CalibrationCard | None = None


_SCHEMA = 1
_C = TypeVar("_C", DetectorCard, ReaderCard, CtcReaderCard)


def load_card(card_type: type[_C], model: Path) -> _C:
    """Return the card beside an ONNX file after checking that the file is the one it describes.

    Raises:
        MisconfiguredError: a file is missing, the card cannot be read, or the file is another one.
    """
    path = model.with_suffix(".json")
    try:
        card = msgspec.json.decode(path.read_bytes(), type=card_type)
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
    except OSError as error:
        raise MisconfiguredError(f"model {model} needs its file and the card {path}") from error
    except msgspec.MsgspecError as error:
        raise MisconfiguredError(f"model card {path}: {error}") from error
    if card.schema != _SCHEMA:
        raise MisconfiguredError(f"model card {path} has schema {card.schema}, not {_SCHEMA}")
    if card.sha256 != digest:
        raise MisconfiguredError(f"model {model} is not the file that its card describes (sha256)")
    return card
