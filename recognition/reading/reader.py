"""Reads the characters of plate crops with an ONNX model and its model card."""

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

MAX_OPTIONS = 3
MIN_PROBABILITY = 1e-6


class Plate(NamedTuple):
    """A plate to read, and the image in which the plate was found."""

    image: BgrImage
    found: Detection


@dataclass
class _SlotReading:
    """A model's output for one plate.

    ``region`` contains the probability (0 to 1) of each region, or nothing if the model has no
    regions. For ``degrees`` and ``fused``, see :class:`CropText`.
    """

    slots: Slots
    region: FloatArray
    degrees: float = 0.0
    fused: bool = False


class Reader:
    """A loaded reader. Not thread-safe."""

    def __init__(
        self,
        card: ReaderCard,
        model: Model,
        ctc: CtcReader | None = None,
        *,
        rows: RowClassifier | None = None,
        knows_formats: bool = False,
    ) -> None:
        """Read with ``model``. ``ctc`` and ``knows_formats`` improve uncertain readings.

        If ``rows`` finds two rows on a plate, both rows are passed to ``ctc`` as one line.
        """
        self.card = card
        self._ctc = ctc
        self._rows = rows
        self._formats = formats_of(card) if knows_formats else None
        self._model = model
        self._pad = card.output.alphabet.index(card.output.pad_char)

    @classmethod
    def load(cls, settings: RecognizerSettings) -> "Reader":
        """Load the configured reader.

        Raises:
            MisconfiguredError: a file is missing or invalid.
        """
        hub = settings.reader_hub_model
        path = settings.reader_path if hub is None else fetch_hub_reader(hub)
        card = reader_card(path)
        model = load_model(path, settings, settings.precision)
        check_reader(card, model)
        # The built-in CTC reader only fits the built-in reader, to which it was fitted.
        own = not settings.recognition_reader_model
        wanted = own or isinstance(settings.recognition_second_reader, Path)
        ctc = CtcReader.load(settings) if wanted else None
        if ctc is not None:
            check_same_characters(card, ctc.card)
        formats = settings.recognition_plate_formats
        return cls(card, model, ctc, rows=RowClassifier.load(), knows_formats=formats)

    def read_plates(self, image: BgrImage, found: list[Detection]) -> list[CropText]:
        """Return one text per plate in the image, in the plates' order (see :meth:`read_all`)."""
        return self.read_all([Plate(image, one) for one in found])

    def read_all(self, plates: list[Plate]) -> list[CropText]:
        """Return one text per plate, in order.

        Uncertain plates may be tilted, so they are also read from crops rotated upright. Then
        uncertain readings are fused with the CTC reader's text, and the formats of the country's
        plates are applied.
        """
        readings = self._read([_cut(plate, self.card.crop) for plate in plates])
        self._read_turned(plates, readings)
        for plate, text in zip(plates, readings, strict=True):
            self._fuse_ctc(plate, text)
            if self._formats is not None:
                text.slots = self._formats.apply(text.slots, text.region)
        return list(map(self._text, readings))

    def read(self, crops: list[BgrImage]) -> list[CropText]:
        """Return one text per crop, in the order of the crops."""
        return list(map(self._text, self._read(crops)))

    def _read(self, crops: list[BgrImage]) -> list[_SlotReading]:
        """Return one reading per crop. Regions are empty if the model has no regions."""
        if not crops:
            return []
        outputs, output = self._run(crops), self.card.output
        tensor = output.region_name if output.regions is not None else None
        regions = np.zeros((len(crops), 0)) if tensor is None else outputs[tensor]
        return [_SlotReading(*one) for one in zip(outputs[output.name], regions, strict=True)]

    def _read_turned(self, plates: list[Plate], readings: list[_SlotReading]) -> None:
        """Replace uncertain readings with more certain readings of crops rotated upright."""
        turned = self.card.crop.turned
        if turned is None:
            return
        for i, level in enumerate(readings):
            mean = self._mean_probability(level.slots)
            found = plates[i].found
            is_clear = found.width_px >= turned.least_width and found.score >= turned.least_score
            if is_clear and turned.above <= mean < turned.below:
                upright = self._upright(plates[i], level, turned)
                if self._mean_probability(upright.slots) >= max(turned.least, mean + turned.gain):
                    readings[i] = upright

    def _upright(self, plate: Plate, level: _SlotReading, turned: TurnedCropsCard) -> _SlotReading:
        """Return the best reading of crops, rotated both ways and then in the better direction."""

        def mean(one: _SlotReading) -> float:
            return self._mean_probability(one.slots)

        before = level
        best = max(self._read_at(plate, -turned.step, turned.step), key=mean)
        while mean(best) > mean(before) and abs(best.degrees) + turned.step <= turned.most:
            further = best.degrees + math.copysign(turned.step, best.degrees)
            before, best = best, max(best, *self._read_at(plate, further), key=mean)
        return best

    def _read_at(self, plate: Plate, *degrees: float) -> list[_SlotReading]:
        crops = [_cut(plate, self.card.crop, angle) for angle in degrees]
        return [
            replace(one, degrees=angle)
            for one, angle in zip(self._read(crops), degrees, strict=True)
        ]

    def _fuse_ctc(self, plate: Plate, reading: _SlotReading) -> None:
        """Fuse an uncertain reading with the CTC reader's text."""
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
        """Return the calibration, which is different for fused texts."""
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
        """Return the mean probability (0 to 1) of the characters, or 0 without characters."""
        best = slots.max(axis=-1)[slots.argmax(axis=-1) != self._pad]
        return float(best.mean()) if len(best) else 0.0

    def _characters(self, slots: Slots) -> tuple[Character, ...]:
        filled = slots[slots.argmax(axis=-1) != self._pad]
        return tuple(self._character(slot) for slot in filled)

    def _character(self, slot: FloatArray) -> Character:
        order = [i for i in np.argsort(slot)[::-1] if i != self._pad][:MAX_OPTIONS]
        alphabet = self.card.output.alphabet
        return Character(tuple((alphabet[i], min(1.0, float(slot[i]))) for i in order))


def formats_of(card: ReaderCard) -> PlateFormats | None:
    """Return the formats of the countries that a reader distinguishes, or None without formats."""
    names, alphabet = card.output.regions, card.output.alphabet
    if names is None or card.output.region_name is None:
        return None
    return PlateFormats(alphabet, alphabet.index(card.output.pad_char), tuple(names))


def _cut(plate: Plate, margins: MarginsCard, degrees: float = 0.0) -> BgrImage:
    if not degrees:
        return cut_plate(*plate, margins.margin_x, margins.margin_y)
    return cut_turned(*plate, margins.margin_x, margins.margin_y, degrees)
