"""Records when each pass reaches each stage, from its last frame to the row in the API's list."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kafka import KafkaConsumer, TopicPartition

from analytics_sql.client import connect_for_schema
from common.kafka.clients import consumer_options, topic_name
from common.records.codec import decode
from common.records.recognitions import FrameReadings, Recognition
from common.records.topics import READINGS, RECOGNITIONS
from common.settings import ClickHouseSettings, KafkaSettings
from tools.benchmarks.stack import BenchmarkStack

STAGES: Final = (
    "last frame read (decode, sample, Kafka, detect, read)",
    "end of the pass (a setting: 2 s)",
    "recognition on its topic (vote, 2 images to S3, Kafka)",
    "row in ClickHouse (batch, insert)",
    "listed by the API (polled every 200 ms)",
    "all: last frame with the plate → listed",
)
_END_MS: Final = 2_000
_POLL_SECONDS: Final = 0.2


@dataclass
class PassMonitor:
    """Records the passes of all cameras. Times are in Unix ms."""

    read_ms: dict[UUID, dict[int, int]] = field(default_factory=dict)
    """For each camera, the publication times of readings, by capture time of the frame or tick."""
    recognized: dict[str, tuple[Recognition, int]] = field(default_factory=dict)
    listed_ms: dict[str, int] = field(default_factory=dict)

    def stages_ms(self, ingested_ms: dict[str, int]) -> Iterator[list[int]]:
        """Yield the duration of each of :data:`STAGES` in ms, for each listed recognition."""
        for identifier, (recognition, published_ms) in self.recognized.items():
            read_ms, last_ms = self.read_ms[recognition.camera_id], recognition.last_seen_ms
            listed_ms = self.listed_ms.get(identifier)
            ended = [at for captured, at in read_ms.items() if captured >= last_ms + _END_MS]
            if listed_ms is None or not ended or last_ms not in read_ms:
                continue
            times = [last_ms, read_ms[last_ms], min(ended), published_ms]
            times += [ingested_ms[identifier], listed_ms]
            steps = [after - before for before, after in zip(times, times[1:], strict=False)]
            yield [*steps, listed_ms - last_ms]


@contextmanager
def monitoring(stack: BenchmarkStack) -> Iterator[PassMonitor]:
    """Yield a monitor that records published and listed recognitions while the block runs."""
    monitor, ended = PassMonitor(), threading.Event()
    threads = [
        threading.Thread(target=_read_topics, args=(stack.settings(KafkaSettings), monitor, ended)),
        threading.Thread(target=_poll_list, args=(stack, monitor, ended)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield monitor
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _read_topics(kafka: KafkaSettings, monitor: PassMonitor, ended: threading.Event) -> None:
    readings, recognitions = topic_name(kafka, READINGS), topic_name(kafka, RECOGNITIONS)
    consumer = KafkaConsumer(**consumer_options(kafka, "watch"))
    partitions = range(kafka.kafka_partitions)
    consumer.assign([TopicPartition(t, p) for t in (readings, recognitions) for p in partitions])
    while not ended.is_set():
        for partition, records in consumer.poll(timeout_ms=50).items():
            for record in records:
                if partition.topic == readings:
                    frame = decode(FrameReadings, record.value)
                    camera = monitor.read_ms.setdefault(frame.camera_id, {})
                    camera[frame.captured_ms] = record.timestamp
                else:
                    found = decode(Recognition, record.value)
                    monitor.recognized[str(found.id)] = (found, record.timestamp)
    consumer.close()


def _poll_list(stack: BenchmarkStack, monitor: PassMonitor, ended: threading.Event) -> None:
    while not ended.wait(_POLL_SECONDS):
        page = stack.call("GET", "/api/recognitions", params={"limit": "100"})
        for one in page["recognitions"]:
            monitor.listed_ms.setdefault(one["id"], round(time.time() * 1000))


def ingested(stack: BenchmarkStack) -> dict[str, int]:
    """Return the time at which ClickHouse stored each recognition, in Unix ms."""
    settings = stack.settings(ClickHouseSettings)
    client = connect_for_schema(settings)
    table = f"{settings.clickhouse_database}.recognitions"
    result = client.query(f"SELECT toString(id), toUnixTimestamp64Milli(ingested_at) FROM {table}")
    client.close()
    return {str(identifier): int(at_ms) for identifier, at_ms in result.result_rows}
