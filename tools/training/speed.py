"""Measures how fast the two files run on one thread, as the engine runs them.

``python -m tools.training.speed --detector FILE.onnx --reader FILE.onnx`` prints one line a
file, size and runtime. The wall time is what a free machine gives; the processor time stays true
on a busy one.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from recognition.models.model_card import InputCard
from recognition.models.runtime import Model, Tensor, load_model
from recognition.models.tensors import to_tensor
from recognition.models.third_party_models import detector_card, reader_card
from recognition.settings import Precision, RecognizerSettings, RuntimeName

WARM_UP, ROUNDS = 5, 40

RUNTIMES = (
    (RuntimeName.ONNXRUNTIME, Precision.F32),
    (RuntimeName.OPENVINO, Precision.F32),
    (RuntimeName.OPENVINO, Precision.BF16),
)


def time_of(model: Model, tensor: Tensor) -> tuple[float, float]:
    """Median milliseconds of one call: on the wall, and of processor time."""
    for _ in range(WARM_UP):
        model.run(tensor)
    wall, used = [], []
    for _ in range(ROUNDS):
        wall_start, used_start = time.perf_counter(), time.process_time()
        model.run(tensor)
        wall.append(time.perf_counter() - wall_start)
        used.append(time.process_time() - used_start)
    return 1000 * float(np.median(wall)), 1000 * float(np.median(used))


def tensor_for(card: InputCard, side: int | None) -> Tensor:
    """A random image as the card wants it, ``side`` pixels high and wide where it is given."""
    height, width = (side, side) if side else (card.height, card.width)
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    return to_tensor([image], card)


def print_times(path: Path, name: str, card: InputCard, sides: list[int] | list[None]) -> None:
    """Print a line for each runtime and size of a file."""
    for runtime, precision in RUNTIMES:
        settings = RecognizerSettings.model_validate({"recognition_runtime": runtime})
        for side in sides:
            tensor = tensor_for(card, side)
            model = load_model(path, settings, precision, tensor.shape)
            wall, used = time_of(model, tensor)
            label = f"{name} {side or ''}".strip()
            how = f"{runtime} {precision}"
            print(f"{label:20} {how:16} wall {wall:6.1f} ms, processor {used:6.1f} ms")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detector", type=Path, required=True)
    parser.add_argument("--reader", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[416, 640, 960])
    args = parser.parse_args()
    detector, reader = detector_card(args.detector), reader_card(args.reader)
    print_times(args.detector, detector.name, detector.input, args.sizes)
    print_times(args.reader, reader.name, reader.input, [None])


if __name__ == "__main__":
    main()
