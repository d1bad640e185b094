"""The gain of reading a vehicle over its frames: the vote against each single frame.

    python -m tools.benchmarks.frames [FOLDER] [--passes 24] [--seed 5] [--scales 1,0.5,0.35,0.25]
                                [--photos PHOTOS.jsonl] [--split val]

Draws road scenes (day, then dusk) and looks at them as a camera of 1280 px and of fewer pixels
sends them; ``FOLDER`` has clips with a ``passes.jsonl`` (see :mod:`tools.benchmarks.clips`),
``PHOTOS`` labelled photos as ``platestream evaluate`` takes them: those of one certain plate, at
least 45 px wide, are moved through a camera's picture within 3.0 and 1.2 seconds. For every pass
that a person, or the drawing, knows: how many single readings within it are right, whether its
surest reading is, and whether the recognition that comes out is; in the end, how sure the
recognitions are and how many of them are right.
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import cv2
import numpy as np

from common.records.recognitions import PlateReading
from common.settings import load_settings
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage
from tools.benchmarks.clips import (
    as_camera_sends,
    frame_readings,
    passes_over,
    sampled_frames,
    true_passes,
)
from tools.benchmarks.moved_photos import moved_photo
from tools.evaluation.photos import Photo, load_photo_file
from tools.evaluation.scoring import calibration_error
from tools.synthetic.road import LightPlan, RoadScene, RoadSceneOptions

_FPS = 5
_SCENE_FPS = 25
_WIDTH_PX, _HEIGHT_PX = 1280, 720
_MARGIN_SECONDS = 0.25
_PHOTO_SECONDS = (3.0, 1.2)
_LEAST_PLATE_PX = 45


@dataclass(frozen=True)
class Known:
    """A pass that is known beforehand, in seconds from the first frame."""

    plate: str
    first_s: float
    last_s: float


@dataclass
class Tally:
    """What single frames and frames together made of the known passes.

    ``sure`` has of each recognition its confidence, and whether it is right.
    """

    passes: int = 0
    readings: int = 0
    right_readings: int = 0
    right_surest: int = 0
    right_together: int = 0
    other_plates: int = 0
    sure: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Count what another tally has too."""
        self.passes += other.passes
        self.readings += other.readings
        self.right_readings += other.right_readings
        self.right_surest += other.right_surest
        self.right_together += other.right_together
        self.other_plates += other.other_plates
        self.sure += other.sure

    def without_others(self) -> "Tally":
        """The same without the recognitions of other plates."""
        return replace(self, other_plates=0, sure=[one for one in self.sure if one[1]])

    def row(self, name: str) -> str:
        """Return a line of a Markdown table."""
        return (
            f"| {name} | {self.passes} | {self.right_readings} of {self.readings} "
            f"| {self.right_surest} | {self.right_together} | {self.other_plates} |"
        )


def look(
    frames: Iterable[tuple[float, BgrImage]],
    known: list[Known],
    recognizer: Recognizer,
    tally: Tally,
) -> None:
    """Read frames and add what came of them to ``tally``."""
    seen: list[tuple[float, list[PlateReading]]] = []
    records = []
    for number, (seconds, image) in enumerate(frames):
        readings = recognizer.recognize(as_camera_sends(image))
        seen.append((seconds, readings))
        size = (image.shape[1], image.shape[0])
        records.append(frame_readings(number, seconds, readings, size))
    passes = passes_over(records)
    plates = {one.plate for one in known}
    for one in known:
        _add(tally, one, _within(seen, one), [found.plate for found in passes])
    tally.other_plates += sum(found.plate not in plates for found in passes)
    tally.sure += [(found.confidence, found.plate in plates) for found in passes]


def _within(seen: list[tuple[float, list[PlateReading]]], one: Known) -> list[PlateReading]:
    first, last = one.first_s - _MARGIN_SECONDS, one.last_s + _MARGIN_SECONDS
    return [reading for seconds, found in seen if first <= seconds <= last for reading in found]


def _add(tally: Tally, one: Known, readings: list[PlateReading], together: list[str]) -> None:
    tally.passes += 1
    tally.readings += len(readings)
    tally.right_readings += sum(reading.text == one.plate for reading in readings)
    surest = max(readings, key=lambda reading: reading.confidence, default=None)
    tally.right_surest += surest is not None and surest.text == one.plate
    tally.right_together += one.plate in together


def drawn_frames(scene: RoadScene, scale: float) -> Iterator[tuple[float, BgrImage]]:
    """Yield seconds and pictures of a scene as a camera of ``scale`` times the pixels has them."""
    size = (round(_WIDTH_PX * scale), round(_HEIGHT_PX * scale))
    for index in range(0, scene.frame_count, _SCENE_FPS // _FPS):
        ((seconds, picture),) = scene.frames(index, index + 1)
        pixels = cv2.resize(picture, size, interpolation=cv2.INTER_AREA) if scale < 1 else picture
        yield seconds, np.asarray(pixels, np.uint8)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--passes", type=int, default=24)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--scales", default="1,0.5,0.35,0.25")
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--split")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    recognizer = Recognizer(load_settings(RecognizerSettings))
    print(
        "| pictures | passes | readings right | surest right | over frames right | other plates |"
    )
    print("|---|---|---|---|---|---|")
    sure = []
    for name, tally in _tallies(arguments, recognizer):
        print(tally.row(name), flush=True)
        sure += tally.sure
    _print_sureness(sure)


def _tallies(arguments: argparse.Namespace, recognizer: Recognizer) -> Iterator[tuple[str, Tally]]:
    if arguments.folder:
        yield "clips", _clips(arguments.folder, recognizer)
    if arguments.photos:
        photos = load_photo_file(arguments.photos, arguments.split)
        for seconds in _PHOTO_SECONDS:
            yield f"photos moved, {seconds} s", _photos(photos, seconds, recognizer)
    options = RoadSceneOptions(
        arguments.passes, arguments.seed, None, LightPlan.MIXED, _WIDTH_PX, _HEIGHT_PX
    )
    scene = RoadScene(options)
    known = [
        Known(one.plate, one.first_visible_s, one.last_visible_s) for one in scene.truth().passes
    ]
    for scale in map(float, filter(None, arguments.scales.split(","))):
        tally = Tally()
        look(drawn_frames(scene, scale), known, recognizer, tally)
        yield f"drawn road, {round(_WIDTH_PX * scale)} px wide", tally


def _print_sureness(sure: list[tuple[float, bool]]) -> None:
    """Print how sure the recognitions are beside how many are right, in classes of a tenth."""
    print("\n| confidence | recognitions | right |\n|---|---|---|")
    for tenth in range(10):
        inside = [one for one in sure if min(9, int(one[0] * 10)) == tenth]
        if inside:
            confidence, right = np.mean(inside, axis=0)
            print(f"| {confidence:.2f} | {len(inside)} | {right:.2f} |")
    print(f"\ncalibration error {calibration_error(sure):.1%}")


def _clips(folder: Path, recognizer: Recognizer) -> Tally:
    tally = Tally()
    expected = [one for one in true_passes(folder) if one.readable]
    for path in sorted(folder.glob("*.mp4")):
        known = [
            Known(one.plate, one.first_seen_s, one.last_seen_s)
            for one in expected
            if one.clip == path.name
        ]
        look(sampled_frames(path, _FPS), known, recognizer, tally)
    return tally


def _photos(photos: list[Photo], seconds: float, recognizer: Recognizer) -> Tally:
    """Move the photos whose one plate is certain and wide enough; each is a clip of its own.

    What else is read beside a right plate is other vehicles, and left out.
    """
    together = Tally()
    for number, photo in enumerate(photos):
        if len(photo.plates) != 1 or not photo.plates[0].text or photo.plates[0].uncertain:
            continue
        plate, tally = photo.plates[0], Tally()
        left, _, right, _ = plate.box
        if right - left < _LEAST_PLATE_PX:
            continue
        known = Known(plate.text, 0.0, seconds)
        pixels = decode_image(photo.path.read_bytes())
        frames = moved_photo(pixels, plate.box, seconds, np.random.default_rng(number))
        look(frames, [known], recognizer, tally)
        together.add(tally.without_others() if tally.right_together else tally)
    return together


if __name__ == "__main__":
    main()
