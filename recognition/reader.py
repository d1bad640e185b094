"""Reads the characters of plate crops with an ONNX model and its card."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from recognition.crops import cut_plate, cut_turned, joined_rows
from recognition.foreign_models import hub_reader, reader_card
from recognition.model_card import CalibrationCard, MarginsCard, ReaderCard, TurnedCropsCard
from recognition.model_fit import check_reader, check_same_characters
from recognition.plate_formats import PlateFormats, unnamed_country
from recognition.plate_rows import PlateRows
from recognition.runtime import Model, Tensor, load_model
from recognition.second_reader import SecondReader
from recognition.settings import RecognizerSettings
from recognition.tensors import stretch, to_tensor
from recognition.types import BgrImage, Character, CropText, Detection, FloatArray, Slots

OPTIONS_A_CHARACTER = 3
LEAST_PROBABILITY = 1e-6


class Plate(NamedTuple):
    """A plate and the image in which it was found."""

    image: BgrImage
    found: Detection


@dataclass
class _Said:
    """What is said of a plate.

    ``region`` holds the probability 0..1 of each region, none where the model names none;
    ``degrees`` and ``agreed`` are as in :class:`CropText`.
    """

    slots: Slots
    region: FloatArray
    degrees: float = 0.0
    agreed: bool = False


class Reader:
    """A loaded reader. Not for two threads at once."""

    def __init__(
        self,
        card: ReaderCard,
        model: Model,
        second: SecondReader | None = None,
        *,
        rows: PlateRows | None = None,
        knows_formats: bool = False,
    ) -> None:
        """Take a card with its model, and who and what is asked about unsure plates.

        ``rows`` tells which of them the second reader gets as a line of two joined rows.
        """
        self.card = card
        self._second = second
        self._rows = rows
        self._formats = formats_of(card) if knows_formats else None
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
        model = load_model(path, settings, settings.recognition_reader_precision)
        check_reader(card, model)
        # What a second reader knows was fitted to the reader that comes with the service.
        own = hub is None and settings.recognition_reader_model is None
        wanted = own or settings.recognition_second_reader_model is not None
        second = SecondReader.load(settings) if wanted else None
        if second is not None:
            check_same_characters(card, second.card)
        formats = settings.recognition_plate_formats
        return cls(card, model, second, rows=PlateRows.load(), knows_formats=formats)

    def read_plates(self, image: BgrImage, found: list[Detection]) -> list[CropText]:
        """Return one text a plate found in the image, in order (see :meth:`read_all`)."""
        return self.read_all([Plate(image, one) for one in found])

    def read_all(self, plates: list[Plate]) -> list[CropText]:
        """Return one text a plate, in order.

        Where the card asks for a second crop, the plates that the first leaves unsure are read
        from that one too, and the readings averaged. Those that are unsure even then may hang:
        they are read from crops turned upright. Then the second reader helps to settle them, and
        what plates of the country look like.
        """
        said = self._read([_cut(plate, self.card.crop) for plate in plates])
        self._read_again(plates, said)
        self._read_turned(plates, said)
        for plate, text in zip(plates, said, strict=True):
            self._ask_second(plate, text)
            if self._formats is not None:
                text.slots = self._formats.settle(text.slots, text.region)
        return list(map(self._text, said))

    def read(self, crops: list[BgrImage]) -> list[CropText]:
        """Return one text a crop, in order."""
        return list(map(self._text, self._read(crops)))

    def _read(self, crops: list[BgrImage]) -> list[_Said]:
        """What is said of each crop; regions of no entries where the model names none."""
        if not crops:
            return []
        said, output = self._run(crops), self.card.output
        tensor = output.region_name if output.regions is not None else None
        regions = np.zeros((len(crops), 0)) if tensor is None else said[tensor]
        return [_Said(*one) for one in zip(said[output.name], regions, strict=True)]

    def _read_again(self, plates: list[Plate], said: list[_Said]) -> None:
        """Put the mean with the second crop in the place of what the first leaves unsure."""
        second = self.card.crop.second
        if second is None:
            return
        unsure = [i for i, one in enumerate(said) if self._sureness(one.slots) < second.below]
        again = self._read([_cut(plates[i], second) for i in unsure])
        for i, other in zip(unsure, again, strict=True):
            said[i].slots = averaged(said[i].slots, other.slots)
            said[i].region = (said[i].region + other.region) / 2

    def _read_turned(self, plates: list[Plate], said: list[_Said]) -> None:
        """Put what an upright crop says in the place of what is unsure of a level one."""
        turned = self.card.crop.turned
        if turned is None:
            return
        for i, level in enumerate(said):
            sureness = self._sureness(level.slots)
            is_wide = plates[i].found.width_px >= turned.least_width
            if is_wide and turned.above <= sureness < turned.below:
                upright = self._upright(plates[i], level, turned)
                if self._sureness(upright.slots) >= max(turned.least, sureness + turned.gain):
                    said[i] = upright

    def _upright(self, plate: Plate, level: _Said, turned: TurnedCropsCard) -> _Said:
        """The surer of two crops, one turned each way, or of those further the same way."""

        def sureness(one: _Said) -> float:
            return self._sureness(one.slots)

        before = level
        best = max(self._read_at(plate, -turned.step, turned.step), key=sureness)
        while sureness(best) > sureness(before) and abs(best.degrees) + turned.step <= turned.most:
            further = best.degrees + math.copysign(turned.step, best.degrees)
            before, best = best, max(best, *self._read_at(plate, further), key=sureness)
        return best

    def _read_at(self, plate: Plate, *degrees: float) -> list[_Said]:
        crops = [_cut(plate, self.card.crop, angle) for angle in degrees]
        return [
            replace(one, degrees=angle)
            for one, angle in zip(self._read(crops), degrees, strict=True)
        ]

    def _ask_second(self, plate: Plate, said: _Said) -> None:
        """Put what both readers say in the place of what this one leaves unsure."""
        second = self._second
        if second is None:
            return
        if not second.card.least <= self._sureness(said.slots) < second.card.below:
            return
        crop = _cut(plate, second.card.crop, said.degrees)
        if self._rows is not None and self._rows.has_two(plate.image, plate.found, said.degrees):
            crop = joined_rows(crop)
        said.slots = second.settle(said.slots, crop, self._pad)
        said.agreed = True

    def calibration(self, text: CropText) -> CalibrationCard | None:
        """The table from this text's mean character probability to the confidence."""
        if text.agreed and self._second is not None:
            return self._second.card.calibration
        return self.card.calibration

    def _run(self, crops: list[BgrImage]) -> dict[str, Tensor]:
        card = self.card.input
        how = self.card.crop.interpolation
        images = [stretch(crop, card.width, card.height, how) for crop in crops]
        batches = [images] if card.dynamic_batch else [[image] for image in images]
        outputs = [self._model.run(to_tensor(batch, card)) for batch in batches]
        return {name: np.concatenate([one[name] for one in outputs]) for name in outputs[0]}

    def _text(self, said: _Said) -> CropText:
        region = self._region(said.region)
        text = CropText(self._characters(said.slots), region, said.agreed, said.degrees)
        if region is not None or not len(said.region):
            return text
        return replace(text, region=unnamed_country(text.text))

    def _region(self, probabilities: FloatArray) -> str | None:
        names = self.card.output.regions
        if names is None or not len(probabilities):
            return None
        best = names[int(probabilities.argmax())]
        return None if best == "Unknown" else best

    def _sureness(self, slots: Slots) -> float:
        """The mean probability of the characters, 0..1; 0 where there are none."""
        best = slots.max(axis=-1)[slots.argmax(axis=-1) != self._pad]
        return float(best.mean()) if len(best) else 0.0

    def _characters(self, slots: Slots) -> tuple[Character, ...]:
        filled = slots[slots.argmax(axis=-1) != self._pad]
        return tuple(self._character(slot) for slot in filled)

    def _character(self, slot: FloatArray) -> Character:
        order = [i for i in np.argsort(slot)[::-1] if i != self._pad][:OPTIONS_A_CHARACTER]
        alphabet = self.card.output.alphabet
        return Character(tuple((alphabet[i], min(1.0, float(slot[i]))) for i in order))


def formats_of(card: ReaderCard) -> PlateFormats | None:
    """Return the formats of the countries that a reader names; None where it names none."""
    names, alphabet = card.output.regions, card.output.alphabet
    if names is None or card.output.region_name is None:
        return None
    return PlateFormats(alphabet, alphabet.index(card.output.pad_char), tuple(names))


def averaged(one: Slots, other: Slots) -> Slots:
    """Return what two readings of a plate say together; the sum of each slot is 1.

    The mean is taken of the logarithms: what one reading is sure is wrong stays unlikely.
    """
    product = np.sqrt(np.maximum(one, LEAST_PROBABILITY) * np.maximum(other, LEAST_PROBABILITY))
    return np.asarray(product / product.sum(axis=-1, keepdims=True))


def _cut(plate: Plate, margins: MarginsCard, degrees: float = 0.0) -> BgrImage:
    if not degrees:
        return cut_plate(*plate, margins.margin_x, margins.margin_y)
    return cut_turned(*plate, margins.margin_x, margins.margin_y, degrees)
