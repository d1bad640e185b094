"""Cameras that are silent, send other data, freeze or disconnect are reported."""

from pathlib import Path
from uuid import UUID

import cv2
import numpy as np
import pytest

from common.records.cameras import CameraState
from ingest.errors import CaptureErrorCode
from tests.integration.ingest.http_cameras import HttpCamera, SilentCamera, closed_port
from tests.integration.ingest.worker import (
    CameraConfigs,
    IngestWorker,
    Outbox,
    Shared,
    World,
    changed,
)
from tests.services.rtsp import RtspCamera

pytestmark = pytest.mark.integration

PASSWORD = "hunter2"


def test_each_trouble_is_reported_in_a_sentence_without_the_password(
    shared: Shared, moving_clip: Path, tmp_path: Path
) -> None:
    configs, outbox = shared.configs, shared.outbox
    login = f"user:{PASSWORD}"
    # A run of JPEG images, as in a segment of Kafka's log. FFmpeg would play the file.
    pictures = tmp_path / "segment.log"
    pictures.write_bytes(cv2.imencode(".jpg", np.zeros((360, 640, 3), np.uint8))[1].tobytes() * 50)
    with (
        SilentCamera() as silent,
        HttpCamera() as http,
        RtspCamera(moving_clip, user="other", password="secret") as rtsp,
    ):
        urls = {
            f"rtsp://{login}@127.0.0.1:{silent.port}/x": CaptureErrorCode.UNREACHABLE,
            f"http://{login}@127.0.0.1:{silent.port}/x": CaptureErrorCode.UNREACHABLE,
            f"rtsp://{login}@127.0.0.1:{closed_port()}/x": CaptureErrorCode.UNREACHABLE,
            f"rtsp://{login}@no-such-camera.invalid/x": CaptureErrorCode.UNREACHABLE,
            f"rtsp://{login}@127.0.0.1:{rtsp.port}/camera": CaptureErrorCode.CREDENTIALS,
            http.url("/page", user=login): CaptureErrorCode.NOT_VIDEO,
            http.url("/nothing", user=login): CaptureErrorCode.NO_STREAM,
            f"rtsp://{login}@169.254.169.254/x": CaptureErrorCode.FORBIDDEN,
            "file:///no/such/file": CaptureErrorCode.NO_FILE,
            f"file://{__file__}": CaptureErrorCode.NO_FILE,
            f"file://{pictures}": CaptureErrorCode.NO_FILE,
        }
        cameras = {configs.add(url).camera_id: fault for url, fault in urls.items()}
        good = configs.add(f"file://{moving_clip}")

        def is_told(camera: UUID, fault: CaptureErrorCode) -> bool:
            # A new camera has no status until its first connection attempt fails.
            is_offline = outbox.state(camera) is CameraState.OFFLINE
            return is_offline and outbox.statuses(camera)[-1].last_error == fault.value

        outbox.until(lambda: all(is_told(*each) for each in cameras.items()), seconds=30)
        log = shared.worker.log.read_text()

    assert outbox.state(good.camera_id) is CameraState.ONLINE
    assert PASSWORD not in log
    assert not any(PASSWORD.encode() in record.raw for record in outbox.status_records)
    assert all(len(outbox.ticks(camera)) >= 3 for camera in cameras)


@pytest.mark.long
def test_a_camera_that_freezes_goes_offline_and_recovers(shared: Shared, moving_clip: Path) -> None:
    outbox = shared.outbox
    with RtspCamera(moving_clip) as source:
        camera = shared.configs.add(source.url).camera_id
        outbox.until(lambda: len(outbox.frames_of(camera)) >= 10)

        source.pause()
        outbox.until(lambda: outbox.state(camera) is CameraState.OFFLINE)
        frozen = len(outbox.frames_of(camera))
        error = outbox.statuses(camera)[-1].last_error
        assert error in (CaptureErrorCode.SILENT.value, CaptureErrorCode.UNREACHABLE.value)

        source.resume()
        outbox.until(lambda: len(outbox.frames_of(camera)) >= frozen + 10)
        outbox.until(lambda: outbox.state(camera) is CameraState.ONLINE)

    states = [status.state for status in outbox.statuses(camera)]
    changes = [b for a, b in zip(states, states[1:], strict=False) if a is not b]
    assert changes == [CameraState.ONLINE, CameraState.OFFLINE, CameraState.ONLINE]
    _assert_times_rise(outbox, camera)


@pytest.mark.long
def test_a_camera_that_is_killed_and_started_again_recovers(
    shared: Shared, moving_clip: Path
) -> None:
    outbox = shared.outbox
    with RtspCamera(moving_clip) as source:
        camera = shared.configs.add(source.url).camera_id
        outbox.until(lambda: len(outbox.frames_of(camera)) >= 5)

        source.kill()
        source.start()
        before = len(outbox.frames_of(camera))
        outbox.until(lambda: len(outbox.frames_of(camera)) >= before + 10)

    _assert_times_rise(outbox, camera)


def test_a_worker_stops_in_time_while_a_camera_hangs(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    settings = {"ingest.app.OPEN_TIMEOUT_SECONDS": "60", "ingest.app.READ_TIMEOUT_SECONDS": "60"}
    with RtspCamera(moving_clip) as source, SilentCamera() as silent:
        worker = IngestWorker(world, **settings)
        worker.start()
        hung = configs.add(f"rtsp://127.0.0.1:{silent.port}/x").camera_id
        camera = configs.add(source.url).camera_id
        outbox.until(lambda: len(outbox.frames_of(camera)) >= 5 and bool(outbox.statuses(hung)))
        source.pause()

        # This fails if the worker has to be killed.
        worker.stop()

    assert "worker_stopped" in worker.tail()
    outbox.until(lambda: outbox.all_of(camera)[-1].jpeg == b"")


def test_frames_flow_while_s3_is_unavailable(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    without_s3 = {"s3_endpoint": f"http://127.0.0.1:{closed_port()}"}
    camera = configs.add(f"file://{moving_clip}").camera_id
    with IngestWorker(world, **without_s3) as worker:
        outbox.until(lambda: len(outbox.frames_of(camera)) >= 25)

    assert "snapshot_uploads_failing" in worker.log.read_text()
    times = [frame.meta.captured_ms for frame in outbox.frames_of(camera)][:25]
    assert np.median(np.diff(times)) == pytest.approx(200, abs=10)


def test_records_that_cannot_be_read_hurt_no_other_camera(
    shared: Shared, moving_clip: Path
) -> None:
    configs, outbox = shared.configs, shared.outbox
    bad_secret = configs.add("rtsp://x/y")
    sealed_elsewhere = bad_secret.stream_url_encrypted[:-4] + "AAA="
    configs.write_bytes(b"not-a-uuid", b"{}")
    configs.write_bytes(str(UUID(int=3)).encode(), b'{"version": 99}')
    configs.write_bytes(str(UUID(int=4)).encode(), b"\xff")
    configs.write(changed(bad_secret, stream_url_encrypted=sealed_elsewhere))
    camera = configs.add(f"file://{moving_clip}").camera_id
    secret_fault = CaptureErrorCode.SECRET_KEY.value
    outbox.until(lambda: len(outbox.frames_of(camera)) >= 5)
    outbox.until(lambda: _last_error(outbox, bad_secret.camera_id) == secret_fault)

    assert shared.worker.log.read_text().count("config_record_unreadable") == 3


def _last_error(outbox: Outbox, camera: UUID) -> str | None:
    return outbox.statuses(camera)[-1].last_error if outbox.statuses(camera) else None


def _assert_times_rise(outbox: Outbox, camera: UUID) -> None:
    times = [frame.meta.captured_ms for frame in outbox.all_of(camera)]
    assert times == sorted(times)
    times = [frame.meta.captured_ms for frame in outbox.frames_of(camera)]
    assert len(set(times)) == len(times)
