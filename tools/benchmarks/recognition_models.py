"""Measures the cost of the shipped models: CPU time per frame, memory and load time.

Command: ``python -m tools.benchmarks.recognition_models [--repeat 30]``. Reads a frame of the demo
clip with each shipped detector (8-bit and float) and each runtime. Each measurement is on one core
in a separate process. Prints the lower quartile, which is least affected by other load on the
machine. To measure accuracy, use ``platestream evaluate``.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import cv2

from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import MODELS, RecognizerSettings, RuntimeName
from tools.benchmarks.demo_clip import demo_frame
from tools.benchmarks.stack import print_table

_DETECTORS = ("plate-detector.onnx", "plate-detector-float.onnx")


def _cpu_ms(work: Callable[[], object], repeat: int) -> float:
    for _ in range(3):
        work()
    times = []
    for _ in range(repeat):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.quantiles(times, n=4)[0] * 1000


def measure(detector: str, runtime: RuntimeName, repeat: int) -> None:
    """Measure a detector with a runtime, and print a row of the table."""
    cv2.setNumThreads(1)
    settings = RecognizerSettings.model_validate(
        {"recognition_detector_model": MODELS / detector, "recognition_runtime": runtime}
    )
    image = demo_frame()
    pixels = decode_image(image)
    started = time.perf_counter()
    recognizer = Recognizer(settings)
    start_seconds = time.perf_counter() - started
    found = Detector.load(settings)
    decode_ms = _cpu_ms(lambda: decode_image(image), repeat)
    detect_ms = _cpu_ms(lambda: found.detect(pixels), repeat)
    whole_ms = _cpu_ms(lambda: recognizer.recognize(decode_image(image)), repeat)
    plates = ", ".join(reading.text for reading in recognizer.recognize(pixels))
    print(
        f"| {detector} | {runtime} | {decode_ms:.1f} | {detect_ms:.1f} | {whole_ms:.1f}"
        f" | {_resident_mib():.0f} | {start_seconds:.2f} | {plates} |",
        flush=True,
    )


def _resident_mib() -> float:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=30)
    repeat = parser.parse_args().repeat
    columns = ("decode ms", "detect ms", "whole frame ms", "resident MiB", "start s", "read")
    print_table("detector", "runtime", *columns)
    for detector, runtime in product(_DETECTORS, RuntimeName):
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=measure, args=(detector, runtime, repeat))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
