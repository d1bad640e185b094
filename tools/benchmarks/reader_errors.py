"""Draws a sheet of rendered plates that the reader gets wrong, as other cameras would show them.

    python -m tools.benchmarks.reader_errors docs/images/reader-errors.jpg [--plates 500]

No photo is in it. It prints the share that was read right: these plates are harder than photos.
"""

import argparse
from pathlib import Path

import numpy as np

from recognition.reading.reader import Reader
from recognition.settings import RecognizerSettings
from tools.synthetic.plates import random_plate
from tools.training.reader_data import changed_crop
from tools.training.rendered import mounted
from tools.training.wrong_sheet import ReadCrop, exact_share, write_wrong

SEED = 11


def readings(count: int) -> list[ReadCrop]:
    """Drawn plates, numbers that belong to nobody, and what is read of them."""
    reader = Reader.load(RecognizerSettings.model_validate({}))
    size = (reader.card.input.width, reader.card.input.height)
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(count):
        sample = mounted(random_plate(rng), rng)
        crop = changed_crop(sample, size, rng)
        (read,) = reader.read([np.ascontiguousarray(crop[..., ::-1])])
        found.append(ReadCrop(crop, sample.text, read.text))
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--plates", type=int, default=500)
    arguments = parser.parse_args()
    found = readings(arguments.plates)
    write_wrong(found, arguments.out)
    print(f"read right: {exact_share(found):.1%} of {arguments.plates} rendered plates")


if __name__ == "__main__":
    main()
