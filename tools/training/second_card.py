"""Fits the confidence of what both readers settle together, and writes it into the second card.

    python -m tools.training.second_card --photos DIR

Takes the engine's own models and its serving code, and the plates that no reader learnt from.
"""

import argparse
from pathlib import Path

from recognition.reading.reader import Reader
from recognition.settings import RecognizerSettings
from tools.training.cards import read_card, write_card
from tools.training.confidence import fitted, rated
from tools.training.reader_data import load_held_out

JITTERS = (0.0, 0.02, 0.03, 0.03)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    args = parser.parse_args()
    settings = RecognizerSettings.model_validate({})
    path = settings.second_reader_path
    card = read_card(path)
    write_card(path, card)  # the engine refuses a file that its card does not know
    reader = Reader.load(settings)
    readings = rated(load_held_out(args.photos, reader.card.output.slots), reader, JITTERS)
    curve = fitted([one for one in readings if one.text.fused and one.text.characters])
    write_card(path, card | {"calibration": curve.as_card()})


if __name__ == "__main__":
    main()
