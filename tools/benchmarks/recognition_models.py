"""Measures the CPU time per image of the shipped models, in turns with other models.

Command: ``python -m tools.benchmarks.recognition_models [--photos FILE.jsonl] [--peer DETECTOR
READER] [--rounds 3]``. Reads 40 labelled photos (docs/accuracy.md), or a frame of the demo clip 40
times, with 8 bits and floats, and with another detector and reader in both runtimes. All read an
image in one process, on one core, before the next image is read. Prints the mean of each round:
the first one includes the preparation of input sizes. For accuracy, use ``platestream evaluate``.
"""

import argparse
import random
import time
from pathlib import Path

import cv2

from recognition.engine import Recognizer
from recognition.evaluation.photos import load_photo_file
from recognition.images import decode_image
from recognition.settings import Precision, RecognizerSettings, RuntimeName
from tools.benchmarks.demo_clip import demo_frame
from tools.benchmarks.stack import print_table

_IMAGES, _SEED = 40, 5


def _recognizer(**settings: object) -> Recognizer:
    named = {f"recognition_{name}": value for name, value in settings.items()}
    return Recognizer(RecognizerSettings.model_validate(named))


def _peers(detector: str, reader: str) -> dict[str, Recognizer]:
    given = {"detector_model": detector, "reader_model": reader, "second_reader": False}
    given |= {"plate_formats": False}
    return {f"peer, {each}": _recognizer(**given, runtime=each) for each in RuntimeName}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--peer", nargs=2, metavar=("DETECTOR", "READER"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    files = [demo_frame()] * _IMAGES
    if options.photos is not None:
        photos = load_photo_file(options.photos, "val")
        chosen = random.Random(_SEED).sample(photos, min(_IMAGES, len(photos)))
        files = [photo.path.read_bytes() for photo in chosen]
    images = [decode_image(file) for file in files]
    engines = {
        each.value: _recognizer(precision=each) for each in (Precision.INT8, Precision.FLOAT)
    }
    engines |= _peers(*options.peer) if options.peer else {}
    print_table("CPU ms per image", *engines)
    for number in range(options.rounds):
        seconds = dict.fromkeys(engines, 0.0)
        for image in images:
            for name, engine in engines.items():
                started = time.process_time()
                engine.recognize(image)
                seconds[name] += time.process_time() - started
        cells = (f"{1000 * each / len(images):.1f}" for each in seconds.values())
        print(f"| round {number + 1} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
