"""Loads plates for the reader, cropped with their surroundings.

Plates come from photos, from crops in the same folder, and from a second folder of crops
(``more``), whose ``crops.jsonl`` has one crop per line: ``image``, ``text``, ``uncertain``,
``region`` and ``synthetic`` (rendered). US texts in that file use 0 for both O and 0.
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
"""Margin around a plate, as a fraction of the plate's size, so that boxes can be moved."""

COARSE_SHARE, COARSE_PX = 0.5, (28, 110)
"""Fraction of crops with reduced resolution, and range of the plates' width (px) in these crops."""

SENSOR_SHARE, SENSOR_BLUR_PX, JPEG_SHARE, JPEG_QUALITY = 0.5, (0.4, 0.9), 0.5, (60, 80)
"""Fractions of coarse crops with sensor blur and JPEG artefacts, and the ranges of the blur (px)
and the JPEG quality. Both are applied at low resolution."""

MARGIN_X, MARGIN_Y = (0.0, 0.06), (0.01, 0.14)
"""Ranges of the crops' margins, which contain the margins of the engine's crop."""

PALE_SHARE = 0.15
"""Fraction of crops with a contrast of only 1/7 to 1/2, as caused by dirt, glare or haze."""

HOLD_OUT_PERCENT, MORE_HOLD_OUT_PERCENT = 12, 20
"""Percentages of held-out texts: among photos, and (including these texts) in the second folder."""

ALIKE_REGIONS = "us-"
"""Prefix of the regions in which texts use 0 for both O and 0."""

WEIGHTS = {"lone": 0.25, "drawn": 0.4}
"""Weights of groups with plates of only one country, which would otherwise dominate."""


@dataclass(frozen=True)
class Sample:
    """A plate with its surroundings. ``box`` is the plate in pixels of ``image``.

    If ``alike``, the label uses 0 for both O and 0, so both readings are correct.
    """

    image: Image
    box: Box
    text: str
    group: str
    alike: bool = False

    @property
    def held_out(self) -> bool:
        """Whether the plate is held out. The result is the same for every photo of the plate."""
        return is_held_out(self.text)


def is_held_out(text: str) -> bool:
    """Return whether training plates with this text are held out from the training of readers."""
    return zlib.crc32(text.encode()) % 100 < HOLD_OUT_PERCENT


def load_samples(folder: Path, split: str, slots: int, lone: bool) -> list[Sample]:
    """Return the plates of a split with a verified text of at most ``slots`` characters.

    If ``lone``, include the crops in the same folder.
    """
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
    """Return a sample for a plate that fills the whole image."""
    height, width = image.shape[:2]
    return Sample(image, (0.0, 0.0, float(width), float(height)), text, group, alike)


def load_held_out(folder: Path, slots: int) -> list[Sample]:
    """Return the held-out plates of training photos, of at most ``slots`` characters."""
    return [one for one in load_samples(folder, "train", slots, lone=False) if one.held_out]


def more_samples(folder: Path | None, slots: int, *, held_out: bool) -> list[Sample]:
    """Return training plates, or held-out photographed plates, of up to ``slots`` characters.

    The list is empty if ``folder`` is None.
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
    """Return the probability of each sample. Many photos make a plate only slightly more likely."""
    counts = Counter(s.text for s in samples)
    weights = np.array([WEIGHTS.get(s.group, 1.0) * counts[s.text] ** -0.7 for s in samples])
    return np.asarray(weights / weights.sum())


def plain_crop(
    sample: Sample, margins: tuple[float, float], jitter: float, rng: np.random.Generator
) -> Image:
    """Return the crop of a plate as from a detector, with box edges moved by ``jitter``."""
    height, width = sample.image.shape[:2]
    return cut(sample.image, grown(moved(sample.box, jitter, rng), *margins, width, height))


def encode(text: str, alphabet: str, pad: str, slots: int) -> npt.NDArray[np.int64]:
    """Return the class of each slot for ``text``, with padding at the end."""
    return np.array([alphabet.index(c) for c in text.ljust(slots, pad)], dtype=np.int64)


def _with_context(image: Image, box: Box, text: str, group: str) -> Sample:
    height, width = image.shape[:2]
    outer = grown(box, CONTEXT, CONTEXT * 2, width, height)
    left, top = math.floor(outer[0]), math.floor(outer[1])
    part = cut(image, (left, top, outer[2], outer[3])).copy()
    within = (box[0] - left, box[1] - top, box[2] - left, box[3] - top)
    return Sample(part, within, text, group)


def moved(box: Box, jitter: float, rng: np.random.Generator) -> Box:
    """Return the box with edges moved by ``jitter`` (standard deviation, relative to the size)."""
    width, height = box[2] - box[0], box[3] - box[1]
    d = np.clip(rng.normal(0, 1, 4), -2, 2) * jitter
    return (
        box[0] + d[0] * width,
        box[1] + d[1] * height,
        box[2] + d[2] * width,
        box[3] + d[3] * height,
    )
