"""A camera's frames arrive in Kafka, its snapshot in S3, its state on the status topic."""

import time
from pathlib import Path
from uuid import UUID

import cv2
import numpy as np
import pytest

from common.records.cameras import CameraState
from common.records.frames import FrameKind
from common.records.object_keys import snapshot_key
from tests.integration.ingest.clips import HEIGHT_PX, WIDTH_PX
from tests.integration.ingest.worker import (
    OWNER_ID,
    CameraConfigs,
    IngestWorker,
    Outbox,
    World,
)
from tests.services.rtsp import RtspCamera
from tests.services.s3 import s3_client

pytestmark = pytest.mark.integration


def test_a_file_camera_loops_at_its_rate_with_rising_times(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    camera = configs.add(f"file://{moving_clip}")
    with IngestWorker(world):
        # Three times the length of the clip.
        outbox.until(lambda: len(outbox.frames_of(camera.camera_id)) >= 31)

    frames = outbox.frames_of(camera.camera_id)
    times = [frame.meta.captured_ms for frame in frames]
    gaps = np.diff(times)
    # One that the encoder had no time for is left out, none comes at another time.
    assert np.median(gaps) == 200
    assert np.abs(gaps - 200 * np.round(gaps / 200)).max() <= 10
    everything = [frame.meta.captured_ms for frame in outbox.all_of(camera.camera_id)]
    assert everything == sorted(everything)
    assert abs(times[-1] - time.time() * 1000) < 10_000


def test_frames_carry_a_jpeg_and_what_recognition_needs(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    camera = configs.add(f"file://{moving_clip}", name="north gate")
    with IngestWorker(world):
        outbox.until(lambda: len(outbox.frames_of(camera.camera_id)) >= 3)

    first = outbox.all_of(camera.camera_id)[0]
    assert (first.meta.kind, first.jpeg) == (FrameKind.TICK, b"")
    frame = outbox.frames_of(camera.camera_id)[0]
    image = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    assert image.shape == (HEIGHT_PX, WIDTH_PX, 3)
    assert (frame.meta.width_px, frame.meta.height_px) == (WIDTH_PX, HEIGHT_PX)
    assert frame.meta.camera_name == "north gate"
    assert frame.meta.owner_id == OWNER_ID


def test_status_goes_from_connecting_to_online(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    camera = configs.add(f"file://{moving_clip}")
    with IngestWorker(world, "worker-7"):
        outbox.until(lambda: len(outbox.statuses(camera.camera_id)) >= 3)

    states = outbox.statuses(camera.camera_id)
    assert [status.state for status in states] == [
        CameraState.CONNECTING,
        CameraState.ONLINE,
        CameraState.ONLINE,
    ]
    assert {status.worker for status in states} == {"worker-7"}
    assert {status.revision for status in states} == {1}
    assert states[1].frame_width_px == WIDTH_PX
    assert states[1].decoder == "software"
    assert 4000 <= states[2].at_ms - states[1].at_ms <= 6000


def test_the_latest_snapshot_is_in_s3(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    camera = configs.add(f"file://{moving_clip}")
    s3, key = s3_client(world.s3), snapshot_key(OWNER_ID, camera.camera_id)

    def stored() -> list[str | None]:
        return [o.object_name for o in s3.list_objects(world.s3.s3_bucket, recursive=True)]

    with IngestWorker(world):
        outbox.until(lambda: key in stored())
        first = s3.stat_object(world.s3.s3_bucket, key)
        outbox.until(lambda: s3.stat_object(world.s3.s3_bucket, key).etag != first.etag)

    assert first.metadata is not None
    assert first.content_type == "image/jpeg"
    assert first.metadata["x-amz-meta-width"] == str(WIDTH_PX)
    assert first.metadata["x-amz-meta-height"] == str(HEIGHT_PX)
    assert int(first.metadata["x-amz-meta-captured"]) > 1_700_000_000_000


def test_a_still_scene_sends_ticks_only(
    world: World, configs: CameraConfigs, outbox: Outbox, still_clip: Path
) -> None:
    camera = configs.add(f"file://{still_clip}")
    with IngestWorker(world):
        # A camera that is being connected to sends ticks too.
        outbox.until(lambda: bool(outbox.frames_of(camera.camera_id)))
        outbox.until(lambda: _ends_with_ticks(outbox, camera.camera_id, 3))
        count = len(outbox.frames_of(camera.camera_id))
        outbox.watch(4)

    ticks = outbox.ticks(camera.camera_id)
    # The gate holds open for three seconds after the first frame.
    assert len(outbox.frames_of(camera.camera_id)) == count
    taken = [frame.meta.captured_ms for frame in outbox.frames_of(camera.camera_id)]
    assert 2400 <= taken[-1] - taken[0] <= 3600
    assert len(ticks) >= 6
    assert all(
        b.meta.captured_ms > a.meta.captured_ms for a, b in zip(ticks, ticks[1:], strict=False)
    )


def test_the_gate_can_be_switched_off(
    world: World, configs: CameraConfigs, outbox: Outbox, still_clip: Path
) -> None:
    camera = configs.add(f"file://{still_clip}")
    with IngestWorker(world, ingest_motion_gate="off", ingest_max_frame_width_px="320"):
        outbox.until(lambda: len(outbox.frames_of(camera.camera_id)) >= 30)

    first = outbox.frames_of(camera.camera_id)[0]
    assert first.meta.width_px == 320
    # Before it a camera that is being connected to; a worker under load may be late twice more.
    everything = outbox.all_of(camera.camera_id)
    since = everything[everything.index(first) :]
    assert sum(frame.meta.kind is FrameKind.TICK for frame in since) <= 2


def test_an_rtsp_camera_gives_even_frames(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    with RtspCamera(moving_clip, user="user", password="hunter2") as source:
        camera = configs.add(source.url)
        with IngestWorker(world):
            outbox.until(lambda: len(outbox.frames_of(camera.camera_id)) >= 30)

    frames = outbox.frames_of(camera.camera_id)
    times = [frame.meta.captured_ms for frame in frames[5:30]]
    gaps = np.diff(times)
    assert np.median(gaps) == pytest.approx(200, abs=10)
    # One that the encoder had no time for is left out.
    assert np.mean(gaps / np.round(gaps / 200)) == pytest.approx(200, abs=10)


def _ends_with_ticks(outbox: Outbox, camera_id: UUID, count: int) -> bool:
    last = outbox.all_of(camera_id)[-count:]
    return [frame.meta.kind for frame in last] == [FrameKind.TICK] * count
