"""Splits images without plates: half to train the detector, and half to measure its errors.

``python -m tools.training.other_pictures --others DIR --out DIR`` writes those images of the
training half in which the configured detector finds something. ``--out`` must not exist, and is
created only when all images are written.
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
"""Minimum score of a detection, and length of the longer side of written images."""

LEAST_PX, MAX_A_FOLDER = 100, 800
"""Minimum length of the shorter side of an image, and maximum number of images per subfolder."""


class Half(IntEnum):
    """Which half of the images: every second image, starting with the first or the second.

    The selection depends on all images in the folder, so the folder must not change between the
    detector's training and the fit of the plate probability.
    """

    KEPT_BACK = 0
    LEARNT = 1


def half_of(folder: Path, half: Half) -> Iterator[BgrImage]:
    """Yield one half of the images in a folder."""
    return islice(pictures(folder), half, None, len(Half))


def pictures(folder: Path) -> Iterator[BgrImage]:
    """Yield the JPEG and PNG images in a folder. Skip images that look like an earlier image.

    Images are in pseudo-random order. The number of images from each subfolder is limited.
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
    """Write the images in which the detector finds something as JPEG. Return the number of images.

    The folder gets its final name at the end, so an interrupted run starts from scratch.
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
    """Write images from the training half of the given folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", type=Path, required=True, help="images without a plate")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    if args.out.exists():
        parser.error(f"{args.out} already exists; delete it or choose another --out")
    settings = RecognizerSettings.model_validate({"recognition_detection_threshold": LEAST_SCORE})
    print(f"{write_found(args.others, Detector.load(settings), args.out)} images")


if __name__ == "__main__":
    main()
