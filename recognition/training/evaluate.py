"""Measures a detector and a reader together, alone from the serving engine.

``python -m recognition.training.evaluate --photos DIR --detector FILE.onnx --reader FILE.onnx
[--calibrate] [--predictions FILE.jsonl]`` prints one line of figures. ``--calibrate`` first fits
the reader's confidence on the training plates that were kept back and writes it into its card.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recognition.boxes import grown
from recognition.crops import cut
from recognition.evaluation.photos import Card, Image, Photo, load_photos, read_image
from recognition.evaluation.scoring import Figures, Said, score
from recognition.plate_chance import Signs, chance_of_plate
from recognition.training.calibration import Curve, apply, fit_curve
from recognition.training.cards import plate_chance, write_card
from recognition.training.onnx_models import (
    Detector,
    Found,
    Read,
    Reader,
    feed_of,
    load_card,
    margins_of,
    onnxruntime_runner,
    openvino_runner,
)
from recognition.training.reader_data import Sample, load_samples, plain_crops

CALIBRATION_JITTERS = (0.0, 0.03)


@dataclass(frozen=True)
class Pair:
    """A detector and a reader with their cards."""

    detector: Detector
    reader: Reader
    detector_card: Card
    reader_card: Card
    threshold: float

    def read(self, image: Image) -> list[Said]:
        """The plates of one photo."""
        return [said for _, said in self.read_from(image, self.threshold)]

    def read_from(self, image: Image, threshold: float) -> list[tuple[float, Said]]:
        """The plates of one photo from a detector score on, each with that score."""
        finds = self.detector(image, threshold, self.detector_card["output"]["iou_threshold"])
        if not finds:
            return []
        height, width = image.shape[:2]
        views = margins_of(self.reader_card)
        texts = self.reader(
            [[cut(image, grown(f.box, *view, width, height)) for view in views] for f in finds]
        )
        return [
            (f.score, Said(t.text, self._confidence(f, t, width), f.box))
            for t, f in zip(texts, finds, strict=True)
        ]

    def _confidence(self, found: Found, text: Read, width: int) -> float:
        share, least = (found.box[2] - found.box[0]) / width, min(text.probabilities, default=0.0)
        signs = Signs(found.score, share, text.text, least)
        chance = chance_of_plate(signs, plate_chance(self.detector_card))
        return chance * apply(self.reader_card, text.raw_confidence)


def load_pair(args: argparse.Namespace) -> Pair:
    """The pair that the command line names."""
    runner = openvino_runner if args.runtime == "openvino" else onnxruntime_runner
    detector_card = load_card(args.detector)
    reader_card = load_card(args.reader)
    size = (args.size, args.size) if args.size else (416, 416)
    if not args.size:
        size = (detector_card["input"]["height"], detector_card["input"]["width"])
    given = detector_card["input"]
    stride = given["stride"] if given["dynamic_size"] else 0
    decoder, feed = detector_card["output"]["decoder"], feed_of(detector_card)
    detector = Detector(runner(args.detector, 1), size, decoder, stride, feed=feed)
    threshold = args.threshold or detector_card["output"]["score_threshold"]
    reader = Reader(runner(args.reader, 1), reader_card)
    return Pair(detector, reader, detector_card, reader_card, threshold)


def measure(photos: list[Photo], pair: Pair, predictions: Path | None) -> tuple[Figures, float]:
    """Figures, and the median of the milliseconds a photo, decoding of the JPEG apart."""
    said, times = {}, []
    for photo in photos:
        image = read_image(photo.path)
        start = time.perf_counter()
        said[photo.name] = pair.read(image)
        times.append(1000 * (time.perf_counter() - start))
    if predictions:
        predictions.write_text(
            "".join(_line(p.name, said[p.name], t) for p, t in zip(photos, times, strict=True))
        )
    return score(photos, said), float(np.median(times))


def calibrate(samples: list[Sample], pair: Pair) -> Curve:
    """Fit the confidence of the reader on plates that it did not learn from."""
    views, rng = margins_of(pair.reader_card), np.random.default_rng(0)
    kept = [s for s in samples if s.held_out]
    raw, right = [], []
    for jitter in CALIBRATION_JITTERS:
        for sample in kept:
            read = pair.reader([plain_crops(sample, views, jitter, rng)])[0]
            raw.append(read.raw_confidence)
            right.append(read.text == sample.text)
    curve = fit_curve(raw, right)
    print(f"calibration: {len(kept)} plates, right {np.mean(right):.3f}, {curve}")
    return curve


def _line(name: str, said: list[Said], ms: float) -> str:
    plates = [{"text": s.text, "conf": s.confidence, "box": s.box} for s in said]
    return json.dumps({"image": name, "plates": plates, "ms": ms}) + "\n"


def add_pair_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that name photos and a pair of models."""
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--detector", type=Path, required=True, help="ONNX with a card beside it")
    parser.add_argument("--reader", type=Path, required=True, help="ONNX with a card beside it")
    parser.add_argument("--size", type=int, help="letterbox side in place of the card's")
    parser.add_argument("--threshold", type=float, help="in place of the card's")
    parser.add_argument("--runtime", default="onnxruntime", choices=("onnxruntime", "openvino"))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_pair_arguments(parser)
    parser.add_argument("--split", default="val", choices=("train", "val"))
    parser.add_argument(
        "--predictions", type=Path, help="also write what was read, one photo a line"
    )
    parser.add_argument("--calibrate", action="store_true", help="fit and write the confidence")
    args = parser.parse_args()
    pair = load_pair(args)
    if args.calibrate:
        slots = pair.reader_card["output"]["slots"]
        samples = load_samples(args.photos, "train", slots, lone=False)
        pair.reader_card["calibration"] = calibrate(samples, pair).as_card()
        write_card(args.reader, pair.reader_card)
    figures, ms = measure(load_photos(args.photos, args.split), pair, args.predictions)
    print(json.dumps(figures.as_row() | {"ms_a_photo": round(ms, 1)}))


if __name__ == "__main__":
    main()
