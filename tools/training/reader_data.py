"""Plates for the reader, cut with their surroundings.

They come from photos, from crops beside them, and from a second folder of crops (``more``), whose
``crops.jsonl`` lists a crop a line: ``image``, ``text``, ``uncertain``, ``region`` and
``synthetic``, whether it was drawn. American texts there write 0 for O and 0 alike.
"""

import json
import math
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from recognition.evaluation.photos import json_lines
from recognition.reading.crops import cut
from recognition.types import Box, grown
from tools.training.photos import Image, load_photos, read_image

CONTEXT = 0.35
"""Photo kept around a plate, as a share of its width and height, so that boxes can be moved."""

COARSE_SHARE, COARSE_PX = 0.5, (28, 110)
"""Of the crops, those that a plate this many pixels wide gave."""

SENSOR_SHARE, SENSOR_BLUR_PX, JPEG_SHARE, JPEG_QUALITY = 0.5, (0.4, 0.9), 0.5, (60, 80)
"""Of the coarse crops, those blurred by the sensor, and those coded, at their own few pixels."""

MARGIN_X, MARGIN_Y = (0.0, 0.06), (0.01, 0.14)
"""Margins that the crops are cut with: around those of both crops that the engine takes."""

PALE_SHARE = 0.15
"""Of the crops, those with little contrast: dirt, glare, haze leave a seventh to a half of it."""

HOLD_OUT_PERCENT, MORE_HOLD_OUT_PERCENT = 12, 20
"""Of the training plates (by text), those kept back; of the second folder, these and more."""

ALIKE_REGIONS = "us-"
"""Regions that begin so have texts with 0 for O and 0 alike."""

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
        samples += [
            whole_crop(read_image(folder / row["image"]), row["text"], "lone")
            for row in json_lines(folder / "crops.jsonl")
            if row["split"] == split and row["text"]
            if not row.get("scene") and not row["uncertain"]
        ]
    return samples


def whole_crop(image: Image, text: str, group: str, *, alike: bool = False) -> Sample:
    """A plate that fills its picture."""
    height, width = image.shape[:2]
    return Sample(image, (0.0, 0.0, float(width), float(height)), text, group, alike)


def load_held_out(folder: Path, slots: int) -> list[Sample]:
    """The plates of training photos that no reader learns from, of at most ``slots`` characters."""
    return [one for one in load_samples(folder, "train", slots, lone=False) if one.held_out]


def more_samples(folder: Path | None, slots: int, *, held_out: bool) -> list[Sample]:
    """What is learned from, or the photographed plates kept back; of at most ``slots`` characters.

    None without a folder.
    """
    lines = (folder / "crops.jsonl").read_text().splitlines() if folder else []
    samples = []
    for row in map(json.loads, lines):
        text, drawn = row["text"], bool(row.get("synthetic"))
        is_kept_back = zlib.crc32(text.encode()) % 100 < MORE_HOLD_OUT_PERCENT
        if row["uncertain"] or not 0 < len(text) <= slots or is_kept_back != held_out:
            continue
        if folder and not (held_out and drawn):
            path = folder / row["image"]
            group = "drawn" if drawn else path.parent.name
            alike = str(row.get("region") or "").startswith(ALIKE_REGIONS)
            samples.append(whole_crop(read_image(path), text, group, alike=alike))
    return samples


def sampling_weights(samples: list[Sample]) -> npt.NDArray[np.float64]:
    """How often each sample is drawn (sums to 1): photos of one plate share most of one turn."""
    counts = Counter(s.text for s in samples)
    weights = np.array([WEIGHTS.get(s.group, 1.0) * counts[s.text] ** -0.7 for s in samples])
    return np.asarray(weights / weights.sum())


def plain_crop(
    sample: Sample, margins: tuple[float, float], jitter: float, rng: np.random.Generator
) -> Image:
    """The crop around a box as a detector would give it: its edges moved by ``jitter``."""
    height, width = sample.image.shape[:2]
    return cut(sample.image, grown(moved(sample.box, jitter, rng), *margins, width, height))


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
