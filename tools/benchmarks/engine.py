"""Times the engine's parts on one core, for each runtime, with the memory that a process takes.

    python -m tools.benchmarks.engine IMAGE [--repeat 30] [--size 640]

Prints CPU milliseconds an image, the lower quartile: other work on the machine disturbs it least.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2

from recognition.detection.detector import Detector
from recognition.images import decode_image
from recognition.reading.reader import Reader
from recognition.settings import RecognizerSettings, RuntimeName
from recognition.types import Detection

_WHOLE_CROP = (0.4, 0.45, 0.6, 0.55)


def quick_cpu_ms(work: Callable[[], object], repeat: int) -> float:
    """Return the lower quartile of a call's CPU time in milliseconds, after warming up."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeat):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.quantiles(times, n=4)[0] * 1000


def resident_mib() -> float:
    """Return this process's resident memory."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def measure(image: Path, runtime: RuntimeName, size: int | None, repeat: int) -> None:
    """Print the figures of one runtime; meant for a process of its own."""
    cv2.setNumThreads(1)
    settings = RecognizerSettings.model_validate(
        {"recognition_runtime": runtime, "recognition_input_size": size}
    )
    started = time.perf_counter()
    detector, reader = Detector.load(settings), Reader.load(settings)
    load_seconds = time.perf_counter() - started
    data = image.read_bytes()
    pixels = decode_image(data)
    height, width = pixels.shape[:2]
    left, top, right, bottom = _WHOLE_CROP
    box = Detection(left * width, top * height, right * width, bottom * height, 1.0, "plate")
    decode_ms = quick_cpu_ms(lambda: decode_image(data), repeat)
    detect_ms = quick_cpu_ms(lambda: detector.detect(pixels), repeat)
    read_ms = quick_cpu_ms(lambda: reader.read_plates(pixels, [box]), repeat)
    sys.stdout.write(
        f"{runtime:12} {width}x{height}  decode {decode_ms:.1f}  detect {detect_ms:.1f}  "
        f"read a plate {read_ms:.1f} ms  load {load_seconds:.1f} s  {resident_mib():.0f} MiB\n"
    )


def main() -> None:
    """Measure both runtimes, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image", type=Path)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--size", type=int)
    parser.add_argument("--runtime", type=RuntimeName)
    arguments = parser.parse_args()
    if arguments.runtime is not None:
        measure(arguments.image, arguments.runtime, arguments.size, arguments.repeat)
        return
    for runtime in RuntimeName:
        command = [
            sys.executable,
            "-m",
            "tools.benchmarks.engine",
            *sys.argv[1:],
            "--runtime",
            runtime,
        ]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
