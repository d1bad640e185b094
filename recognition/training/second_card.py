"""Fits the confidence of what both readers settle together, and writes it into the second card.

    python -m recognition.training.second_card --photos DIR

Takes the engine's own models and its serving code, and the plates that no reader learnt from.
"""

import argparse
from pathlib import Path

import numpy as np

from recognition.evaluation.photos import Image
from recognition.reader import Reader
from recognition.settings import RecognizerSettings
from recognition.training.calibration import Curve, fit_curve
from recognition.training.cards import write_card
from recognition.training.onnx_models import load_card
from recognition.training.reader_data import Sample, load_samples, moved
from recognition.types import CropText, Detection

JITTERS = (0.0, 0.02, 0.03, 0.03)
"""Deviations of the moves of each plate's box, as a share of its size."""


def unsure(samples: list[Sample], reader: Reader) -> list[tuple[float, bool]]:
    """Mean character probability, and whether the text is right, where both readers spoke."""
    rng, rows = np.random.default_rng(0), []
    for jitter in JITTERS:
        for sample in samples:
            box = moved(sample.box, jitter, rng)
            (text,) = reader.read_plates(_bgr(sample.image), [Detection(*box, 1.0, "plate")])
            if text.agreed and text.characters:
                rows.append((_mean(text), text.text == sample.text))
    return rows


def fitted(samples: list[Sample], reader: Reader) -> Curve:
    """The curve from the mean character probability to the confidence."""
    rows = unsure(samples, reader)
    curve = fit_curve([raw for raw, _ in rows], [right for _, right in rows])
    print(f"{len(rows)} readings, right {np.mean([right for _, right in rows]):.3f}, {curve}")
    return curve


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    args = parser.parse_args()
    settings = RecognizerSettings.model_validate({})
    path = settings.second_reader_path
    card = load_card(path)
    write_card(path, card)  # the engine refuses a file that its card does not know
    reader = Reader.load(settings)
    samples = load_samples(args.photos, "train", reader.card.output.slots, lone=False)
    curve = fitted([sample for sample in samples if sample.held_out], reader)
    write_card(path, card | {"calibration": curve.as_card()})


def _bgr(image: Image) -> Image:
    return np.ascontiguousarray(image[..., ::-1])


def _mean(text: CropText) -> float:
    return float(np.mean([character.options[0][1] for character in text.characters]))


if __name__ == "__main__":
    main()
