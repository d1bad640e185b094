"""Completes the labels of photos, most of which have one labelled plate but may show more.

A published detector (the teacher) processes every photo. Unlabelled detections with a high score
become labels. Detections with a low score are masked, so that they are neither plates nor
background. ``python -m tools.training.labels --photos DIR --teacher FILE.onnx --out labels.jsonl``.
Without a teacher, the existing boxes are used.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from recognition.detection.detector import Detector
from recognition.evaluation.photos import Photo
from recognition.images import decode_image
from recognition.settings import RecognizerSettings, RuntimeName
from recognition.types import Box, Detection, iou
from tools.training.photos import load_photos

SURE, UNSURE = 0.5, 0.08
"""Minimum teacher scores for an unlabelled detection to become a label, and to be masked."""

SAME_PLATE_IOU = 0.25


@dataclass(frozen=True)
class Labels:
    """The labels of a photo. ``plates`` are boxes of plates. ``masked`` boxes must be blurred."""

    photo: str
    plates: tuple[Box, ...]
    masked: tuple[Box, ...]


def complete(photo: Photo, finds: list[Detection]) -> Labels:
    """Return a photo's boxes, and the additional boxes that the teacher found."""
    own = tuple(p.box for p in photo.plates)
    other = [f for f in finds if not any(_same(f.box, box) for box in own)]
    sure = tuple(f.box for f in other if f.score >= SURE and not photo.exhaustive)
    unsure = tuple(f.box for f in other if f.score < SURE and not photo.exhaustive)
    return Labels(photo.name, own + sure, unsure)


def load_labels(path: Path) -> dict[str, Labels]:
    """Return the labels in a file, keyed by photo name."""
    decoder = msgspec.json.Decoder(Labels)
    return {one.photo: one for one in map(decoder.decode, path.read_text().splitlines())}


def _same(a: Box, b: Box) -> bool:
    inside = b[0] <= (a[0] + a[2]) / 2 <= b[2] and b[1] <= (a[1] + a[3]) / 2 <= b[3]
    return inside or iou(a, b) > SAME_PLATE_IOU


def load_teacher(args: argparse.Namespace) -> Detector:
    """Return the detector given on the command line.

    Raises:
        MisconfiguredError: the engine does not support the detector.
    """
    given = {
        "recognition_detector_model": args.teacher,
        "recognition_input_size": args.teacher_size,
        "recognition_runtime": RuntimeName.ONNXRUNTIME,
    }
    return Detector.load(RecognizerSettings.model_validate(given))


def finds_of(teacher: Detector, photo: Photo) -> list[Detection]:
    """Return the teacher's detections, including uncertain detections, in pixels of the photo."""
    return teacher.search(decode_image(photo.path.read_bytes()), UNSURE)


def main() -> None:
    """Write a line of labels for each photo of both splits that is not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, help="ONNX detector (recognition/models)")
    parser.add_argument("--teacher-size", type=int, default=416)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    teacher = None if args.teacher is None else load_teacher(args)
    name = None if args.teacher is None else args.teacher.name
    done = set[str]()
    if args.out.exists():
        whole, _, _ = args.out.read_text().rpartition("\n")  # the last line may be incomplete
        args.out.write_text(whole + "\n" if whole else "")
        done = set(load_labels(args.out))
        if any(json.loads(line).get("teacher") != name for line in whole.splitlines()):
            parser.error(f"{args.out} was created with another teacher; choose another --out")
    photos = load_photos(args.photos, "train") + load_photos(args.photos, "val")
    with args.out.open("a") as out:
        for photo in photos:
            if photo.name not in done:
                finds = finds_of(teacher, photo) if teacher else []
                out.write(json.dumps(asdict(complete(photo, finds)) | {"teacher": name}) + "\n")


if __name__ == "__main__":
    main()
