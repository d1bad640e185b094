"""Capture processes have no secrets, and a crash of one process barely affects the others."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import numpy as np
import psutil
import pytest

from common.records.cameras import CameraState
from deploy.local.servers.base import python_module
from ingest.errors import CaptureErrorCode
from ingest.processes.process import PROGRAM_MODULE
from tests.integration.ingest.worker import SECRET_KEY, CameraConfigs, IngestWorker, Outbox, World
from tests.services.families import running_below

pytestmark = pytest.mark.integration

PASSWORD = "hunter2"


def _crashing(world: World, **settings: str) -> IngestWorker:
    module, corrupt = "tests.integration.ingest.crashing_worker", world.directory / "corrupt-now"
    command = python_module("tests.services.tuned", module, str(corrupt))
    return IngestWorker(world, "one", command, **settings)


def _longest_gap_seconds(outbox: Outbox, camera_id: UUID) -> float:
    times = [frame.meta.captured_ms for frame in outbox.frames_of(camera_id)]
    return float(np.diff(times).max()) / 1000


def test_what_captures_holds_no_secret_and_the_worker_no_decoder(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    camera = configs.add(f"file://{moving_clip}").camera_id
    unreachable = configs.add(f"rtsp://user:{PASSWORD}@127.0.0.1:1/x").camera_id
    with IngestWorker(world) as worker:
        outbox.until(lambda: len(outbox.frames_of(camera)) >= 3)
        outbox.until(lambda: outbox.state(unreachable) is CameraState.OFFLINE)
        (pid,) = running_below(worker.pid, PROGRAM_MODULE)
        held = Path(f"/proc/{pid}/environ").read_text()
        command = " ".join(psutil.Process(pid).cmdline())
        limits = Path(f"/proc/{pid}/limits").read_text()
        libraries = Path(f"/proc/{worker.pid}/maps").read_text()

    assert SECRET_KEY not in held
    assert world.s3.s3_secret_key.get_secret_value() not in held
    assert "PLATESTREAM_" not in held
    assert PASSWORD not in held + command
    assert "Max core file size        0" in limits
    assert "unlimited" not in next(x for x in limits.splitlines() if x.startswith("Max address"))
    assert "libavcodec" not in libraries
    assert "cv2" not in libraries
    assert not psutil.pid_exists(pid)


@pytest.mark.long
def test_a_stream_that_crashes_its_process_harms_the_others_once_and_for_a_moment(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    good = [configs.add(f"file://{moving_clip}").camera_id for _ in range(2)]
    with _crashing(world) as worker:
        outbox.until(lambda: all(len(outbox.frames_of(camera)) >= 10 for camera in good))
        bad = configs.add(f"file://{world.directory}/abort.mp4").camera_id
        outbox.until(lambda: "camera_quarantined" in worker.log.read_text())
        begun = {camera: len(outbox.frames_of(camera)) for camera in good}
        # The camera is retried in a separate process.
        outbox.until(lambda: worker.log.read_text().count("camera_quarantined") >= 2, seconds=60)
        outbox.until(
            lambda: all(len(outbox.frames_of(c)) >= begun[c] + 40 for c in good), seconds=60
        )
        log = [json.loads(line) for line in worker.log.read_text().splitlines()]

    assert outbox.state(bad) is CameraState.OFFLINE
    assert outbox.statuses(bad)[-1].last_error == CaptureErrorCode.CRASH.value
    lost = [line for line in log if line["event"] == "capture_process_lost"]
    assert [line["captures"] for line in lost][:2] == [3, 1]
    assert {line["suspect"] for line in lost} == {f"camera-{bad}"}
    pauses = [line["seconds"] for line in log if line["event"] == "camera_quarantined"]
    assert pauses[1] > pauses[0]
    for camera in good:
        times = [frame.meta.captured_ms for frame in outbox.frames_of(camera)]
        assert sum(gap > 1000 for gap in np.diff(times)) <= 1
        assert _longest_gap_seconds(outbox, camera) <= 3
        assert CameraState.OFFLINE not in [each.state for each in outbox.statuses(camera)]


def test_cameras_share_a_process_up_to_a_limit_and_end_with_their_worker(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    cameras = [configs.add(f"file://{moving_clip}").camera_id for _ in range(3)]
    worker = IngestWorker(world, **{"ingest.app.CAMERAS_PER_PROCESS": "2"})
    worker.start()
    outbox.until(lambda: all(len(outbox.frames_of(camera)) >= 3 for camera in cameras))
    pids = running_below(worker.pid, PROGRAM_MODULE)
    assert len(pids) == 2

    os.kill(worker.pid, signal.SIGKILL)

    assert worker.wait(10) == -signal.SIGKILL
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait(5)
