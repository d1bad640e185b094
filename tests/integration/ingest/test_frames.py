"""Frames of a camera arrive in Kafka, its snapshot in S3, and its status on the status topic."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import cv2
import numpy as np
import pytest

from common.records.frames import FrameKind
from common.records.object_keys import snapshot_key
from tests.integration.ingest.clips import HEIGHT_PX, WIDTH_PX
from tests.integration.ingest.worker import (
    OWNER_ID,
    CameraConfigs,
    IngestWorker,
    Outbox,
    Shared,
    World,
)
from tests.services.rtsp import RtspCamera
from tests.services.s3 import s3_client

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Captured:
    """Cameras that one worker captures, and the records that the worker sends."""

    world: World
    outbox: Outbox
    file: UUID
    rtsp: UUID
    still: UUID


@pytest.fixture(scope="module")
def captured(shared: Shared, moving_clip: Path, still_clip: Path) -> Iterator[Captured]:
    """A camera of each kind, for all tests that only read the worker's records."""
    with RtspCamera(moving_clip, user="user", password="hunter2") as source:
        file = shared.configs.add(f"file://{moving_clip}", name="north gate").camera_id
        rtsp = shared.configs.add(source.url).camera_id
        still = shared.configs.add(f"file://{still_clip}").camera_id
        yield Captured(shared.world, shared.outbox, file, rtsp, still)


def test_a_file_camera_loops_at_its_rate_with_rising_times(captured: Captured) -> None:
    outbox, camera = captured.outbox, captured.file
    # This is three times the length of the clip.
    outbox.until(lambda: len(outbox.frames_of(camera)) >= 31)

    frames = outbox.frames_of(camera)
    gaps = np.diff([frame.meta.captured_ms for frame in frames])
    # The worker skips a frame if the encoder is busy, and does not shift any other frame.
    assert np.median(gaps) == 200
    assert np.abs(gaps - 200 * np.round(gaps / 200)).max() <= 10
    everything = [frame.meta.captured_ms for frame in outbox.all_of(camera)]
    assert everything == sorted(everything)
    assert all(abs(frame.meta.captured_ms - frame.sent_ms) < 10_000 for frame in frames)


def test_frames_carry_a_jpeg_and_what_recognition_needs(captured: Captured) -> None:
    outbox, camera = captured.outbox, captured.file
    outbox.until(lambda: len(outbox.frames_of(camera)) >= 3)

    first = outbox.all_of(camera)[0]
    assert (first.meta.kind, first.jpeg) == (FrameKind.TICK, b"")
    frame = outbox.frames_of(camera)[0]
    image = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    assert image.shape == (HEIGHT_PX, WIDTH_PX, 3)
    assert (frame.meta.width_px, frame.meta.height_px) == (WIDTH_PX, HEIGHT_PX)
    assert frame.meta.camera_name == "north gate"
    assert frame.meta.owner_id == OWNER_ID


def test_the_latest_snapshot_is_in_s3(captured: Captured) -> None:
    outbox, bucket = captured.outbox, captured.world.s3.s3_bucket
    s3, key = s3_client(captured.world.s3), snapshot_key(OWNER_ID, captured.file)

    def stored() -> list[str | None]:
        return [o.object_name for o in s3.list_objects(bucket, recursive=True)]

    outbox.until(lambda: key in stored())
    first = s3.stat_object(bucket, key)
    outbox.until(lambda: s3.stat_object(bucket, key).etag != first.etag)

    assert first.metadata is not None
    assert first.content_type == "image/jpeg"
    assert first.metadata["x-amz-meta-width"] == str(WIDTH_PX)
    assert first.metadata["x-amz-meta-height"] == str(HEIGHT_PX)
    assert int(first.metadata["x-amz-meta-captured"]) > 1_700_000_000_000


def test_a_still_scene_sends_ticks_only(captured: Captured) -> None:
    outbox, camera = captured.outbox, captured.still
    # A camera that is connecting sends ticks too.
    outbox.until(lambda: bool(outbox.frames_of(camera)))
    outbox.until(lambda: _ends_with_ticks(outbox, camera, 3))
    count = len(outbox.frames_of(camera))
    outbox.watch(4)

    ticks = outbox.ticks(camera)
    # Motion lasts for three more seconds after the first frame.
    assert len(outbox.frames_of(camera)) == count
    taken = [frame.meta.captured_ms for frame in outbox.frames_of(camera)]
    assert 2400 <= taken[-1] - taken[0] <= 3600
    assert len(ticks) >= 6
    assert all(
        b.meta.captured_ms > a.meta.captured_ms for a, b in zip(ticks, ticks[1:], strict=False)
    )


def test_an_rtsp_camera_gives_even_frames(captured: Captured) -> None:
    outbox, camera = captured.outbox, captured.rtsp
    outbox.until(lambda: len(outbox.frames_of(camera)) >= 30)

    times = [frame.meta.captured_ms for frame in outbox.frames_of(camera)[5:30]]
    gaps = np.diff(times)
    assert np.median(gaps) == pytest.approx(200, abs=10)
    # The worker skips a frame if the encoder is busy.
    assert np.mean(gaps / np.round(gaps / 200)) == pytest.approx(200, abs=10)


def test_motion_detection_can_be_disabled(
    world: World, configs: CameraConfigs, outbox: Outbox, still_clip: Path
) -> None:
    camera = configs.add(f"file://{still_clip}")
    with IngestWorker(world, ingest_motion_gate="off", ingest_max_frame_width_px="320"):
        outbox.until(lambda: len(outbox.frames_of(camera.camera_id)) >= 30)

    first = outbox.frames_of(camera.camera_id)[0]
    assert first.meta.width_px == 320
    # Ticks before the first frame are sent while connecting. A busy worker may send two more.
    everything = outbox.all_of(camera.camera_id)
    since = everything[everything.index(first) :]
    assert sum(frame.meta.kind is FrameKind.TICK for frame in since) <= 2


def _ends_with_ticks(outbox: Outbox, camera_id: UUID, count: int) -> bool:
    last = outbox.all_of(camera_id)[-count:]
    return [frame.meta.kind for frame in last] == [FrameKind.TICK] * count
