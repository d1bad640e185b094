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
LEAST_PROBABILITY = 1e-6

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

    def read_plates(self, image: BgrImage, found: list[Detection]) -> list[CropText]:
        """Return one text a plate found in the image, in order, from as many crops as the card
        asks for."""
        views = self.card.crop.views
        crops = [cut_plate(image, one, v.margin_x, v.margin_y) for one in found for v in views]
        return self._read(crops, len(views))

    def read(self, crops: list[BgrImage]) -> list[CropText]:
        """Return one text a crop, in order."""
        return self._read(crops, 1)

    def _read(self, crops: list[BgrImage], views: int) -> list[CropText]:
        if not crops:
            return []
        said = self._run(crops)
        plates = said[self.card.output.name]
        slots = averaged(plates.reshape(-1, views, *plates.shape[1:]))
        regions = self._regions(said, views, len(slots))
        return [
            CropText(self._characters(one), region)
            for one, region in zip(slots, regions, strict=True)
        ]

    def _run(self, crops: list[BgrImage]) -> dict[str, Tensor]:
        card = self.card.input
        how = self.card.crop.interpolation
        images = [stretch(crop, card.width, card.height, how) for crop in crops]
        batches = [images] if card.dynamic_batch else [[image] for image in images]
        outputs = [self._model.run(to_tensor(batch, card)) for batch in batches]
        return {name: np.concatenate([one[name] for one in outputs]) for name in outputs[0]}

    def _regions(self, said: dict[str, Tensor], views: int, count: int) -> list[str | None]:
        names, tensor = self.card.output.regions, self.card.output.region_name
        if names is None or tensor is None:
            return [None] * count
        best = said[tensor].reshape(count, views, -1).mean(axis=1).argmax(axis=-1)
        return [None if names[i] == "Unknown" else names[i] for i in best]

    def _characters(self, slots: _Probabilities) -> tuple[Character, ...]:
        filled = slots[slots.argmax(axis=-1) != self._pad]
        return tuple(self._character(slot) for slot in filled)

    def _character(self, slot: _Probabilities) -> Character:
        order = [i for i in np.argsort(slot)[::-1] if i != self._pad][:OPTIONS_A_CHARACTER]
        alphabet = self.card.output.alphabet
        return Character(tuple((alphabet[i], min(1.0, float(slot[i]))) for i in order))


def averaged(views: _Probabilities) -> _Probabilities:
    """Return plates x slots x characters from plates x views x slots x characters.

    The mean is taken of the logarithms: what one view is sure is wrong stays unlikely.
    """
    if views.shape[1] == 1:
        return views[:, 0]
    product = np.exp(np.log(np.maximum(views, LEAST_PROBABILITY)).mean(axis=1))
    return np.asarray(product / product.sum(axis=-1, keepdims=True))


def cut_plate(image: BgrImage, found: Detection, margin_x: float, margin_y: float) -> BgrImage:
    """Return the part of the image in the box grown by shares of its own size, at least 1 px."""
    height, width = image.shape[:2]
    grow_x, grow_y = margin_x * found.width_px, margin_y * found.height_px
    left = min(max(0, round(found.left - grow_x)), width - 1)
    top = min(max(0, round(found.top - grow_y)), height - 1)
    right = max(left + 1, min(width, round(found.right + grow_x)))
    bottom = max(top + 1, min(height, round(found.bottom + grow_y)))
    return image[top:bottom, left:right]
