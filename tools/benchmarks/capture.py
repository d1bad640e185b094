"""What the capture of a quiet camera costs, with and without a small stream for motion.

    python -m tools.benchmarks.capture [--seconds 60]

Four cameras over RTSP at the same time, each captured by a process of its own: a still scene with a
sensor's noise, 1080p25 H.264, with its frames in order and reordered (B-frames), each with and
without a second stream of 640 x 360 px and five frames a second. Printed: core-seconds for each
camera-second of the capture process, frames that were decoded of the main stream, frames sent.
"""

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from common.logs import LogFormat
from common.urls.streams import StreamUrlRules, parse_stream_url
from deploy.local.camera import DEMO_CLIP
from ingest.capture.messages import (
    CaptureLimits,
    Configure,
    Looked,
    LookSettings,
    MotionRules,
    ReaderSettings,
    Seen,
)
from ingest.errors import CaptureErrorCode
from ingest.processes.capture import Capture
from ingest.processes.pool import CapturePool
from ingest.processes.process import CaptureProcess
from tests.services.rtsp import RtspCamera
from tools.synthetic.quiet import generate_quiet_clip, generate_small_clip

_CLIP_SECONDS = 20.0
_WARM_UP_SECONDS = 45.0
_RULES = StreamUrlRules(allow_loopback=True)
_SETTINGS = Configure(
    reader=ReaderSettings(
        addresses=_RULES,
        limits=CaptureLimits(open_timeout_seconds=10, read_timeout_seconds=5, decoder_threads=1),
        reconnect_min_seconds=1,
        reconnect_max_seconds=60,
    ),
    look=LookSettings(
        motion=MotionRules(hold_seconds=3),
        jpeg_quality=80,
        max_width_px=0,
        snapshot_interval_seconds=5,
    ),
    memory_bytes=2 << 30,
    max_captures=1,
    log_level="warning",
    log_format=LogFormat.CONSOLE,
)


class Captured:
    """One camera in a process of its own, and what it reports."""

    def __init__(self, name: str, url: str, motion_url: str | None) -> None:
        self.name = name
        self.decoded = self.sent = 0
        self.faults: list[str] = []
        self._pid = 0
        self._pool = CapturePool(_SETTINGS, start=self._start)
        small = None if motion_url is None else parse_stream_url(motion_url, _RULES)
        capture = self._pool.capture(name, parse_stream_url(url, _RULES), 5, self, small)
        capture.start()

    def cpu_seconds(self) -> float:
        """Return the processor time of its process so far."""
        times = psutil.Process(self._pid).cpu_times()
        return float(times.user + times.system)

    def close(self) -> None:
        """End the process."""
        self._pool.close(5)

    def on_connected(self, capture: Capture) -> None:
        """Nothing is made of it."""

    def on_looked(self, capture: Capture, looked: Looked) -> None:
        """Count a frame in which something moves."""
        self.sent += looked.moves

    def on_seen(self, capture: Capture, seen: Seen) -> None:
        """Count what was decoded."""
        self.decoded += seen.decoded

    def on_left(self, capture: Capture, count: int) -> None:
        """Nothing is made of it."""

    def on_lost(self, capture: Capture, code: CaptureErrorCode) -> None:
        """Note it."""
        self.faults.append(code.name)

    def on_motion(self, capture: Capture, code: CaptureErrorCode | None) -> None:
        """Note it."""
        self.faults.append("motion stream: " + ("used" if code is None else code.name))

    def _start(self, *arguments: Any) -> CaptureProcess:
        process = CaptureProcess(*arguments)
        self._pid = process.pid
        return process


def measure(folder: Path, seconds: float) -> None:
    """Play, measure and print."""
    with ExitStack() as exits:
        cameras: list[Captured] = []
        for name, reordered in (("in order", 0), ("reordered", 2)):
            clip, small = folder / f"{name}.mp4", folder / f"{name}-small.mp4"
            generate_quiet_clip(clip, DEMO_CLIP, seconds=_CLIP_SECONDS, reordered=reordered)
            generate_small_clip(small, clip)
            for is_watched in (False, True):
                main = exits.enter_context(RtspCamera(clip))
                watch = exits.enter_context(RtspCamera(small)) if is_watched else None
                title = f"{name}, {'with' if watch else 'without'} a small stream"
                camera = Captured(title, main.url, watch.url if watch else None)
                exits.callback(camera.close)
                cameras.append(camera)
        time.sleep(_WARM_UP_SECONDS)
        before = [(one.cpu_seconds(), one.decoded, one.sent) for one in cameras]
        began = time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        for camera, (cpu, decoded, sent) in zip(cameras, before, strict=True):
            cores = (camera.cpu_seconds() - cpu) / took
            print(f"{camera.name:34} {cores:.4f} cores", end=", ")
            print(f"{(camera.decoded - decoded) / took:.2f} frames decoded a second", end=", ")
            print(f"{camera.sent - sent} sent {camera.faults or ''}")
    print(f"load {psutil.getloadavg()[0]:.1f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="platestream-bench-") as name:
        measure(Path(name), arguments.seconds)


if __name__ == "__main__":
    main()
