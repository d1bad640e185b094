"""Plays clips through RTSP into the whole stack: what comes out of the API, and how soon.

    python -m tools.benchmarks.whole_way [--demo] [--clips FOLDER] [--fps 5]

``--demo`` plays the road scene of ``make run``; ``--clips`` each ``*.mp4`` of a folder,
with ``passes.jsonl`` beside them (see :mod:`tools.benchmarks.clips`). Each clip plays once, in real
time, on a stack with ports and folders of its own. For each recognition it takes the time from the
capture of the last frame with the plate to the first API answer that lists it, stage by stage.
"""

import argparse
import statistics
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import msgspec
from kafka import KafkaConsumer, TopicPartition

from analytics_sql.client import connect_for_schema
from common.kafka.clients import consumer_options, topic_name
from common.records.codec import decode
from common.records.recognitions import FrameReadings, Recognition
from common.records.topics import READINGS, RECOGNITIONS
from common.settings import ClickHouseSettings, KafkaSettings
from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH
from tests.e2e.api_client import ApiClient
from tests.services.rtsp import RtspCamera
from tests.services.stack import RunningStack
from tools.benchmarks.clips import TruePass, true_passes
from tools.synthetic.scene import SceneTruth
from tools.synthetic.score import score_passes

_POLL_SECONDS = 0.03
_STAGES = (
    "last frame read (decode, sample, Kafka, detect, read)",
    "vehicle seen to be gone (track end, 2 s by setting)",
    "recognition on its topic (vote, 2 images to S3, Kafka)",
    "row in ClickHouse (batch, insert)",
    "listed by the API (polled each 30 ms)",
)


@dataclass
class Watch:
    """When each step of a camera's passes happened, Unix ms."""

    read_ms: dict[int, int] = field(default_factory=dict)
    """Capture time of a frame -> when its readings were published."""
    seen_gone_ms: list[tuple[int, int]] = field(default_factory=list)
    """Capture time of a frame or tick, and when its readings were published, in order."""
    recognized: dict[str, tuple[Recognition, int]] = field(default_factory=dict)
    listed_ms: dict[str, int] = field(default_factory=dict)


class TopicWatcher(threading.Thread):
    """Notes Kafka's time of every record on [readings] and [recognitions]."""

    def __init__(self, kafka: KafkaSettings) -> None:
        """Connect; everything published from now on is noted."""
        super().__init__(daemon=True)
        self._readings = topic_name(kafka, READINGS)
        self._topics = [self._readings, topic_name(kafka, RECOGNITIONS)]
        self._consumer = KafkaConsumer(**consumer_options(kafka, "whole-way"))
        self._consumer.assign(
            [TopicPartition(t, p) for t in self._topics for p in range(kafka.kafka_partitions)]
        )
        self._ended = threading.Event()
        self._watches: dict[UUID, Watch] = {}

    def watch(self, camera: str) -> Watch:
        """Return what is and will be known of a camera."""
        return self._watches.setdefault(UUID(camera), Watch())

    def run(self) -> None:
        """Read until :meth:`end`."""
        while not self._ended.is_set():
            for partition, records in self._consumer.poll(timeout_ms=50).items():
                for record in records:
                    self._note(partition.topic, record.value, record.timestamp)
        self._consumer.close()

    def end(self) -> None:
        """Stop and disconnect."""
        self._ended.set()
        self.join()

    def _note(self, topic: str, value: bytes, at_ms: int) -> None:
        if topic == self._readings:
            readings = decode(FrameReadings, value)
            watch = self.watch(str(readings.camera_id))
            watch.read_ms[readings.captured_ms] = at_ms
            watch.seen_gone_ms.append((readings.captured_ms, at_ms))
        else:
            recognition = decode(Recognition, value)
            watch = self.watch(str(recognition.camera_id))
            watch.recognized[str(recognition.id)] = (recognition, at_ms)


def play(stack: RunningStack, api: ApiClient, watcher: TopicWatcher, clip: Path) -> Watch:
    """Play one clip to its end through RTSP; return when everything happened."""
    with RtspCamera(clip, once=True) as source:
        camera = api.create_camera(source.url, name=clip.stem)
        watch = watcher.watch(camera)
        ended = threading.Event()
        poller = threading.Thread(target=_poll, args=(api, camera, watch, ended))
        poller.start()
        source.wait_until_ended(seconds=600)
        api.wait_until("it is over", lambda: api.camera(camera)["status"] != "online", seconds=60)
        # Whatever is open ends by ticks: the longest wait of tracking, then the way to the row.
        time.sleep(8)
        ended.set()
        poller.join()
    api.call("DELETE", f"/api/cameras/{camera}")
    return watch


def _poll(api: ApiClient, camera: str, watch: Watch, ended: threading.Event) -> None:
    while not ended.wait(_POLL_SECONDS):
        query = {"cameraId": camera, "limit": "10"}
        for one in api.call("GET", "/api/recognitions", params=query).json()["recognitions"]:
            watch.listed_ms.setdefault(one["id"], round(time.time() * 1000))


def stages_of(watch: Watch, ingested_ms: dict[str, int], end_ms: int = 2_000) -> list[list[int]]:
    """Return, for each listed recognition, the milliseconds of each stage, then their sum."""
    lines: list[list[int]] = []
    for identifier, (recognition, published_ms) in watch.recognized.items():
        last_ms = recognition.last_seen_ms
        listed_ms = watch.listed_ms.get(identifier)
        gone = [at for captured, at in watch.seen_gone_ms if captured >= last_ms + end_ms]
        if listed_ms is None or not gone or last_ms not in watch.read_ms:
            continue
        moments = [last_ms, watch.read_ms[last_ms], gone[0], published_ms]
        moments += [ingested_ms[identifier], listed_ms]
        steps = [after - before for before, after in zip(moments, moments[1:], strict=False)]
        lines.append([*steps, listed_ms - last_ms])
    return lines


def ingested(stack: RunningStack) -> dict[str, int]:
    """Return when ClickHouse took each recognition, Unix ms."""
    settings = stack.settings(ClickHouseSettings)
    client = connect_for_schema(settings)
    table = f"{settings.clickhouse_database}.recognitions"
    result = client.query(f"SELECT toString(id), toUnixTimestamp64Milli(ingested_at) FROM {table}")
    client.close()
    return {str(identifier): int(at_ms) for identifier, at_ms in result.result_rows}


def report(name: str, watch: Watch, true_plates: Iterable[str]) -> None:
    """Print what came out of one clip."""
    found = [recognition for recognition, _ in watch.recognized.values()]
    listed = [r for r in found if str(r.id) in watch.listed_ms]
    print(f"\n{name}: {score_passes(true_plates, [r.plate for r in listed])}")
    first_ms = min(watch.read_ms, default=0)
    for one in found:
        times = f"{(one.first_seen_ms - first_ms) / 1000:6.2f}-"
        times += f"{(one.last_seen_ms - first_ms) / 1000:6.2f} s"
        print(f"  {one.plate:10} {one.confidence:.3f}  {times}  {one.readings_count:3} readings")


def print_stages(lines: list[list[int]]) -> None:
    """Print the table of times."""
    if len(lines) < 2:
        return
    print(f"\n{len(lines)} recognitions; ms\n| stage | p50 | p95 | max |\n|---|---|---|---|")
    for number, name in enumerate((*_STAGES, "all: last frame with the plate -> listed")):
        took = sorted(line[number] for line in lines)
        parts = statistics.quantiles(took, n=20, method="inclusive")
        print(f"| {name} | {parts[9]:.0f} | {parts[18]:.0f} | {took[-1]} |")


def _clips(arguments: argparse.Namespace) -> Iterable[tuple[Path, list[str]]]:
    if arguments.demo:
        truth = msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=SceneTruth)
        yield DEMO_CLIP, [one.plate for one in truth.passes]
    if arguments.clips:
        passes: list[TruePass] = true_passes(arguments.clips)
        for path in sorted(arguments.clips.glob("*.mp4")):
            yield path, [p.plate for p in passes if p.clip == path.name and p.readable]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--clips", type=Path)
    parser.add_argument("--fps", type=float, default=5.0)
    arguments = parser.parse_args()
    settings = {
        "INGEST_SAMPLE_FPS": str(arguments.fps),
        "RATE_LIMIT_PER_MINUTE": "0",
        # The clips that are measured lie anywhere.
        "CAMERA_FILES_FOLDER": "/",
    }
    with TemporaryDirectory(prefix="platestream-bench-") as name:
        folder = Path(name)
        clips = list(_clips(arguments))
        with RunningStack(folder / "stack", settings) as stack:
            api = ApiClient(stack.access.base_url, stack.access.api_key)
            watcher = TopicWatcher(stack.settings(KafkaSettings))
            watcher.start()
            watches = [(path.name, play(stack, api, watcher, path), p) for path, p in clips]
            ingested_ms = ingested(stack)
            watcher.end()
            api.close()
    lines = [line for _, watch, _ in watches for line in stages_of(watch, ingested_ms)]
    for clip, watch, plates in watches:
        report(clip, watch, plates)
    print_stages(lines)


if __name__ == "__main__":
    main()
