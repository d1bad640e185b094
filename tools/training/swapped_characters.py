"""Swaps characters on photographed plates, so that new numbers have real letters, light and dirt.

A reader that is trained repeatedly on the same few thousand photographed plates memorises the
numbers. Here, characters are replaced with others of the same kind (letter or digit) and width from
the same plate. The line reader's positions and the gaps between strokes locate the characters.
"""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from recognition.reading.crops import cut
from recognition.reading.ctc_reader import CtcReader
from recognition.types import grown
from tools.training.photos import Image, as_image
from tools.training.reader_data import Sample

MIN_CHARACTERS, MIN_CHANGED, LEFT_SHARE = 4, 2, 0.25
"""Minimum numbers of characters and of changed characters, and fraction of unchanged characters."""

WIDTH_RATIOS = (0.78, 1.28)
"""Range of a character's width relative to the replaced character, before stretching."""

_VALLEY, _MIN_CONTRAST, _MIN_GAP_PX = 0.3, 3.0, 4
_MAX_SLOPE, _MAX_PITCHES = 0.2, 1.6
_MARGIN_PX, _SOFT_EDGE = 1, 0.12

Places = npt.NDArray[np.float64]
"""One position per character, in pixels from the left edge of the sample's image."""


@dataclass(frozen=True)
class Characters:
    """The positions of a one-row plate's characters, and the slope of the row (px down per px)."""

    text: str
    left: Places
    right: Places
    slope: float

    @property
    def middles(self) -> Places:
        """The centre of each character."""
        return (self.left + self.right) / 2

    def swaps(self, place: int) -> list[int]:
        """Return the indexes of the characters that can replace the character at ``place``."""
        widths = self.right - self.left + 1
        low, high = WIDTH_RATIOS
        return [
            other
            for other, character in enumerate(self.text)
            if character != self.text[place]
            and character.isdigit() == self.text[place].isdigit()
            and low < widths[other] / widths[place] < high
        ]


def find_characters(sample: Sample, reader: CtcReader) -> Characters | None:
    """Return the positions of a plate's characters.

    Return None if the line reader misreads the plate, or if gaps between characters are unclear.
    """
    height, width = sample.image.shape[:2]
    card = reader.card
    box = grown(sample.box, card.crop.margin_x, card.crop.margin_y, width, height)
    crop = as_image(cut(sample.image, box)[..., ::-1])
    best = reader.log_probs(crop).argmax(-1)
    starts = [t for t, c in enumerate(best) if c and c != (best[t - 1] if t else 0)]
    ends = [next((u for u in range(t, len(best)) if best[u] != best[t]), len(best)) for t in starts]
    text = "".join(card.output.alphabet[best[t] - 1] for t in starts)
    if len(text) < MIN_CHARACTERS or sample.text != (
        text.replace("O", "0") if sample.alike else text
    ):
        return None
    peaks = (np.array(starts) + np.array(ends)) / 2 / len(best) * crop.shape[1] + round(box[0])
    return _between_valleys(sample, text, peaks)


def swapped(sample: Sample, found: Characters, rng: np.random.Generator) -> Sample | None:
    """Return a plate with some characters replaced, or None if too few could be replaced."""
    top, bottom = _rows(sample)
    image, text = sample.image.copy(), list(found.text)
    for place in range(len(text)):
        others = found.swaps(place)
        if not others or rng.random() < LEFT_SHARE:
            continue
        other = int(rng.choice(others))
        goal, source = (_span(found, one) for one in (place, other))
        if min(goal[0], source[0]) < 0 or max(goal[1], source[1]) > image.shape[1]:
            return None
        fall = found.slope * (found.middles[place] - found.middles[other])
        part = _moved(sample.image[top:bottom, slice(*source)], goal[1] - goal[0], fall)
        place_of = image[top:bottom, slice(*goal)]
        place_of[:] = _set_in(part, sample.image[top:bottom, slice(*goal)], place_of)
        text[place] = found.text[other]
    changed = sum(a != b for a, b in zip(text, found.text, strict=True))
    said = "".join(text).replace("O", "0") if sample.alike else "".join(text)
    if changed < MIN_CHANGED:
        return None
    return Sample(image, sample.box, said, sample.group, sample.alike)


def _between_valleys(sample: Sample, text: str, peaks: Places) -> Characters | None:
    top, bottom = _rows(sample)
    grey = cv2.cvtColor(sample.image, cv2.COLOR_RGB2GRAY).astype(np.float32)[top:bottom]
    inner = grey[int(0.2 * len(grey)) : len(grey) - int(0.2 * len(grey))]
    if len(inner) < 2:
        return None
    strokes = np.abs(inner - np.median(inner, axis=0)).mean(0)
    strokes = np.convolve(strokes + 2 * np.abs(np.diff(inner, axis=0)).mean(0), [1 / 3] * 3, "same")
    columns = np.clip(np.round(peaks).astype(int), 0, len(strokes) - 1)
    pitch = float(np.median(np.diff(peaks)))
    valleys = [_valley(strokes, a, b) for a, b in zip(columns[:-1], columns[1:], strict=True)]
    if pitch < _MIN_GAP_PX or not all(valleys):
        return None
    inside = [valley for valley in valleys if valley is not None]
    outer = (_edge(strokes, columns[0], -1, pitch), _edge(strokes, columns[-1], 1, pitch))
    left = np.array([outer[0], *(end for _, end in inside)], float)
    right = np.array([*(start for start, _ in inside), outer[1]], float)
    widths = right - left + 1
    if widths.min() < 3 or widths.max() > _MAX_PITCHES * pitch:
        return None
    heights = [_middle_row(grey[:, int(a) : int(b) + 1]) for a, b in zip(left, right, strict=True)]
    slope = float(np.polyfit((left + right) / 2, heights, 1)[0])
    return Characters(text, left, right, slope if abs(slope) < _MAX_SLOPE else 0.0)


def _valley(strokes: npt.NDArray[np.float64], start: int, end: int) -> tuple[int, int] | None:
    """Return the first and last column of the gap between two characters, or None if unclear."""
    part = strokes[start : end + 1]
    if end - start < _MIN_GAP_PX:
        return None
    low, high = part.min(), np.percentile(part, 80)
    if high - low < _MIN_CONTRAST:
        return None
    first = last = int(part.argmin())
    bound = low + _VALLEY * (high - low)
    while first > 0 and part[first - 1] < bound:
        first -= 1
    while last < len(part) - 1 and part[last + 1] < bound:
        last += 1
    return start + first, start + last


def _edge(strokes: npt.NDArray[np.float64], start: int, step: int, pitch: float) -> int:
    """Return the column of the outer edge of the first or the last character."""
    around = strokes[max(0, int(start - pitch)) : int(start + pitch)]
    bound = around.min() + _VALLEY * (np.percentile(around, 90) - around.min())
    column = start
    while (
        0 < column < len(strokes) - 1
        and abs(column - start) < 0.75 * pitch
        and strokes[column] >= bound
    ):
        column += step
    return int(column)


def _middle_row(part: npt.NDArray[np.float32]) -> float:
    """Return the mean row of a character's horizontal edges."""
    edges = np.abs(np.diff(part, axis=0)).sum(1)
    edges = np.maximum(0, edges - np.percentile(edges, 40))
    return float((edges * np.arange(len(edges))).sum() / max(1e-6, edges.sum()))


def _rows(sample: Sample) -> tuple[int, int]:
    height = len(sample.image)
    return max(0, round(sample.box[1])), min(height, round(sample.box[3]))


def _span(found: Characters, place: int) -> tuple[int, int]:
    return int(found.left[place]) - _MARGIN_PX, int(found.right[place]) + 1 + _MARGIN_PX


def _moved(part: Image, width: int, fall: float) -> Image:
    """Return a character's image stretched to ``width``, and moved down by ``fall`` px."""
    turn = np.array([[width / part.shape[1], 0, 0], [0, 1, fall]], np.float32)
    size = (width, len(part))
    return as_image(
        cv2.warpAffine(np.ascontiguousarray(part), turn, size, borderMode=cv2.BORDER_REPLICATE)
    )


def _set_in(part: Image, ground: Image, now: Image) -> Image:
    """Return ``now`` with a character blended in, adapted to the brightness of ``ground``."""
    lighter = np.median(ground.reshape(-1, 3), axis=0) - np.median(part.reshape(-1, 3), axis=0)
    columns, rows = np.ones(part.shape[1], np.float32), np.ones(len(part), np.float32)
    columns[[0, -1]] = 0.5
    soft = max(1, int(_SOFT_EDGE * len(part)))
    rows[:soft], rows[-soft:] = np.linspace(0, 1, soft), np.linspace(1, 0, soft)
    share = (rows[:, None] * columns[None])[..., None]
    return as_image(np.clip(now * (1 - share) + (part + 0.8 * lighter) * share, 0, 255))
