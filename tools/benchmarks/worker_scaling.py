"""Whether several workers of the recognition stage do as much for each second of processor as one.

    python -m tools.benchmarks.worker_scaling VIDEO [--workers 1,2,4] [--frames 400] [--rounds 2]

Each worker is a process of the stage with one recogniser process, all in one consumer group over
four partitions; the same frames of eight cameras are sent once all have joined. Counted is what the
workers and their children take from the first tenth of the readings to the last one. So the figure
does not depend on how many cores there are; the frames a second, printed beside, do. The cameras of
a partition go to one worker: eight seldom lie evenly on four.
"""

import argparse
import statistics
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError

from common.kafka.clients import client_options, consumer_options, group_name, topic_name
from common.records.topics import READINGS
from common.settings import KafkaSettings
from tests.waiting import wait_until
from tools.benchmarks.cameras import cpu_seconds
from tools.benchmarks.recognition_stage import running_servers, running_stage
from tools.benchmarks.stream_throughput import frames_of, send_frames

_CLIENT: Final = "bench"
_STAGE: Final = "recognition"
_PATIENCE_SECONDS: Final = 180.0
_WARM_UP_SHARE: Final = 0.1
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Scaling:
    """Frames that a number of workers read for a second of processor, and of the clock."""

    per_core_second: float
    per_second: float


def wait_for_members(kafka: KafkaSettings, workers: int) -> None:
    """Return once the group is stable with as many members."""
    group = group_name(kafka, _STAGE)
    with closing(KafkaAdminClient(**client_options(kafka, _CLIENT))) as admin:

        def are_there() -> bool:
            try:
                found = admin.describe_groups([group])[group]
            except (CoordinatorLoadInProgressError, CoordinatorNotAvailableError):
                return False  # A broker that was just started does not know its groups at once.
            return found["group_state"] == "Stable" and len(found["members"]) == workers

        wait_until(f"{workers} members", are_there, _PATIENCE_SECONDS, _LOOK_SECONDS)


def wait_for_readings(kafka: KafkaSettings, wanted: int) -> float:
    """Return when there were as many readings, in seconds of the performance counter."""
    topic = topic_name(kafka, READINGS)
    parts = [TopicPartition(topic, number) for number in range(kafka.kafka_partitions)]
    with closing(KafkaConsumer(**consumer_options(kafka, _CLIENT))) as consumer:
        wait_until(
            f"{wanted} readings",
            lambda: sum(consumer.end_offsets(parts).values()) >= wanted,
            _PATIENCE_SECONDS,
            _LOOK_SECONDS,
        )
    return time.perf_counter()


def measure(frames: list[bytes], workers: int, count: int) -> Scaling:
    """Return what a number of workers does with so many frames."""
    with TemporaryDirectory(prefix="platestream-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        servers = stack.enter_context(running_servers(folder))
        pids = [
            stack.enter_context(
                running_stage(
                    servers,
                    folder / str(number),
                    RECOGNITION_WORKERS="1",
                    RECOGNITION_METRICS_PORT="0",
                )
            )
            for number in range(workers)
        ]
        wait_for_members(servers.kafka, workers)
        send_frames(servers.kafka, frames, count)
        first = round(count * _WARM_UP_SHARE)
        started = wait_for_readings(servers.kafka, first)
        before = sum(map(cpu_seconds, pids))
        ended = wait_for_readings(servers.kafka, count)
        taken = sum(map(cpu_seconds, pids)) - before
    return Scaling((count - first) / taken, (count - first) / (ended - started))


def main() -> None:
    """Measure each number of workers in turn and print them against one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--frames", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    numbers = [int(one) for one in arguments.workers.split(",")]
    frames = frames_of(arguments.video)
    found: dict[int, list[Scaling]] = {number: [] for number in numbers}
    for _ in range(arguments.rounds):
        for number in numbers:
            one = measure(frames, number, arguments.frames)
            found[number].append(one)
            print(
                f"{number} workers: {one.per_core_second:.2f} frames a core-second,"
                f" {one.per_second:.2f} frames/s, load {psutil.getloadavg()[0]:.1f}",
                flush=True,
            )
    base = statistics.median(one.per_core_second for one in found[numbers[0]])
    for number, rounds in found.items():
        share = statistics.median(one.per_core_second for one in rounds) / base
        print(f"{number} workers: {share:.2f} of linear, by processor time")


if __name__ == "__main__":
    main()
