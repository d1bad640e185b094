"""Plays video files through engine and tracking, without Kafka, and prints what comes out.

    python -m tools.benchmarks.clips FOLDER [--fps 5] [--trace]

``FOLDER`` holds ``*.mp4`` and, if there is one, ``passes.jsonl`` with lines
``{"clip", "plate", "first_seen_s", "last_seen_s", "readable"}`` to compare with.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import av
import cv2
import msgspec
import numpy as np

from common.plates.edit_distance import edit_distance
from common.plates.normalise import normalise_plate
from common.records.frames import FrameKind, FrameReference
from common.records.recognitions import FrameReadings, PlateReading
from common.settings import load_settings
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.scene import scene_view
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage
from streams.recognition.tracking.passes import Pass, TrackingRules
from streams.recognition.tracking.state import TrackerState

_CAMERA = UUID(int=1)
_START_MS = 1_700_000_000_000
_JPEG_QUALITY = 85
_QUIET_END_MS = 3_000


@dataclass(frozen=True)
class TruePass:
    """A pass that a person saw; seconds from the clip's first frame."""

    clip: str
    plate: str
    first_seen_s: float
    last_seen_s: float
    readable: bool


def sampled_frames(path: Path, fps: float) -> Iterator[tuple[float, BgrImage]]:
    """Yield seconds from the first frame and pixels, at most ``fps`` a second."""
    with av.open(str(path)) as container:
        first: float | None = None
        due = 0.0
        for frame in container.decode(video=0):
            first = frame.time if first is None else first
            seconds = frame.time - first
            if seconds + 1e-6 >= due:
                due += 1 / fps
                yield seconds, np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)


def as_camera_sends(image: BgrImage) -> BgrImage:
    """Return the image after the JPEG that ingest would have made of it."""
    _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    return decode_image(data.tobytes())


def frame_readings(
    number: int,
    seconds: float,
    readings: list[PlateReading],
    size: tuple[int, int] = (0, 0),
    kind: FrameKind = FrameKind.FRAME,
) -> FrameReadings:
    """Return the record that the reading agent would have published."""
    return FrameReadings(
        kind=kind,
        camera_id=_CAMERA,
        owner_id=_CAMERA,
        camera_name="clip",
        captured_ms=_START_MS + round(seconds * 1000),
        frame=FrameReference(partition=0, offset=number),
        width_px=size[0],
        height_px=size[1],
        readings=tuple(readings),
    )


def passes_over(frames: Iterable[FrameReadings]) -> list[Pass]:
    """Return the passes that come out of frames in the order of their numbers, ended by silence."""
    state, found, rules, last = TrackerState(), list[Pass](), TrackingRules(), None
    for last in frames:
        step = state.apply_frame(last, rules)
        state, found = step.state, found + list(step.ended.passes)
    if last is None:
        return []
    end_seconds = (last.captured_ms - _START_MS + _QUIET_END_MS) / 1000
    end = frame_readings(last.frame.offset + 1, end_seconds, [], kind=FrameKind.TICK)
    return found + list(state.apply_frame(end, rules).ended.passes)


def _read(path: Path, recognizer: Recognizer, fps: float, trace: bool) -> Iterator[FrameReadings]:
    for number, (seconds, image) in enumerate(sampled_frames(path, fps)):
        sent = as_camera_sends(image)
        readings = recognizer.recognize(sent)
        if trace:
            texts = [f"{r.text} {r.confidence:.2f} {r.box.width:.0f}px" for r in readings]
            print(f"    {seconds:6.2f} s  {'  '.join(texts)}")
        made = frame_readings(number, seconds, readings, (image.shape[1], image.shape[0]))
        yield msgspec.structs.replace(made, view=scene_view(sent))


def true_passes(folder: Path) -> list[TruePass]:
    """Return what a person saw, empty where nobody wrote it down."""
    path = folder / "passes.jsonl"
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        TruePass(
            clip=row["clip"],
            plate=normalise_plate(row["plate"]),
            first_seen_s=row["first_seen_s"],
            last_seen_s=row["last_seen_s"],
            readable=row["readable"] == "certain",
        )
        for row in rows
    ]


def verdict(found: Pass, expected: list[TruePass]) -> str:
    """Return whether a pass is one that a person saw."""
    text = found.plate
    distances = [(edit_distance(text, t.plate), t.plate) for t in expected if t.readable]
    if not distances:
        return "nothing to compare with"
    edits, plate = min(distances)
    return "right" if edits == 0 else f"{edits} edits from {plate}"


def report(path: Path, found: list[Pass], expected: list[TruePass]) -> None:
    """Print the passes of one clip and those that are missing."""
    print(path.name)
    for p in found:
        first = (p.first_seen_ms - _START_MS) / 1000
        last = (p.last_seen_ms - _START_MS) / 1000
        print(
            f"  {p.plate:10} {p.confidence:.3f}  {first:6.2f}-{last:6.2f} s  "
            f"{p.readings_count:3} readings  {verdict(p, expected)}"
        )
    texts = [p.plate for p in found]
    for t in expected:
        if t.readable and t.plate not in texts:
            print(f"  missing: {t.plate} {t.first_seen_s}-{t.last_seen_s} s")


def main() -> None:
    """Run all clips of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fps", type=float, default=5.0)
    parser.add_argument("--trace", action="store_true", help="print each frame's readings")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    recognizer = Recognizer(load_settings(RecognizerSettings))
    expected = true_passes(arguments.folder)
    for path in sorted(arguments.folder.glob("*.mp4")):
        found = passes_over(_read(path, recognizer, arguments.fps, arguments.trace))
        report(path, found, [t for t in expected if t.clip == path.name])


if __name__ == "__main__":
    main()
