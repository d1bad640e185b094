"""Measures a detector and a first reader on labelled photos, and fits the reader's confidence.

``python -m tools.training.evaluate --photos DIR --detector FILE.onnx --reader FILE.onnx
[--calibrate] [--predictions FILE.jsonl]`` prints one line of figures. ``--calibrate`` first fits
the reader's confidence on the training plates that were kept back and writes it into its card.

The engine is used as it is served, but without a second reader: the confidence of the first one
must hold where there is no other.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from recognition.engine import Recognizer
from recognition.reading.reader import Reader
from recognition.settings import RecognizerSettings, RuntimeName
from tools.evaluation import command
from tools.evaluation.photos import Card, Photo, load_photos
from tools.evaluation.scoring import score
from tools.training.calibration import fitted, rated
from tools.training.cards import read_card, write_card
from tools.training.reader_data import load_held_out

JITTERS = (0.0, 0.03)


def pair_settings(args: argparse.Namespace, threshold: float | None) -> RecognizerSettings:
    """The settings of an engine with the pair of models that the command line names.

    ``threshold`` is the least score of what is found, 0-1; None: as the card says.
    """
    given = {
        "recognition_detector_model": args.detector,
        "recognition_detection_threshold": threshold,
        "recognition_input_size": args.size,
        "recognition_reader_model": args.reader,
        "recognition_reader_hub_model": None,  # it would come before the file
        "recognition_second_reader": False,
        "recognition_runtime": args.runtime,
    }
    return RecognizerSettings.model_validate(given)


def measure(photos: list[Photo], recognizer: Recognizer, predictions: Path | None) -> Card:
    """Return the figures over all that is found and read, each reading as sure as it may be.

    ``cpu_ms_a_photo`` is the median of the processor time, decoding of the file included. What was
    read is also written to ``predictions``, a photo a line.
    """
    looked = command.evaluate(photos, recognizer, pictures=False).looked
    if predictions is not None:
        command.write_predictions(predictions, looked)
    figures = score(photos, {one.photo.name: [*one.said] for one in looked})
    cpu_ms = float(np.median([one.cpu_ms for one in looked]))
    return figures.as_row() | {"cpu_ms_a_photo": round(cpu_ms, 1)}


def calibrate(photos: Path, model: Path, settings: RecognizerSettings) -> None:
    """Fit the confidence of a reader on plates that it did not learn from, and write its card."""
    reader = Reader.load(settings)
    samples = load_held_out(photos, reader.card.output.slots)
    curve = fitted([*rated(samples, reader, JITTERS)])
    write_card(model, read_card(model) | {"calibration": curve.as_card()})


def add_pair_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that name photos and a pair of models."""
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--detector", type=Path, required=True, help="ONNX with a card beside it")
    parser.add_argument("--reader", type=Path, required=True, help="ONNX with a card beside it")
    parser.add_argument("--size", type=int, help="side of the detector's input, not the card's")
    parser.add_argument(
        "--runtime", default=RuntimeName.ONNXRUNTIME, type=RuntimeName, choices=RuntimeName
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_pair_arguments(parser)
    parser.add_argument("--threshold", type=float, help="least score of a plate, not the card's")
    parser.add_argument("--split", default="val", choices=("train", "val"))
    parser.add_argument(
        "--predictions", type=Path, help="also write what was read, one photo a line"
    )
    parser.add_argument("--calibrate", action="store_true", help="fit and write the confidence")
    args = parser.parse_args()
    settings = pair_settings(args, args.threshold)
    if args.calibrate:
        calibrate(args.photos, args.reader, settings)
    photos = load_photos(args.photos, args.split)
    print(json.dumps(measure(photos, Recognizer(settings), args.predictions)))


if __name__ == "__main__":
    main()
