"""Runs loaded models once, so that a mismatch with the model card is an error at startup."""

from collections.abc import Collection

import numpy as np

from common.errors import MisconfiguredError
from recognition.models.model_card import (
    END2END_ROW_VALUES,
    CtcReaderCard,
    DetectorCard,
    DetectorDecoder,
    InputCard,
    ReaderCard,
)
from recognition.models.runtime import Model, Tensor
from recognition.models.tensors import tensor_shape


def check_detector(
    card: DetectorCard, model: Model, canvases: Collection[tuple[int, int]] = ()
) -> None:
    """Run grey images through a detector and check the shape of its output.

    The images have the sizes of ``canvases`` (width, height), or the card's size.

    Raises:
        MisconfiguredError: the model's input or output differs from the card.
    """
    _check_resize(card.name, card.input, "letterbox")
    for width, height in canvases or [(card.input.width, card.input.height)]:
        if width % card.input.stride or height % card.input.stride:
            raise _unfit(card.name, f"canvases must be multiples of its stride {card.input.stride}")
        outputs = _run_grey(card.name, card.input, model, (height, width))
        _check_boxes(card, outputs)


def _check_boxes(card: DetectorCard, outputs: dict[str, Tensor]) -> None:
    output = _output(card.name, outputs, card.output.name)
    if card.output.decoder is DetectorDecoder.END2END_ROWS:
        fits = output.ndim == 2 and output.shape[1] == END2END_ROW_VALUES
        wanted = f"rows of {END2END_ROW_VALUES} values"
    else:
        rows = 4 + len(card.output.classes)
        fits = output.ndim == 3 and output.shape[1] == rows
        wanted = f"1 x {rows} x anchors"
    if not fits:
        raise _unfit(card.name, f"{card.output.name} has shape {output.shape}; expected {wanted}")


def check_reader(card: ReaderCard, model: Model) -> None:
    """Run a grey crop through a reader and check the shapes of its outputs.

    Raises:
        MisconfiguredError: the model's input or output differs from the card.
    """
    _check_resize(card.name, card.input, "stretch")
    output = card.output
    if output.alphabet.count(output.pad_char) != 1 or len(output.pad_char) != 1:
        raise _unfit(card.name, f"alphabet must contain pad_char {output.pad_char!r} exactly once")
    outputs = _run_grey(card.name, card.input, model, (card.input.height, card.input.width))
    shape = _output(card.name, outputs, output.name).shape
    if shape != (1, output.slots, len(output.alphabet)):
        wanted = f"1 x {output.slots} x {len(output.alphabet)}"
        raise _unfit(card.name, f"{output.name} has shape {shape}; expected {wanted}")
    if output.region_name is not None and output.regions is not None:
        regions = _output(card.name, outputs, output.region_name).shape
        if regions != (1, len(output.regions)):
            raise _unfit(card.name, f"{output.region_name} has an unexpected shape: {regions}")


def check_same_characters(card: ReaderCard, second: CtcReaderCard) -> None:
    """Check that both readers have the same characters in the same order.

    Raises:
        MisconfiguredError: the characters differ.
    """
    if card.output.alphabet.replace(card.output.pad_char, "", 1) != second.output.alphabet or (
        not card.output.alphabet.endswith(card.output.pad_char)
    ):
        raise _unfit(second.name, f"{card.name} has different characters, or a different order")


def _check_resize(name: str, card: InputCard, known: str) -> None:
    if card.resize != known:
        raise _unfit(name, f"images are resized with {known}; the card says {card.resize}")


def _run_grey(
    name: str, card: InputCard, model: Model, sides: tuple[int, int]
) -> dict[str, Tensor]:
    height, width = sides
    shape = tensor_shape(width, height, card)
    grey = np.full(shape, 128).astype(card.dtype)
    try:
        return model.run(grey if card.scale == 1.0 else grey * grey.dtype.type(card.scale))
    # The runtimes' exceptions have no common base class except Exception.
    except Exception as error:
        raise _unfit(name, f"it rejects an input {shape} of {card.dtype}: {error}") from error


def _output(name: str, outputs: dict[str, Tensor], wanted: str) -> Tensor:
    if wanted not in outputs:
        raise _unfit(name, f"its outputs are {', '.join(outputs)}; expected {wanted}")
    return outputs[wanted]


def _unfit(name: str, why: str) -> MisconfiguredError:
    return MisconfiguredError(f"model {name} does not match its model card: {why}")
