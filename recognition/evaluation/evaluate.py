"""Reads labelled photos with an engine, and compares the results with the labels."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.errors import InvalidInputError
from common.records.frames import MAX_SIDE_PX
from common.records.recognitions import PlateReading
from recognition.engine import Recognizer
from recognition.evaluation.outcomes import PlateOutcome, on_no_plate, outcomes
from recognition.evaluation.photos import Photo
from recognition.images import decode_image
from recognition.reading.selection import edges_of, is_plate
from recognition.types import BgrImage


@dataclass(frozen=True)
class PhotoResult:
    """A photo and its readings.

    ``predictions`` contains all readings. ``reported`` contains those that meet the thresholds.
    ``cpu_ms`` is the CPU time, including decoding. ``refused`` is the reason why the file could not
    be decoded and has no readings, or empty.
    """

    photo: Photo
    predictions: tuple[PlateReading, ...]
    reported: tuple[PlateReading, ...]
    outcomes: tuple[PlateOutcome, ...]
    cpu_ms: float
    refused: str = ""

    @property
    def invented(self) -> tuple[PlateReading, ...]:
        """Reported readings that are on no boxed plate: errors, if every plate is boxed."""
        return on_no_plate(self.photo, self.reported)


def evaluate(
    photos: Iterable[Photo], recognizer: Recognizer
) -> Iterator[tuple[PhotoResult, BgrImage]]:
    """Yield the result and the pixels of each photo.

    Raises:
        OSError: a photo cannot be read.
    """
    for photo in photos:
        data = photo.path.read_bytes()
        try:
            yield _read(photo, data, recognizer)
        except InvalidInputError as error:
            refused = PhotoResult(photo, (), (), outcomes(photo, ()), 0.0, str(error))
            yield refused, _grey(photo)


def _read(photo: Photo, data: bytes, recognizer: Recognizer) -> tuple[PhotoResult, BgrImage]:
    started = time.process_time()
    image = decode_image(data)
    found = tuple(recognizer.detect_and_read(image))
    cpu_ms = 1000 * (time.process_time() - started)
    reported = tuple(filter(is_plate, found))
    return PhotoResult(photo, found, reported, outcomes(photo, found), cpu_ms), image


def _grey(photo: Photo) -> BgrImage:
    """Return a grey image that is large enough for all of a photo's boxes."""
    edges = (max((plate.box[i] for plate in photo.plates), default=0) for i in (2, 3))
    right, bottom = (int(min(max(edge, 0), MAX_SIDE_PX)) for edge in edges)
    return np.full((bottom + 1, right + 1, 3), 128, np.uint8)


def write_predictions(path: Path, results: Iterable[PhotoResult]) -> None:
    """Write one JSON object per line and photo, with all readings regardless of thresholds."""
    with path.open("w", encoding="utf-8") as file:
        for result in results:
            plates = [
                {"text": one.text, "conf": one.confidence, "box": edges_of(one)}
                for one in result.predictions
            ]
            row = {"image": result.photo.name, "plates": plates, "ms": result.cpu_ms}
            file.write(json.dumps(row) + "\n")
