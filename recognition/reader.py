"""Reads the characters of plate crops with an ONNX model and its card."""

import numpy as np
import numpy.typing as npt

from recognition.foreign_models import hub_reader, reader_card
from recognition.model_card import ReaderCard
from recognition.model_fit import check_reader
from recognition.runtime import Model, Tensor, load_model
from recognition.settings import Precision, RecognizerSettings
from recognition.tensors import stretch, to_tensor
from recognition.types import BgrImage, Character, CropText, Detection

OPTIONS_A_CHARACTER = 3

_Probabilities = npt.NDArray[np.floating]


class Reader:
    """A loaded reader. Not for two threads at once."""

    def __init__(self, card: ReaderCard, model: Model) -> None:
        """Take a card with its model."""
        self.card = card
        self._model = model
        self._pad = card.output.alphabet.index(card.output.pad_char)

    @classmethod
    def load(cls, settings: RecognizerSettings) -> "Reader":
        """Load the reader that the settings name.

        Raises:
            MisconfiguredError: a file is missing or does not fit.
        """
        hub = settings.recognition_reader_hub_model
        path = settings.reader_path if hub is None else hub_reader(hub)
        card = reader_card(path)
        model = load_model(path, settings, Precision.F32)
        check_reader(card, model)
        return cls(card, model)

    def read(self, crops: list[BgrImage]) -> list[CropText]:
        """Return one text a crop, in order."""
        if not crops:
            return []
        size = (self.card.input.width, self.card.input.height)
        images = [stretch(crop, *size) for crop in crops]
        batches = [images] if self.card.input.dynamic_batch else [[image] for image in images]
        texts: list[CropText] = []
        for batch in batches:
            texts += self._texts(self._model.run(to_tensor(batch, self.card.input)))
        return texts

    def _texts(self, outputs: dict[str, Tensor]) -> list[CropText]:
        plates = outputs[self.card.output.name]
        regions = self._regions(outputs, len(plates))
        return [
            CropText(self._characters(slots), region)
            for slots, region in zip(plates, regions, strict=True)
        ]

    def _regions(self, outputs: dict[str, Tensor], count: int) -> list[str | None]:
        names, tensor = self.card.output.regions, self.card.output.region_name
        if names is None or tensor is None:
            return [None] * count
        best = outputs[tensor].argmax(axis=-1)
        return [None if names[i] == "Unknown" else names[i] for i in best]

    def _characters(self, slots: _Probabilities) -> tuple[Character, ...]:
        filled = slots[slots.argmax(axis=-1) != self._pad]
        return tuple(self._character(slot) for slot in filled)

    def _character(self, slot: _Probabilities) -> Character:
        order = [i for i in np.argsort(slot)[::-1] if i != self._pad][:OPTIONS_A_CHARACTER]
        alphabet = self.card.output.alphabet
        return Character(tuple((alphabet[i], min(1.0, float(slot[i]))) for i in order))


def cut_plate(image: BgrImage, found: Detection, margin_x: float, margin_y: float) -> BgrImage:
    """Return the part of the image in the box grown by shares of its own size, at least 1 px."""
    height, width = image.shape[:2]
    grow_x, grow_y = margin_x * found.width_px, margin_y * found.height_px
    left = min(max(0, round(found.left - grow_x)), width - 1)
    top = min(max(0, round(found.top - grow_y)), height - 1)
    right = max(left + 1, min(width, round(found.right + grow_x)))
    bottom = max(top + 1, min(height, round(found.bottom + grow_y)))
    return image[top:bottom, left:right]
