"""Completes labels: most photos have one plate boxed, and may show others.

A published detector (the teacher) looks at every photo. What it is sure of and nobody boxed
becomes a label; what it half believes is neither taught as plate nor as background.
``python -m recognition.training.labels --photos DIR --teacher FILE.onnx --out labels.jsonl``;
without a teacher the boxes count as they are.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from recognition.boxes import Box, iou
from recognition.evaluation.photos import Photo, load_photos, read_image
from recognition.training.onnx_models import Detector, Found, as_floats, onnxruntime_runner

SURE, UNSURE = 0.5, 0.08
"""Teacher scores from which an unboxed find is a label, and from which it is masked."""

SAME_PLATE_IOU = 0.25


@dataclass(frozen=True)
class Labels:
    """What is taught about one photo: ``plates`` are plates, ``masked`` is painted over."""

    photo: str
    plates: tuple[Box, ...]
    masked: tuple[Box, ...]


def complete(photo: Photo, finds: list[Found]) -> Labels:
    """The photo's own boxes, with what the teacher found besides."""
    own = tuple(p.box for p in photo.plates)
    other = [f for f in finds if not any(_same(f.box, box) for box in own)]
    sure = tuple(f.box for f in other if f.score >= SURE and not photo.exhaustive)
    unsure = tuple(f.box for f in other if f.score < SURE and not photo.exhaustive)
    return Labels(photo.name, own + sure, unsure)


def load_labels(path: Path) -> dict[str, Labels]:
    """Labels by photo name."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {
        row["photo"]: Labels(
            row["photo"], tuple(map(tuple, row["plates"])), tuple(map(tuple, row["masked"]))
        )
        for row in rows
    }


def _same(a: Box, b: Box) -> bool:
    inside = b[0] <= (a[0] + a[2]) / 2 <= b[2] and b[1] <= (a[1] + a[3]) / 2 <= b[3]
    return inside or iou(a, b) > SAME_PLATE_IOU


def main() -> None:
    """Write one line of labels a photo of both splits; photos already in the file are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, help="end-to-end ONNX detector")
    parser.add_argument("--teacher-size", type=int, default=416)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    teacher: Detector | None = None
    if args.teacher is not None:
        size = (args.teacher_size, args.teacher_size)
        run = onnxruntime_runner(args.teacher, args.threads)
        teacher = Detector(run, size, "end2end_rows", feed=as_floats)
    name = args.teacher.name if args.teacher is not None else None
    done = set[str]()
    if args.out.exists():
        whole, _, _ = args.out.read_text().rpartition("\n")  # the last line may be half of one
        args.out.write_text(whole + "\n" if whole else "")
        done = set(load_labels(args.out))
        if any(json.loads(line).get("teacher") != name for line in whole.splitlines()):
            parser.error(f"{args.out} is of another teacher")
    photos = load_photos(args.photos, "train") + load_photos(args.photos, "val")
    with args.out.open("a") as out:
        for photo in photos:
            if photo.name not in done:
                finds = teacher(read_image(photo.path), UNSURE) if teacher else []
                out.write(json.dumps(asdict(complete(photo, finds)) | {"teacher": name}) + "\n")


if __name__ == "__main__":
    main()
