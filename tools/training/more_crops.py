"""Plate crops of a second folder: readers learn from four fifths of them, a fifth is kept back.

``python -m tools.training.more_crops --more DIR [--predictions FILE.jsonl] [--before FILE.jsonl]``
shows the photographed plates of that fifth to the engine as it is set, each crop as a picture, and
prints what is read by part: a line a folder of ``DIR``. ``--before`` takes an earlier run's
``--predictions`` and prints what was gained since, with its 95 % interval.

``DIR`` holds ``crops.jsonl``, a crop a line: ``image``, ``text``, ``uncertain``, ``region`` and
``synthetic``, whether somebody drew it. American texts there write 0 for O and 0 alike.
"""

import argparse
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from tools.evaluation.compare import gain
from tools.evaluation.photos import Card, Image, read_image
from tools.training.reader_data import Sample, whole_crop

HOLD_OUT_PERCENT = 20
"""Of the plates (by text), those kept back; among them all of ``reader_data.is_held_out``."""

ALIKE_REGIONS = "us-"
"""Regions that begin so have texts with 0 for O and 0 alike."""

ZERO = str.maketrans("O", "0")

Read = dict[str, str]
"""What was read, the surest plate of each picture, by its name; empty where there was none."""


@dataclass(frozen=True)
class MoreCrop:
    """A crop of the second folder; ``alike``: either of O and 0 is right where its text has 0."""

    name: str
    path: Path
    text: str
    drawn: bool
    alike: bool

    @property
    def held_out(self) -> bool:
        """Whether no reader learns from it: so for every crop of a plate."""
        return zlib.crc32(self.text.encode()) % 100 < HOLD_OUT_PERCENT

    @property
    def part(self) -> str:
        """The folder that it lies in."""
        return self.path.parent.name

    def is_right(self, text: str) -> bool:
        """Whether this is what is written on it."""
        return self.text == (text.translate(ZERO) if self.alike else text)

    def sample(self) -> Sample:
        """Its picture, for a reader to learn from."""
        group = "drawn" if self.drawn else self.part
        return whole_crop(read_image(self.path), self.text, group, alike=self.alike)


def load_more_crops(folder: Path) -> list[MoreCrop]:
    """All crops of the folder whose text is certain."""
    rows: Iterator[Card] = map(json.loads, (folder / "crops.jsonl").read_text().splitlines())
    return [_crop(folder, row) for row in rows if row["text"] and not row["uncertain"]]


def more_samples(folder: Path | None, slots: int, *, held_out: bool) -> list[Sample]:
    """What is learned from, or the photographed plates kept back; of at most ``slots`` characters.

    None without a folder.
    """
    crops = load_more_crops(folder) if folder else []
    fitting = [one for one in crops if len(one.text) <= slots and one.held_out == held_out]
    return [one.sample() for one in fitting if not (held_out and one.drawn)]


def kept_back(folder: Path) -> list[MoreCrop]:
    """The photographed plates that no reader learns from."""
    return [one for one in load_more_crops(folder) if one.held_out and not one.drawn]


def read_with(recognizer: Recognizer, crops: list[MoreCrop]) -> Read:
    """What the engine reports of each crop, as a picture that it is sent."""
    return {one.name: _surest(recognizer, decode_image(one.path.read_bytes())) for one in crops}


def right_by_part(crops: list[MoreCrop], read: Read) -> dict[str, tuple[int, int]]:
    """How many are read right, and how many there are, by part."""
    all_ = Counter(one.part for one in crops)
    right = Counter(one.part for one in crops if one.is_right(read[one.name]))
    return {part: (right[part], count) for part, count in sorted(all_.items())}


def gains(crops: list[MoreCrop], before: Read, after: Read) -> Iterator[str]:
    """A line a part: the gain in points and its interval; crops of one plate are drawn together."""
    for part in sorted({one.part for one in crops}):
        plates = defaultdict[str, list[MoreCrop]](list)
        for one in crops:
            if one.part == part:
                plates[one.text].append(one)
        counts = [
            [sum(one.is_right(read[one.name]) for one in group) for group in plates.values()]
            for read in (before, after)
        ]
        all_ = np.array([len(group) for group in plates.values()], float)
        found = gain(np.array(counts[0], float), np.array(counts[1], float), all_)
        yield f"{part}: {found.points:+.1f} points, 95 % from {found.low:+.1f} to {found.high:+.1f}"


def _crop(folder: Path, row: Card) -> MoreCrop:
    alike = str(row.get("region") or "").startswith(ALIKE_REGIONS)
    drawn = bool(row.get("synthetic", False))
    return MoreCrop(row["image"], folder / row["image"], row["text"], drawn, alike)


def _surest(recognizer: Recognizer, image: Image) -> str:
    readings = recognizer.recognize(image)
    return max(readings, key=lambda one: one.confidence).text if readings else ""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--more", type=Path, required=True)
    parser.add_argument("--predictions", type=Path, help="also write what was read")
    parser.add_argument("--before", type=Path, help="what an earlier run wrote")
    args = parser.parse_args()
    crops = kept_back(args.more)
    read = read_with(Recognizer(RecognizerSettings.model_validate({})), crops)
    for part, (right, count) in right_by_part(crops, read).items():
        print(f"{part}: {right} of {count} read, {right / count:.1%}")
    if args.predictions:
        args.predictions.write_text(json.dumps(read, indent=0))
    if args.before:
        print(*gains(crops, json.loads(args.before.read_text()), read), sep="\n")


if __name__ == "__main__":
    main()
