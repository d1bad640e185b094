"""The engine: an image in, the plates that can be read in it out."""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np

from contracts.frames import Box as FrameBox
from contracts.plates import MAX_PLATE_LENGTH
from contracts.readings import CharacterOption, PlateReading
from recognition.boxes import Box, part_shared
from recognition.calibration import calibrate
from recognition.closer_look import CloserLook
from recognition.detector import Detector
from recognition.farther_look import SAME_PLATE_SHARE, FartherLook, one_a_plate
from recognition.images import as_bgr
from recognition.plate_chance import Signs, chance_of_plate
from recognition.plate_rows import PlateRows
from recognition.reader import Plate, Reader
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Character, CropText, Detection

TWO_ROW = "two-row"
_KINDS = (TWO_ROW, "motorcycle")

_BLANK: BgrImage = np.zeros((640, 1280, 3), np.uint8)


class Recognizer:
    """Finds and reads plates. Holds the loaded models; threads that share it take turns."""

    def __init__(
        self, settings: RecognizerSettings, models: tuple[Detector, Reader] | None = None
    ) -> None:
        """Take the models, or load those that the settings name.

        Raises:
            MisconfiguredError: a model or its card is missing or does not fit.
        """
        self._settings = settings
        detector, self._reader = models or _load(settings)
        looks_closer = settings.recognition_closer_look and detector.takes_any_size
        near = CloserLook(detector) if looks_closer else detector
        self._finder = FartherLook(detector, near)
        self._plate_chance = detector.plate_chance
        self._tells_kinds = any(kind in _KINDS for kind in detector.classes)
        self._rows = PlateRows.load()

    def read(self, image: BgrImage, *, min_plate_width_px: int = 0) -> list[PlateReading]:
        """Return the readings of the image, best detection first, boxes in its pixels.

        Narrower plates than ``min_plate_width_px`` are not read; readings that the settings do
        not take for plates (too short, too unsure) are left out.

        Raises:
            InvalidInputError: it is no H×W×3, H×W or H×W×4 uint8.
        """
        return self.read_all([image], [min_plate_width_px])[0]

    def read_all(
        self, images: list[BgrImage], min_plate_widths_px: list[int]
    ) -> list[list[PlateReading]]:
        """Return what :meth:`read` returns of each image; on a GPU faster than one by one."""
        images = list(map(as_bgr, images))
        found = [
            [one for one in of_image if one.width_px >= least]
            for of_image, least in zip(
                self._finder.find_all(images), min_plate_widths_px, strict=True
            )
        ]
        looked = self._look(images, found)
        return [[reading for reading in one if self.is_plate(reading)] for one in looked]

    def look(self, image: BgrImage) -> list[PlateReading]:
        """Return what was found and read, also what is too short or too unsure to be reported."""
        image = as_bgr(image)
        return self._look([image], self._finder.find_all([image]))[0]

    def _look(
        self, images: list[BgrImage], found: list[list[Detection]]
    ) -> list[list[PlateReading]]:
        """Read all plates of all images at once."""
        plates = [
            [Plate(image, one) for one in of_image]
            for image, of_image in zip(images, found, strict=True)
        ]
        texts = iter(self._reader.read_all([*chain.from_iterable(plates)]))
        read = [[self._reading(plate, next(texts)) for plate in of_image] for of_image in plates]
        return list(map(self._one_a_plate, read))

    def warm_up(self, images: int) -> None:
        """Look at so many blank images and plates together: runtimes of GPUs prepare for that."""
        self._finder.find_all([_BLANK] * images)
        self._reader.read([_BLANK] * images)

    def find(self, image: BgrImage) -> list[Detection]:
        """Return what is found, a box a plate, best first, in pixels of the image."""
        found = one_a_plate(self._finder.find_all([image])[0])
        return found[: self._settings.recognition_max_plates]

    def signs(self, image: BgrImage, found: Detection, text: CropText) -> Signs:
        """Return what tells whether what was found in an image and read is a plate."""
        share = found.width_px / image.shape[1]
        return Signs(found.score, share, text.text, text.least_sure)

    def is_plate(self, reading: PlateReading) -> bool:
        """Tell whether the settings take a reading for a plate: long and sure enough."""
        length = len(reading.text)
        return (
            self._settings.recognition_min_characters <= length <= MAX_PLATE_LENGTH
            and reading.confidence >= self._settings.recognition_reading_threshold
        )

    def _one_a_plate(self, readings: list[PlateReading]) -> list[PlateReading]:
        """Of readings of one plate, from boxes mostly within each other, the one to be believed.

        One that is reported comes before one that is not. The confidence alone prefers parts of a
        plate, which are read as surely as all of it.
        """

        def rank(one: PlateReading) -> tuple[bool, float]:
            return self.is_plate(one), one.confidence * one.detection_confidence

        kept: list[PlateReading] = []
        for one in sorted(readings, key=rank, reverse=True):
            if all(part_shared(_box(one), _box(other)) < SAME_PLATE_SHARE for other in kept):
                kept.append(one)
        kept.sort(key=lambda one: one.detection_confidence, reverse=True)
        return kept[: self._settings.recognition_max_plates]

    def _reading(self, plate: Plate, text: CropText) -> PlateReading:
        image, found = plate
        chance = chance_of_plate(self.signs(image, found, text), self._plate_chance)
        characters = calibrate(text.characters, self._reader.calibration(text), chance)
        return PlateReading(
            text=text.text,
            confidence=_mean_probability(characters),
            detection_confidence=found.score,
            box=FrameBox(x=found.left, y=found.top, width=found.width_px, height=found.height_px),
            positions=tuple(_options(character) for character in characters),
            region=text.region,
            plate_type=self._plate_type(image, found, text.degrees),
        )

    def _plate_type(self, image: BgrImage, found: Detection, degrees: float) -> str:
        """The kind that the detector's class tells; else what the picture does."""
        if self._tells_kinds:
            return found.kind if found.kind in _KINDS else "car"
        return TWO_ROW if self._rows.has_two(image, found, degrees) else "car"


def _load(settings: RecognizerSettings) -> tuple[Detector, Reader]:
    """Load both side by side, which saves 0.2 s of a start where a second core is free."""
    with ThreadPoolExecutor(1) as beside:
        loading = beside.submit(Reader.load, settings)
        detector = Detector.load(settings)
        return detector, loading.result()


def _box(reading: PlateReading) -> Box:
    box = reading.box
    return box.x, box.y, box.x + box.width, box.y + box.height


def _mean_probability(characters: tuple[Character, ...]) -> float:
    if not characters:
        return 0.0
    return sum(c.options[0][1] for c in characters) / len(characters)


def _options(character: Character) -> tuple[CharacterOption, ...]:
    return tuple(CharacterOption(character=c, probability=p) for c, p in character.options)
