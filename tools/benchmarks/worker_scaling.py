"""What a frame costs in processor time with one, two and four workers of the recognition stage.

    python -m tools.benchmarks.worker_scaling VIDEO [--frames 240] [--workers 1,2,4]

Each worker has one recogniser process; Kafka and S3 are started for it. What workers would read on
as many processors as they need follows from the processor time of a frame, whatever else runs: the
share of linear is that of one worker divided by that of several.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tools.benchmarks.recognition_stage import running_servers, running_stage
from tools.benchmarks.stream_throughput import frames_of, reading_times, send_frames

_WARM_UP_FRAMES = 64


def processor_seconds(pids: list[int]) -> float:
    """Return what processes and all below them have used so far, user and system."""
    total = 0.0
    for pid in pids:
        main = psutil.Process(pid)
        for process in (main, *main.children(recursive=True)):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def seconds_a_frame(frames: list[bytes], workers: int, count: int) -> float:
    """Return the processor time of a frame, past the workers' start (s)."""
    with TemporaryDirectory(prefix="platestream-bench-") as name, ExitStack() as running:
        folder = Path(name)
        servers = running.enter_context(running_servers(folder))
        stages = [
            running_stage(servers, folder / str(number), RECOGNITION_WORKERS="1")
            for number in range(workers)
        ]
        pids = [running.enter_context(stage) for stage in stages]
        send_frames(servers.kafka, frames, _WARM_UP_FRAMES * workers)
        reading_times(servers.kafka, _WARM_UP_FRAMES * workers)
        before = processor_seconds(pids)
        send_frames(servers.kafka, frames, count)
        reading_times(servers.kafka, _WARM_UP_FRAMES * workers + count)
        return (processor_seconds(pids) - before) / count


def main() -> None:
    """Measure each number of workers in turn and print the shares of linear."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("--frames", type=int, default=240)
    parser.add_argument("--workers", default="1,2,4")
    arguments = parser.parse_args()
    frames = frames_of(arguments.video)
    one: float | None = None
    for workers in map(int, arguments.workers.split(",")):
        cost = seconds_a_frame(frames, workers, arguments.frames)
        one = one or cost
        print(
            f"{workers} workers: {1000 * cost:.1f} ms of processor time a frame, "
            f"{workers * one / cost:.2f} times one ({one / cost:.2f} of linear)",
            flush=True,
        )


if __name__ == "__main__":
    main()
