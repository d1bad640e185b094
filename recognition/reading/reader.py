"""Reads the characters of plate crops with an ONNX model and its card."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recognition.models.model_card import CalibrationCard, MarginsCard, ReaderCard, TurnedCropsCard
from recognition.models.model_check import check_reader, check_same_characters
from recognition.models.runtime import Model, Tensor, load_model
from recognition.models.tensors import stretch, to_tensor
from recognition.models.third_party_models import fetch_hub_reader, reader_card
from recognition.reading.crops import cut_plate, cut_turned, joined_rows
from recognition.reading.ctc_reader import CtcReader
from recognition.reading.plate_formats import PlateFormats, unnamed_country
from recognition.reading.row_classifier import RowClassifier
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Character, CropText, Detection, FloatArray, Slots

OPTIONS_A_CHARACTER = 3
MIN_PROBABILITY = 1e-6

_HOPELESS_PROBABILITY = 0.3
"""A first crop whose characters are less probable, on average, gets no second one: of 1,500 such
plates (414 photos, the drawn road and a real clip) none became a reading by it."""


class Plate(NamedTuple):
    """A plate and the image in which it was found."""

    image: BgrImage
    found: Detection


@dataclass
class _SlotReading:
    """A plate's text as the model gives it.

    ``region`` holds the probability 0..1 of each region, none where the model names none;
    ``degrees`` and ``fused`` are as in :class:`CropText`.
    """

    slots: Slots
    region: FloatArray
    degrees: float = 0.0
    fused: bool = False


class Reader:
    """A loaded reader. Not for two threads at a time."""

    def __init__(
        self,
        card: ReaderCard,
        model: Model,
        ctc: CtcReader | None = None,
        *,
        rows: RowClassifier | None = None,
        knows_formats: bool = False,
    ) -> None:
        """Read with ``model``; ``ctc`` and ``knows_formats`` are for plates that it leaves unsure.

        ``ctc`` gets plates that have two rows by ``rows`` as one line of both.
        """
        self.card = card
        self._ctc = ctc
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
        hub = settings.reader_hub_model
        path = settings.reader_path if hub is None else fetch_hub_reader(hub)
        card = reader_card(path)
        model = load_model(path, settings, settings.precision)
        check_reader(card, model)
        # The CTC reader that comes with the service was fitted to the reader that does.
        own = not settings.recognition_reader_model
        wanted = own or isinstance(settings.recognition_second_reader, Path)
        ctc = CtcReader.load(settings) if wanted else None
        if ctc is not None:
            check_same_characters(card, ctc.card)
        formats = settings.recognition_plate_formats
        return cls(card, model, ctc, rows=RowClassifier.load(), knows_formats=formats)

    def read_plates(self, image: BgrImage, found: list[Detection]) -> list[CropText]:
        """Return one text a plate found in the image, in order (see :meth:`read_all`)."""
        return self.read_all([Plate(image, one) for one in found])

    def read_all(self, plates: list[Plate]) -> list[CropText]:
        """Return one text a plate, in order.

        Where the card asks for a second crop, the plates that the first leaves unsure are read
        from that one too, and the readings averaged. Those that are unsure even then may hang:
        they are read from crops turned upright. Then the CTC reader's text is fused with them, and
        the formats of the country's plates are applied.
        """
        readings = self._read([_cut(plate, self.card.crop) for plate in plates])
        self._average_second_crop(plates, readings)
        self._read_turned(plates, readings)
        for plate, text in zip(plates, readings, strict=True):
            self._fuse_ctc(plate, text)
            if self._formats is not None:
                text.slots = self._formats.apply(text.slots, text.region)
        return list(map(self._text, readings))

    def read(self, crops: list[BgrImage]) -> list[CropText]:
        """Return one text a crop, in order."""
        return list(map(self._text, self._read(crops)))

    def _read(self, crops: list[BgrImage]) -> list[_SlotReading]:
        """Return one reading a crop; regions of no entries where the model names none."""
        if not crops:
            return []
        outputs, output = self._run(crops), self.card.output
        tensor = output.region_name if output.regions is not None else None
        regions = np.zeros((len(crops), 0)) if tensor is None else outputs[tensor]
        return [_SlotReading(*one) for one in zip(outputs[output.name], regions, strict=True)]

    def _average_second_crop(self, plates: list[Plate], readings: list[_SlotReading]) -> None:
        """Replace readings that are unsure by the mean with those of the second crop."""
        second = self.card.crop.second
        if second is None:
            return
        unsure = [
            i
            for i, one in enumerate(readings)
            if _HOPELESS_PROBABILITY <= self._mean_probability(one.slots) < second.below
        ]
        again = self._read([_cut(plates[i], second) for i in unsure])
        for i, other in zip(unsure, again, strict=True):
            readings[i].slots = averaged(readings[i].slots, other.slots)
            readings[i].region = (readings[i].region + other.region) / 2

    def _read_turned(self, plates: list[Plate], readings: list[_SlotReading]) -> None:
        """Replace readings that are unsure by surer ones of crops turned upright."""
        turned = self.card.crop.turned
        if turned is None:
            return
        for i, level in enumerate(readings):
            sureness = self._mean_probability(level.slots)
            is_wide = plates[i].found.width_px >= turned.least_width
            if is_wide and turned.above <= sureness < turned.below:
                upright = self._upright(plates[i], level, turned)
                if self._mean_probability(upright.slots) >= max(
                    turned.least, sureness + turned.gain
                ):
                    readings[i] = upright

    def _upright(self, plate: Plate, level: _SlotReading, turned: TurnedCropsCard) -> _SlotReading:
        """Return the surest reading of crops turned either way, then further the same way."""

        def sureness(one: _SlotReading) -> float:
            return self._mean_probability(one.slots)

        before = level
        best = max(self._read_at(plate, -turned.step, turned.step), key=sureness)
        while sureness(best) > sureness(before) and abs(best.degrees) + turned.step <= turned.most:
            further = best.degrees + math.copysign(turned.step, best.degrees)
            before, best = best, max(best, *self._read_at(plate, further), key=sureness)
        return best

    def _read_at(self, plate: Plate, *degrees: float) -> list[_SlotReading]:
        crops = [_cut(plate, self.card.crop, angle) for angle in degrees]
        return [
            replace(one, degrees=angle)
            for one, angle in zip(self._read(crops), degrees, strict=True)
        ]

    def _fuse_ctc(self, plate: Plate, reading: _SlotReading) -> None:
        """Replace a reading that is unsure by its fusion with the CTC reader's."""
        ctc = self._ctc
        if ctc is None:
            return
        if not ctc.card.least <= self._mean_probability(reading.slots) < ctc.card.below:
            return
        crop = _cut(plate, ctc.card.crop, reading.degrees)
        if self._rows is not None and self._rows.has_two_rows(
            plate.image, plate.found, reading.degrees
        ):
            crop = joined_rows(crop)
        reading.slots = ctc.fuse(reading.slots, crop, self._pad)
        reading.fused = True

    def calibration(self, text: CropText) -> CalibrationCard | None:
        """Return the table from this text's mean character probability to the confidence."""
        if text.fused and self._ctc is not None:
            return self._ctc.card.calibration
        return self.card.calibration

    def _run(self, crops: list[BgrImage]) -> dict[str, Tensor]:
        card = self.card.input
        how = self.card.crop.interpolation
        images = [stretch(crop, card.width, card.height, how) for crop in crops]
        batches = [images] if card.dynamic_batch else [[image] for image in images]
        outputs = [self._model.run(to_tensor(batch, card)) for batch in batches]
        return {name: np.concatenate([one[name] for one in outputs]) for name in outputs[0]}

    def _text(self, reading: _SlotReading) -> CropText:
        region = self._region(reading.region)
        text = CropText(self._characters(reading.slots), region, reading.fused, reading.degrees)
        if region is not None:
            return replace(text, region_confidence=min(1.0, float(reading.region.max())))
        if not len(reading.region):
            return text
        return replace(text, region=unnamed_country(text.text))

    def _region(self, probabilities: FloatArray) -> str | None:
        names = self.card.output.regions
        if names is None or not len(probabilities):
            return None
        best = names[int(probabilities.argmax())]
        return None if best == "Unknown" else best

    def _mean_probability(self, slots: Slots) -> float:
        """Return the mean probability of the characters, 0..1; 0 where there are none."""
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
    """Return the mean of two readings of a plate; the sum of each slot is 1.

    It is the mean of the logarithms: a character that one reading rules out stays unlikely.
    """
    product = np.sqrt(np.maximum(one, MIN_PROBABILITY) * np.maximum(other, MIN_PROBABILITY))
    return np.asarray(product / product.sum(axis=-1, keepdims=True))


def _cut(plate: Plate, margins: MarginsCard, degrees: float = 0.0) -> BgrImage:
    if not degrees:
        return cut_plate(*plate, margins.margin_x, margins.margin_y)
    return cut_turned(*plate, margins.margin_x, margins.margin_y, degrees)
