"""Pictures without a plate: half for the detector to learn from, half to tell how often it errs.

``python -m tools.training.other_pictures --others DIR --out DIR`` writes those of the
half to learn from on which the detector that the settings name finds something. ``--out`` is not
there before, and there only when it is whole.
"""

import argparse
import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from itertools import islice
from pathlib import Path

import cv2

from common.errors import InvalidInputError
from recognition.detection.detector import Detector
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage

LEAST_SCORE, LARGEST_PX = 0.05, 960
"""The minimum score of a find, and the longer side of what is written."""

LEAST_PX, MAX_A_FOLDER = 100, 800
"""The shorter side of a picture, and how many of one folder are taken."""


class Half(IntEnum):
    """Every second picture, from the first or from the second one on.

    Which ones these are hangs on all that lie in the folder: between a detector's training and the
    fit of what is no plate it must stay as it is.
    """

    KEPT_BACK = 0
    LEARNT = 1


def half_of(folder: Path, half: Half) -> Iterator[BgrImage]:
    """Half of the pictures under a folder."""
    return islice(pictures(folder), half, None, len(Half))


def pictures(folder: Path) -> Iterator[BgrImage]:
    """The JPEG and PNG pictures under a folder, those that look alike once.

    They come in an order that is no one's, and not too many of one of its folders.
    """
    paths = [p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png")]
    taken, seen = Counter[tuple[str, ...]](), set[bytes]()
    for path in sorted(paths, key=lambda p: _shuffled(p.relative_to(folder))):
        home = path.relative_to(folder).parent.parts[:1]
        if taken[home] >= MAX_A_FOLDER:
            continue
        try:
            image = decode_image(path.read_bytes())
        except (InvalidInputError, OSError):
            continue
        alike = (cv2.resize(image, (16, 16), interpolation=cv2.INTER_AREA) // 16).tobytes()
        if min(image.shape[:2]) >= LEAST_PX and alike not in seen:
            seen.add(alike)
            taken[home] += 1
            yield image


def write_found(folder: Path, detector: Detector, out: Path) -> int:
    """Write what the detector finds something on, as JPEG; how many pictures these are.

    The folder gets its name in the end: what was interrupted is begun anew.
    """
    fresh = out.with_name(out.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    count = 0
    for picture in half_of(folder, Half.LEARNT):
        if detector.detect(picture):
            scale = min(1.0, LARGEST_PX / max(picture.shape[:2]))
            small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            cv2.imwrite(str(fresh / f"{count:05d}.jpg"), small)
            count += 1
    fresh.rename(out)
    return count


def _shuffled(path: Path) -> bytes:
    return hashlib.sha256(str(path).encode()).digest()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", type=Path, required=True, help="pictures without a plate")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    if args.out.exists():
        parser.error(f"{args.out} is there already")
    settings = RecognizerSettings.model_validate({"recognition_detection_threshold": LEAST_SCORE})
    print(f"{write_found(args.others, Detector.load(settings), args.out)} pictures")


if __name__ == "__main__":
    main()
