"""What is gained by reading a vehicle over its frames: the vote against each single frame.

    python -m benchmarks.frames [FOLDER] [--passes 24] [--seed 5] [--scales 1,0.5,0.35,0.25]

Draws road scenes (day, then dusk) and looks at them as a camera of 1280 px and of fewer pixels
sends them; ``FOLDER`` has clips with a ``passes.jsonl`` (see :mod:`benchmarks.clips`). For every
pass that a person, or the drawing, knows: how many single readings within it are right, whether its
surest reading is, and whether the recognition that comes out is.
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from benchmarks.clips import (
    as_camera_sends,
    frame_readings,
    passes_over,
    sampled_frames,
    true_passes,
)
from contracts.readings import PlateReading
from contracts.settings import load_settings
from recognition.engine import Recognizer
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage
from synthetic.road import LightPlan, RoadScene, RoadSceneOptions

_FPS = 5
_SCENE_FPS = 25
_WIDTH_PX, _HEIGHT_PX = 1280, 720
_MARGIN_SECONDS = 0.25


@dataclass(frozen=True)
class Known:
    """A pass that is known beforehand, in seconds from the first frame."""

    plate: str
    first_s: float
    last_s: float


@dataclass
class Tally:
    """What single frames and frames together made of the known passes."""

    passes: int = 0
    readings: int = 0
    right_readings: int = 0
    right_surest: int = 0
    right_together: int = 0
    other_plates: int = 0

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
        readings = recognizer.read(as_camera_sends(image))
        seen.append((seconds, readings))
        size = (image.shape[1], image.shape[0])
        records.append(frame_readings(number, seconds, readings, size))
    together = [one.plate for one in passes_over(records)]
    for one in known:
        _add(tally, one, _within(seen, one), together)
    tally.other_plates += sum(plate not in {one.plate for one in known} for plate in together)


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
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--passes", type=int, default=24)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--scales", default="1,0.5,0.35,0.25")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    recognizer = Recognizer(load_settings(RecognizerSettings))
    print(
        "| pictures | passes | readings right | surest right | over frames right | other plates |"
    )
    print("|---|---|---|---|---|---|")
    if arguments.folder:
        print(_clips(arguments.folder, recognizer).row("clips"))
    options = RoadSceneOptions(
        arguments.passes, arguments.seed, None, LightPlan.MIXED, _WIDTH_PX, _HEIGHT_PX
    )
    scene = RoadScene(options)
    known = [
        Known(one.plate, one.first_visible_s, one.last_visible_s) for one in scene.truth().passes
    ]
    for scale in map(float, arguments.scales.split(",")):
        tally = Tally()
        look(drawn_frames(scene, scale), known, recognizer, tally)
        print(tally.row(f"drawn road, {round(_WIDTH_PX * scale)} px wide"), flush=True)


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


if __name__ == "__main__":
    main()
