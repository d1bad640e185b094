"""Measures how fast the two files run on one thread.

``python -m recognition.training.speed --detector FILE.onnx --reader FILE.onnx`` prints one line a
file, size and runtime. The wall time is what a free machine gives; the processor time stays true
on a busy one.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recognition.evaluation.photos import Card
from recognition.training.onnx_models import Runner, load_card, onnxruntime_runner, openvino_runner

WARM_UP, ROUNDS = 5, 40


def runners(path: Path) -> dict[str, Runner]:
    """The file on each runtime, one thread each."""
    return {
        "onnxruntime": onnxruntime_runner(path),
        "openvino f32": openvino_runner(path),
        "openvino bf16": openvino_runner(path, precision="bf16"),
    }


def time_of(run: Runner, tensor: npt.NDArray[Any]) -> tuple[float, float]:
    """Median milliseconds of one call: on the wall, and of processor time."""
    for _ in range(WARM_UP):
        run(tensor)
    wall, used = [], []
    for _ in range(ROUNDS):
        wall_start, used_start = time.perf_counter(), time.process_time()
        run(tensor)
        wall.append(time.perf_counter() - wall_start)
        used.append(time.process_time() - used_start)
    return 1000 * float(np.median(wall)), 1000 * float(np.median(used))


def tensor_for(card: Card, side: int | None) -> npt.NDArray[Any]:
    """A random image as the card wants it, ``side`` pixels high and wide where it is given."""
    height, width = (side, side) if side else (card["input"]["height"], card["input"]["width"])
    nchw = card["input"]["layout"] == "NCHW"
    shape = (1, 3, height, width) if nchw else (1, height, width, 3)
    values = np.random.default_rng(0).integers(0, 256, shape)
    tensor = values * card["input"]["scale"]
    return np.ascontiguousarray(tensor.astype(card["input"]["dtype"]))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detector", type=Path, required=True)
    parser.add_argument("--reader", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[416, 640, 960])
    args = parser.parse_args()
    for path, sizes in ((args.detector, args.sizes), (args.reader, [None])):
        card = load_card(path)
        for runtime, run in runners(path).items():
            for size in sizes:
                wall, used = time_of(run, tensor_for(card, size))
                label = f"{card['name']} {size or ''}".strip()
                print(f"{label:20} {runtime:14} wall {wall:6.1f} ms, processor {used:6.1f} ms")


if __name__ == "__main__":
    main()
