"""Capture continues during a Kafka outage, and everything recovers.

The tests have no open clients during the outage: kafka-python 3.0.12 leaves the sockets of refused
connections to the garbage collector, which causes warnings.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import pytest

from common.kafka.clients import create_topics
from common.records.cameras import CameraState
from common.settings import S3Settings
from deploy.local.servers.kafka import KafkaServer
from tests.integration.ingest.worker import (
    CameraConfigs,
    IngestWorker,
    Outbox,
    World,
    changed,
)
from tests.services.kafka import fresh_kafka_settings, kafka_process
from tests.services.process import ServerProcess

pytestmark = pytest.mark.integration


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ServerProcess]:
    with kafka_process(tmp_path / "broker") as process:
        yield process


@pytest.fixture
def world(broker: ServerProcess, s3_settings: S3Settings, tmp_path: Path) -> World:
    assert isinstance(broker.server, KafkaServer)
    kafka = fresh_kafka_settings(broker.server.bootstrap_servers)
    create_topics(kafka)
    return World(kafka, s3_settings, tmp_path)


@pytest.mark.long
def test_frames_of_an_outage_that_the_buffer_holds_arrive_late_and_whole(
    broker: ServerProcess, world: World, moving_clip: Path
) -> None:
    with IngestWorker(world):
        with closing(CameraConfigs(world.kafka)) as configs, closing(Outbox(world)) as outbox:
            config = configs.add(f"file://{moving_clip}")
            camera = config.camera_id
            outbox.until(lambda: len(outbox.frames_of(camera)) >= 10)
            before = len(outbox.frames_of(camera))
        broker.kill()
        broker.start()
        with closing(CameraConfigs(world.kafka)) as configs, closing(Outbox(world)) as outbox:
            outbox.until(lambda: len(outbox.frames_of(camera)) >= before + 50, seconds=60)
            configs.write(changed(config, name="after"))
            outbox.until(lambda: outbox.frames[-1].meta.camera_name == "after", seconds=60)
            # The worker rejoins its group, so the camera restarts. Status and frames use separate
            # topics.
            outbox.until(lambda: outbox.state(camera) is CameraState.ONLINE)
            times = sorted({frame.meta.captured_ms for frame in outbox.frames_of(camera)})

    gaps = [b - a for a, b in zip(times, times[1:], strict=False)]
    assert max(gaps) < 1000


@pytest.mark.long
def test_a_frozen_broker_costs_frames_not_memory(
    broker: ServerProcess, world: World, moving_clip: Path
) -> None:
    # Frames of about 70 kB, at 100 per second, fill the smallest buffer within two seconds.
    settings = {
        "ingest.frames.producer.BUFFER_BYTES": "8388608",
        "ingest.app.JPEG_QUALITY": "100",
        "ingest_sample_fps": "25",
    }
    with IngestWorker(world, **settings) as worker:
        with closing(CameraConfigs(world.kafka)) as configs, closing(Outbox(world)) as outbox:
            cameras = [configs.add(f"file://{moving_clip}").camera_id for _ in range(4)]
            outbox.until(lambda: all(len(outbox.frames_of(c)) >= 25 for c in cameras))
            before = {camera: len(outbox.frames_of(camera)) for camera in cameras}
        broker.pause()
        try:
            # The buffer fills up to some 15 MB, including the copy being sent. After that, frames
            # must not take memory; storing them would take 7 MB per second.
            grown_bytes = _peak_growth_bytes(worker.pid, seconds=27)
        finally:
            broker.resume()
        with closing(Outbox(world)) as outbox:
            outbox.until(
                lambda: all(len(outbox.frames_of(c)) >= before[c] + 200 for c in cameras),
                seconds=90,
            )

    assert grown_bytes < 50 * 1024 * 1024
    for camera in cameras:
        times = [frame.meta.captured_ms for frame in outbox.all_of(camera)]
        assert times == sorted(times)


def _peak_growth_bytes(pid: int, *, seconds: float) -> int:
    begin, deadline, peak = _resident_bytes(pid), monotonic() + seconds, 0
    while monotonic() < deadline:
        peak = max(peak, _resident_bytes(pid) - begin)
        sleep(0.2)
    return peak


def _resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096
