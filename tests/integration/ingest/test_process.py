"""The ingest process: its health pages, and how it exits if it cannot work."""

import json
import urllib.request
from pathlib import Path

import pytest

from deploy.local.ports import free_ports
from deploy.local.servers.base import python_module
from tests.integration.ingest.http_cameras import closed_port
from tests.integration.ingest.worker import CameraConfigs, IngestWorker, Outbox, World

pytestmark = pytest.mark.integration


def test_metrics_and_health_are_served_on_a_local_port(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    (port,) = free_ports(1)
    camera = configs.add(f"file://{moving_clip}").camera_id
    with IngestWorker(world, metrics_port=str(port)):
        outbox.until(lambda: len(outbox.frames_of(camera)) >= 10)
        metrics = _get(port, "/metrics")
        health = _get(port, "/healthz")

    values = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    assert health == "ok\n"
    assert float(values["platestream_ingest_frames_sent_total"]) >= 10
    assert float(values['platestream_ingest_cameras{state="online"}']) == 1
    of_it = f'camera="{camera}"'
    assert values[f'platestream_ingest_camera_state{{{of_it},state="online"}}'] == "1.0"
    assert float(values[f"platestream_ingest_camera_frame_age_seconds{{{of_it}}}"]) < 60


@pytest.mark.parametrize(
    ("setting", "value", "status", "event"),
    [
        ("kafka_bootstrap_servers", f"127.0.0.1:{closed_port()}", 69, "kafka_unavailable"),
        ("secret_key", "not-a-key", 78, "misconfigured"),
    ],
    ids=["no Kafka", "no key"],
)
def test_a_worker_that_cannot_work_ends_and_says_why(
    world: World, setting: str, value: str, status: int, event: str
) -> None:
    worker = IngestWorker(world, **{setting: value})
    worker.start()

    assert worker.wait(30) == status
    last = json.loads(worker.tail().splitlines()[-1])
    assert last["event"] == event
    assert "not-a-key" not in worker.tail()


def test_a_worker_whose_clock_is_set_back_by_an_hour_ends_to_begin_again(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    set_back = world.directory / "set-back"
    command = python_module("tests.integration.ingest.set_back_worker", str(set_back))
    camera = configs.add(f"file://{moving_clip}").camera_id
    worker = IngestWorker(world, "one", command)
    worker.start()
    outbox.until(lambda: len(outbox.frames_of(camera)) >= 5)

    set_back.touch()

    assert worker.wait(10) == 75
    events = [json.loads(line)["event"] for line in worker.tail().splitlines()]
    assert "clock_moved_back" in events
    assert events[-1] == "worker_stopped"


def _get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return str(answer.read().decode())
