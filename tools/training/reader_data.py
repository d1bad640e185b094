"""Plate crops for the reader: cut with context, then changed anew every time they are seen."""

import math
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from recognition.reading.crops import cut
from recognition.types import Box, grown
from tools.evaluation.photos import Image, as_image, load_lone_crops, load_photos, read_image

CONTEXT = 0.35
"""Photo kept around a plate, as a share of its width and height, so that boxes can be moved."""

COARSE_SHARE, COARSE_PX = 0.5, (28, 110)
"""Of the crops, those that a plate this many pixels wide gave."""

SENSOR_SHARE, SENSOR_BLUR_PX, JPEG_SHARE, JPEG_QUALITY = 0.5, (0.4, 0.9), 0.5, (60, 80)
"""Of the coarse crops, those blurred by the sensor, and those coded, at their own few pixels."""

MARGIN_X, MARGIN_Y = (0.0, 0.06), (0.01, 0.14)
"""Margins that the crops are cut with: around those of both crops that the engine takes."""

LINE_MARGIN_X, LINE_MARGIN_Y = (-0.01, 0.04), (-0.03, 0.08)

PALE_SHARE = 0.15
"""Of the crops, those with little contrast: dirt, glare, haze leave a seventh to a half of it."""

HOLD_OUT_PERCENT = 12
"""Of the training plates (by text), those kept back to fit the calibration."""

WEIGHTS = {"lone": 0.25, "drawn": 0.4}
"""Of groups that are all of one country: as frequent as they come, they would drown the rest."""


@dataclass(frozen=True)
class Sample:
    """A plate with its surroundings. ``box`` is the plate in pixels of ``image``.

    ``alike``: its label writes 0 for O and 0 alike, so that either is right.
    """

    image: Image
    box: Box
    text: str
    group: str
    alike: bool = False

    @property
    def held_out(self) -> bool:
        """Whether the plate is one of those kept back, the same for every photo of it."""
        return is_held_out(self.text)


def is_held_out(text: str) -> bool:
    """Whether a training plate with this text is kept back: no reader learns from it."""
    return zlib.crc32(text.encode()) % 100 < HOLD_OUT_PERCENT


def load_samples(folder: Path, split: str, slots: int, lone: bool) -> list[Sample]:
    """Every plate of a split with a certain text of at most ``slots`` characters."""
    samples = []
    for photo in load_photos(folder, split):
        plates = [p for p in photo.plates if not p.uncertain and 0 < len(p.text) <= slots]
        if not plates:
            continue
        image = read_image(photo.path)
        for plate in plates:
            samples.append(_with_context(image, plate.box, plate.text, photo.group))
    if lone:
        for crop in load_lone_crops(folder, split):
            samples.append(whole_crop(read_image(crop.path), crop.text, "lone"))
    return samples


def whole_crop(image: Image, text: str, group: str, *, alike: bool = False) -> Sample:
    """A plate that fills its picture."""
    height, width = image.shape[:2]
    return Sample(image, (0.0, 0.0, float(width), float(height)), text, group, alike)


def load_held_out(folder: Path, slots: int) -> list[Sample]:
    """The plates of training photos that no reader learns from, of at most ``slots`` characters."""
    return [one for one in load_samples(folder, "train", slots, lone=False) if one.held_out]


def sampling_weights(samples: list[Sample]) -> npt.NDArray[np.float64]:
    """How often each sample is drawn (sums to 1): photos of one plate share most of one turn."""
    counts = Counter(s.text for s in samples)
    weights = np.array([WEIGHTS.get(s.group, 1.0) * counts[s.text] ** -0.7 for s in samples])
    return np.asarray(weights / weights.sum())


def plain_crops(
    sample: Sample, views: list[tuple[float, float]], jitter: float, rng: np.random.Generator
) -> list[Image]:
    """Crops with these margins around a box as a detector would give it.

    The box is moved by ``jitter`` (deviation, share of its size).
    """
    height, width = sample.image.shape[:2]
    box = moved(sample.box, jitter, rng)
    return [cut(sample.image, grown(box, *view, width, height)) for view in views]


def changed_crop(sample: Sample, size: tuple[int, int], rng: np.random.Generator) -> Image:
    """A crop of ``size`` (width, height) as another camera, light and detector would give it."""
    return _changed(sample, MARGIN_X, MARGIN_Y, size, rng)


def line_crop(sample: Sample, size: tuple[int, int], rng: np.random.Generator) -> Image:
    """The same, cut about as closely as a reader of lines likes it."""
    return _changed(sample, LINE_MARGIN_X, LINE_MARGIN_Y, size, rng)


def encode(text: str, alphabet: str, pad: str, slots: int) -> npt.NDArray[np.int64]:
    """Class of each slot for ``text``, padded at the end."""
    return np.array([alphabet.index(c) for c in text.ljust(slots, pad)], dtype=np.int64)


def _with_context(image: Image, box: Box, text: str, group: str) -> Sample:
    height, width = image.shape[:2]
    outer = grown(box, CONTEXT, CONTEXT * 2, width, height)
    left, top = math.floor(outer[0]), math.floor(outer[1])
    part = cut(image, (left, top, outer[2], outer[3])).copy()
    within = (box[0] - left, box[1] - top, box[2] - left, box[3] - top)
    return Sample(part, within, text, group)


def _changed(
    sample: Sample,
    margin_x: tuple[float, float],
    margin_y: tuple[float, float],
    size: tuple[int, int],
    rng: np.random.Generator,
) -> Image:
    margins = (float(rng.uniform(*margin_x)), float(rng.uniform(*margin_y)))
    crop = _warped(sample, margins, size, rng)
    crop = _coarser(crop, sample, size, rng)
    crop = _other_light(crop, rng)
    return _other_camera(crop, rng)


def moved(box: Box, jitter: float, rng: np.random.Generator) -> Box:
    """The box as a detector might give it: its edges moved by ``jitter`` (deviation, share)."""
    width, height = box[2] - box[0], box[3] - box[1]
    d = np.clip(rng.normal(0, 1, 4), -2, 2) * jitter
    return (
        box[0] + d[0] * width,
        box[1] + d[1] * height,
        box[2] + d[2] * width,
        box[3] + d[3] * height,
    )


def _warped(
    sample: Sample, margins: tuple[float, float], size: tuple[int, int], rng: np.random.Generator
) -> Image:
    box = grown(moved(sample.box, 0.035, rng), *margins, 10**6, 10**6)
    x1, y1, x2, y2 = box
    corners = np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]], np.float32)
    centre = corners.mean(axis=0)
    angle = math.radians(float(np.clip(rng.normal(0, 3.0), -8, 8)))
    turn = np.array(
        [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], np.float32
    )
    bent = rng.normal(0, 0.02, (4, 2)) * [x2 - x1, y2 - y1]
    corners = ((corners - centre) @ turn.T + centre + bent).astype(np.float32)
    width, height = size
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, target)
    # Shrinking by a plain warp would alias, which the serving resize does too, but less.
    how = cv2.INTER_LINEAR if rng.random() < 0.3 else cv2.INTER_CUBIC
    bent_crop = cv2.warpPerspective(
        sample.image, matrix, size, flags=how, borderMode=cv2.BORDER_REPLICATE
    )
    return as_image(bent_crop)


def _coarser(crop: Image, sample: Sample, size: tuple[int, int], rng: np.random.Generator) -> Image:
    if rng.random() > COARSE_SHARE:
        return crop
    plate_px = sample.box[2] - sample.box[0]
    width = int(min(plate_px, rng.uniform(*COARSE_PX)))
    height = max(8, round(width * (sample.box[3] - sample.box[1]) / plate_px))
    small = cv2.resize(crop, (max(12, width), height), interpolation=cv2.INTER_AREA)
    small = _sensed(as_image(small), rng)
    return as_image(cv2.resize(small, size, interpolation=cv2.INTER_LINEAR))


def _sensed(small: Image, rng: np.random.Generator) -> Image:
    """A crop of few pixels as a camera gives it: blurred and coded before it is enlarged."""
    if rng.random() < SENSOR_SHARE:
        small = as_image(cv2.GaussianBlur(small, (0, 0), float(rng.uniform(*SENSOR_BLUR_PX))))
    if rng.random() < JPEG_SHARE:
        small = _coded(small, int(rng.integers(*JPEG_QUALITY)))
    return small


def _coded(crop: Image, quality: int) -> Image:
    _, data = cv2.imencode(".jpg", crop, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return as_image(np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR)))


def _other_light(crop: Image, rng: np.random.Generator) -> Image:
    values: npt.NDArray[np.floating] = crop.astype(np.float32)
    if rng.random() < 0.5:
        values = (values - 128) * rng.uniform(0.5, 1.3) + 128 + rng.uniform(-45, 35)
    if rng.random() < 0.25:
        values = 255 * (np.clip(values, 0, 255) / 255) ** rng.uniform(0.5, 2.0)
    if rng.random() < 0.25:
        values = values * rng.uniform(0.5, 1.2, (1, 1, 3))
    if rng.random() < PALE_SHARE:
        values = (values - 128) * rng.uniform(0.15, 0.5) + rng.uniform(90, 215)
    if rng.random() < 0.15:
        values = np.repeat(values.mean(axis=2, keepdims=True), 3, axis=2)
    return as_image(np.clip(values, 0, 255))


def _other_camera(crop: Image, rng: np.random.Generator) -> Image:
    if rng.random() < 0.15:
        crop = as_image(cv2.GaussianBlur(crop, (0, 0), float(rng.uniform(0.4, 1.5))))
    if rng.random() < 0.12:
        length = int(rng.integers(3, 8))
        crop = as_image(cv2.filter2D(crop, -1, np.full((1, length), 1 / length, np.float32)))
    if rng.random() < 0.2:
        noise = rng.normal(0, rng.uniform(3, 16), crop.shape)
        crop = np.clip(crop + noise, 0, 255).astype(np.uint8)
    if rng.random() < 0.3:
        crop = _coded(crop, int(rng.integers(20, 85)))
    return crop
