"""Measures how long after a vehicle's last frame its recognition is on the topic.

    python -m tools.benchmarks.pass_latency [--cameras 2] [--passes 10] [--fps 5]

Drawn cars drive past cameras in real time, one after the other; between them the cameras send a
tick a second, as ingest does. Kafka, S3 and the stage are started for it.
"""

import argparse
import statistics
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID, uuid4

from common.settings import KafkaSettings
from common.timestamps import now_ms
from tests.integration.streams.recognition.cameras import Cameras, Outcome
from tests.integration.streams.recognition.scenes import PLATES, Parked, car_scene, jpeg
from tools.benchmarks.recognition_stage import running_servers, running_stage

_DRIVE_SECONDS = 2.0
_QUIET_SECONDS = 4.0
_TICK_SECONDS = 1.0
_WARM_UP_SECONDS = 90.0


def drive(kafka: KafkaSettings, camera: UUID, fps: float, passes: int) -> None:
    """Send one camera's frames and ticks as they happen."""
    cameras = Cameras(kafka)
    count = round(_DRIVE_SECONDS * fps)
    pictures = {
        plate: [jpeg(car_scene([Parked(plate, 400 + 40 * n)], seed=n)) for n in range(count)]
        for plate in PLATES
    }
    for number in range(passes):
        for picture in pictures[PLATES[number % len(PLATES)]]:
            cameras.send(camera, now_ms(), picture)
            time.sleep(1 / fps)
        for _ in range(round(_QUIET_SECONDS / _TICK_SECONDS)):
            time.sleep(_TICK_SECONDS)
            cameras.tick(camera, now_ms())
    cameras.close()


def warm_up(kafka: KafkaSettings, outcome: Outcome) -> None:
    """Wait until the stage reads frames."""
    cameras = Cameras(kafka)
    cameras.tick(uuid4(), now_ms())
    outcome.until("the stage's start", lambda: bool(outcome.readings), _WARM_UP_SECONDS)
    cameras.close()


def quantiles(seconds: list[float]) -> str:
    """Return median, 95th percentile and maximum as text."""
    parts = statistics.quantiles(seconds, n=20, method="inclusive")
    return f"p50 {parts[9]:.2f}  p95 {parts[18]:.2f}  max {max(seconds):.2f} s"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cameras", type=int, default=2)
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--fps", type=float, default=5.0)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="platestream-bench-") as name:
        folder = Path(name)
        with running_servers(folder) as servers, running_stage(servers, folder):
            outcome = Outcome(servers.kafka, folder)
            warm_up(servers.kafka, outcome)
            threads = [
                threading.Thread(
                    target=drive,
                    args=(servers.kafka, uuid4(), arguments.fps, arguments.passes),
                )
                for _ in range(arguments.cameras)
            ]
            for thread in threads:
                thread.start()
            expected = arguments.cameras * min(arguments.passes, len(PLATES))
            outcome.until("all passes", lambda: len(outcome.recognitions) >= expected, 600)
            for thread in threads:
                thread.join()
    waits = [
        (at_ms - found.last_seen_ms) / 1000
        for at_ms, found in zip(outcome.recognized_at_ms, outcome.recognitions, strict=True)
    ]
    print(f"{len(waits)} passes, last frame with the plate -> recognition on the topic")
    print(quantiles(waits))


if __name__ == "__main__":
    main()
