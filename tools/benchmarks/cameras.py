"""Measures the cost of a camera, and the time from the last frame of a vehicle to the listed row.

Command: ``python -m tools.benchmarks.cameras [CLIP ...] [--count 1] [--still 0] [--seconds 95]``.
Plays each clip on a new stack from ``--count`` cameras over HTTP, in a loop in real time, next to
``--still`` cameras with ``quiet``. ``road`` is the demo clip, ``quiet`` its first frame with sensor
noise, and ``none`` no camera. Other names are files. Prints cores per camera and memory of every
process (with its children), the counters of ingest and recognition, the time of each stage from the
last frame with a plate to the API's list and, for each ``road``, which passes of the first loop
were recognised.
"""

import argparse
import platform
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

import av
import numpy as np
import psutil

from deploy.local.camera import DEMO_CLIP
from tools.benchmarks.demo_clip import FRAMES_PER_SECOND, demo_scene
from tools.benchmarks.http_camera import running_camera
from tools.benchmarks.pass_monitor import STAGES, PassMonitor, ingested, monitoring
from tools.benchmarks.stack import (
    BenchmarkStack,
    cpu_seconds,
    memory_mib,
    print_table,
    running_stack,
    spread,
)

_WARM_UP_SECONDS: Final = 15.0
_END_SECONDS: Final = 20.0
"""Time after which all open passes have ended and are listed."""

_QUIET_SECONDS: Final = 20
_NOISE_LEVELS: Final = 2.5
"""Standard deviation of a pixel's brightness between frames (0 to 255), as in a daytime camera."""

_COUNTERS: Final = (
    "platestream_ingest_frames_",
    "platestream_ingest_connections_lost",
    "platestream_recognition_frames_total",
)


def _counters(ports: tuple[int, ...]) -> Counter[str]:
    found: Counter[str] = Counter()
    for port in ports:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            for line in answer.read().decode().splitlines():
                name, _, value = line.rpartition(" ")
                if name.startswith(_COUNTERS) and "_created" not in name:
                    found[name.removeprefix("platestream_")] += round(float(value))
    return found


def _cpu(stack: BenchmarkStack) -> dict[str, float]:
    return {name: cpu_seconds(pid) for name, pid in stack.pids().items()}


def print_costs(stack: BenchmarkStack, ports: tuple[int, ...], count: int, seconds: float) -> None:
    """Measure for ``seconds``, and print each process's CPU and memory usage, and the counters."""
    cpu, counters, began = _cpu(stack), _counters(ports), time.monotonic()
    time.sleep(seconds)
    took, after = time.monotonic() - began, _cpu(stack)
    used = {name: (after[name] - cpu.get(name, 0.0)) / took for name in after}
    memory = {name: memory_mib(pid) for name, pid in stack.pids().items()}
    cameras = max(1, count)
    print_table("process", "cores per camera", "MiB")
    for name, cores in sorted(used.items(), key=lambda item: -item[1]):
        print(f"| {name} | {cores / cameras:.3f} | {memory.get(name, 0.0):.0f} |")
    print(f"| all | {sum(used.values()) / cameras:.3f} | {sum(memory.values()):.0f} |\n")
    for name, value in sorted((_counters(ports) - counters).items()):
        print(f"{name} {value} ({value / cameras / took:.2f} per second per camera)")


def print_stages(monitor: PassMonitor, ingested_ms: dict[str, int]) -> None:
    """Print how long recognitions take in each stage."""
    lines = list(monitor.stages_ms(ingested_ms))
    if len(lines) < 2:
        return
    print_table(f"stage, {len(lines)} recognitions", "p50 ms", "p95 ms", "max ms")
    for name, took_ms in zip(STAGES, zip(*lines, strict=True), strict=True):
        print(f"| {name} | {spread(took_ms)} |")


def print_passes(monitor: PassMonitor, camera: UUID, seconds: float) -> None:
    """Compare the recognitions of the first loop with the true passes in the demo clip."""
    scene = demo_scene()
    begin_ms = min(monitor.read_ms[camera])
    end_ms = begin_ms + 1000 * min(scene.duration_s, seconds)
    reported = Counter(
        found.plate
        for found, _ in monitor.recognized.values()
        if found.camera_id == camera and found.last_seen_ms < end_ms
    )
    # Passes that end in the last second may be missing.
    true = {one.plate for one in scene.passes if one.last_visible_s < seconds - 1}
    right = [plate for plate in true if reported[plate] == 1]
    other = reported.keys() - {one.plate for one in scene.passes}
    doubled = sum(count > 1 for count in reported.values())
    print(f"\npasses: {len(right)} of {len(true)} once, {doubled} twice, {len(other)} wrong")


def write_quiet_clip(path: Path) -> None:
    """Write the first demo frame with noise, as H.264 with a key frame every two seconds."""
    with av.open(str(DEMO_CLIP)) as source:
        first = next(source.decode(video=0)).to_ndarray(format="yuv420p").astype(np.int16)
    height, width = first.shape[0] * 2 // 3, first.shape[1]
    rng = np.random.default_rng(7)
    noise = np.rint(rng.normal(0, _NOISE_LEVELS, (height, width))).astype(np.int16)
    with av.open(str(path), "w", format="mp4") as container:
        options = {"preset": "superfast", "tune": "zerolatency", "crf": "25", "g": "50"}
        stream = container.add_stream("libx264", rate=FRAMES_PER_SECOND, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(_QUIET_SECONDS * FRAMES_PER_SECOND):
            noisy = first.copy()
            noisy[:height] += np.roll(noise, rng.integers(0, (height, width)), axis=(0, 1))
            pixels = np.clip(noisy, 16, 235).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, FRAMES_PER_SECOND)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def measure(name: str, clips: Sequence[Path], seconds: float) -> None:
    """Play one clip per camera on a new stack, and print the results."""
    load = psutil.getloadavg()[0]
    print(f"\n{name}, {len(clips)} cameras, {seconds:g} s, load {load:.1f}", flush=True)
    with ExitStack() as exits:
        stack = exits.enter_context(running_stack())
        monitor = exits.enter_context(monitoring(stack))
        urls = [exits.enter_context(running_camera(clip)) for clip in clips]
        cameras = [stack.create_camera(url, f"{name} {n}") for n, url in enumerate(urls)]
        time.sleep(_WARM_UP_SECONDS)
        ports = (stack.metrics_port("ingest"), stack.metrics_port("recognition"))
        print_costs(stack, ports, len(cameras), seconds)
        time.sleep(_END_SECONDS)
        print_stages(monitor, ingested(stack))
        for camera, clip in zip(cameras, clips, strict=True):
            if clip == DEMO_CLIP:
                print_passes(monitor, camera, _WARM_UP_SECONDS + seconds)


def main() -> None:
    """Measure each clip in the arguments on a new stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="*", default=["none", "quiet", "road"])
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--still", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=95.0)
    arguments = parser.parse_args()
    print(f"{platform.platform()}, {psutil.cpu_count()} cores")
    with TemporaryDirectory(prefix="platestream-bench-") as folder:
        quiet = Path(folder) / "quiet.mp4"
        write_quiet_clip(quiet)
        known = {"none": None, "quiet": quiet, "road": DEMO_CLIP}
        for name in arguments.clips:
            clip = known.get(name, Path(name))
            clips = [clip] * arguments.count if clip else []
            measure(name, clips + [quiet] * arguments.still, arguments.seconds)


if __name__ == "__main__":
    main()
