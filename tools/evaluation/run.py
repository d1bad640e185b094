"""Reads labelled photos with the engine as it is set, and sums up what came out."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import cv2
import numpy as np

from common.records.frames import MAX_SIDE_PX
from common.records.recognitions import PlateReading
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.types import BgrImage
from tools.evaluation.compare import groups
from tools.evaluation.outcomes import PlateOutcome, invented, outcomes
from tools.evaluation.photos import Image, Photo
from tools.evaluation.scoring import Said

DRAWS = 2000
INTERVAL = (2.5, 97.5)
RELIABILITY_BINS = 10


@dataclass(frozen=True)
class Looked:
    """One photo with all that was said of it.

    ``said`` holds everything found and read, ``reported`` what the settings let through;
    ``cpu_ms`` is the processor time, decoding included.
    """

    photo: Photo
    said: tuple[Said, ...]
    reported: tuple[Said, ...]
    outcomes: tuple[PlateOutcome, ...]
    cpu_ms: float

    @property
    def invented(self) -> tuple[Said, ...]:
        """Reported readings beside all boxed plates: wrong, where all plates are boxed."""
        return tuple(invented(self.photo, self.reported))


@dataclass(frozen=True)
class Share:
    """A share, 0–1, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Bin:
    """Readings of about the same confidence: how many, their mean confidence, how many right."""

    count: int
    confidence: float
    right: float


def look_at(photo: Photo, recognizer: Recognizer) -> tuple[Looked, Image]:
    """Read one photo; also its pixels (RGB).

    Raises:
        OSError: the photo cannot be read.
        InvalidInputError: it is no picture.
    """
    data = photo.path.read_bytes()
    started = time.process_time()
    image = decode_image(data)
    decoding_ms = 1000 * (time.process_time() - started)
    looked, rgb = look_at_pixels(photo, image, recognizer)
    return replace(looked, cpu_ms=looked.cpu_ms + decoding_ms), rgb


def look_at_pixels(photo: Photo, image: BgrImage, recognizer: Recognizer) -> tuple[Looked, Image]:
    """Read a photo whose pixels are ``image``, whatever its file holds; also its pixels (RGB)."""
    started = time.process_time()
    readings = recognizer.detect_and_read(image)
    cpu_ms = 1000 * (time.process_time() - started)
    said = tuple(map(said_of, readings))
    reported = tuple(said_of(r) for r in readings if recognizer.is_plate(r))
    rgb = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)
    return Looked(photo, said, reported, tuple(outcomes(photo, said, rgb)), cpu_ms), rgb


def said_of(reading: PlateReading) -> Said:
    """Return a reading as it is scored; its box in pixels of the photo."""
    box = reading.box
    corners = (box.x, box.y, box.x + box.width, box.y + box.height)
    return Said(reading.text, reading.confidence, corners)


def seen_nothing(photo: Photo) -> tuple[Looked, Image]:
    """Say that nothing was found, of a file that is no picture to the engine; a grey one for it."""
    edges = (max((p.box[i] for p in photo.plates), default=0) for i in (2, 3))
    right, bottom = (int(min(max(edge, 0), MAX_SIDE_PX)) for edge in edges)
    rgb = np.full((bottom + 1, right + 1, 3), 128, np.uint8)
    return Looked(photo, (), (), tuple(outcomes(photo, (), rgb)), 0.0), rgb


def share_with_interval(looked: list[Looked], hit: Callable[[PlateOutcome], bool]) -> Share:
    """The share of plates that ``hit`` says yes to; photos of one vehicle are drawn together.

    **Source:** Efron, Bootstrap methods: another look at the jackknife, 1979.
    """
    by_name = {one.photo.name: one for one in looked}
    parts = groups([one.photo for one in looked])
    rows = [[o for photo in part for o in by_name[photo.name].outcomes] for part in parts]
    counts = np.array([[sum(map(hit, row)), len(row)] for row in rows if row], dtype=float)
    if not len(counts):
        return Share(0.0, 0.0, 0.0)
    drawn = np.random.default_rng(0).integers(0, len(counts), (DRAWS, len(counts)))
    totals = counts[drawn].sum(axis=1)
    low, high = np.percentile(totals[:, 0] / totals[:, 1], INTERVAL)
    return Share(float(counts[:, 0].sum() / counts[:, 1].sum()), float(low), float(high))


def certain_only(looked: Iterable[Looked]) -> list[Looked]:
    """The same photos with the plates alone whose text is known."""
    return [
        replace(one, outcomes=tuple(o for o in one.outcomes if o.certain), cpu_ms=0.0)
        for one in looked
    ]


def pairs(looked: Iterable[Looked]) -> list[tuple[float, bool]]:
    """Confidence and truth of each reading of a plate whose text is known."""
    return [
        (o.said.confidence, o.exact)
        for one in looked
        for o in one.outcomes
        if o.certain and o.said is not None
    ]


def reliability(rated: list[tuple[float, bool]]) -> list[Bin]:
    """Readings in classes of confidence, lowest first; empty classes are left out."""
    bins = []
    for index in range(RELIABILITY_BINS):
        low, high = index / RELIABILITY_BINS, (index + 1) / RELIABILITY_BINS
        rows = [p for p in rated if low <= p[0] < high or (p[0] >= 1.0 and high == 1.0)]
        if rows:
            confidence, right = np.array(rows, dtype=float).mean(axis=0)
            bins.append(Bin(len(rows), float(confidence), float(right)))
    return bins
