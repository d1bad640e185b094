"""Cameras can be added, changed and deleted at run time, and are distributed among workers."""

import statistics
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from common.records.cameras import CameraState
from common.records.frames import FrameKind
from common.records.object_keys import snapshot_key
from tests.integration.ingest.worker import (
    OWNER_ID,
    CameraConfigs,
    IngestWorker,
    Outbox,
    World,
    changed,
)
from tests.services.rtsp import RtspCamera
from tests.services.s3 import s3_client

pytestmark = pytest.mark.integration


def test_cameras_are_answered_within_a_second_and_gone_as_fast(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    with IngestWorker(world):
        first = configs.add(f"file://{moving_clip}").camera_id
        outbox.until(lambda: len(outbox.frames_of(first)) >= 1)
        stays = [_come_and_go(configs, outbox, moving_clip) for _ in range(3)]
        s3 = s3_client(world.s3)
        left = [o.object_name for o in s3.list_objects(world.s3.s3_bucket, recursive=True)]

    # The median counts, because a stalled machine is not a slow worker.
    for promised in ("answered", "gone", "silent"):
        assert statistics.median(getattr(stay, promised) for stay in stays) < 1
    # The last record is END, which ends the pass of a vehicle that was still in view.
    assert all(outbox.all_of(s.camera_id)[-1].meta.kind is FrameKind.END for s in stays)
    assert not any(snapshot_key(OWNER_ID, stay.camera_id) in left for stay in stays)
    assert snapshot_key(OWNER_ID, first) in left


@dataclass(frozen=True)
class _Stay:
    """An added and deleted camera, with the seconds from each configuration to its effect."""

    camera_id: UUID
    answered: float
    gone: float
    silent: float


def _come_and_go(configs: CameraConfigs, outbox: Outbox, clip: Path) -> _Stay:
    begin = time.monotonic()
    camera = configs.add(f"file://{clip}").camera_id
    outbox.until(lambda: outbox.state(camera) is not None)
    answered = time.monotonic() - begin
    outbox.until(lambda: len(outbox.frames_of(camera)) >= 5)

    begin = time.monotonic()
    configs.remove(camera)
    outbox.until(lambda: outbox.state(camera) is None)
    gone = time.monotonic() - begin
    outbox.watch(2)
    return _Stay(camera, answered, gone, outbox.all_of(camera)[-1].seen_seconds - begin)


def test_what_changes_takes_effect_and_nothing_else_restarts(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    with IngestWorker(world), RtspCamera(moving_clip) as source:
        config = configs.add(f"file://{moving_clip}", name="old")
        camera = config.camera_id
        outbox.until(lambda: len(outbox.frames_of(camera)) >= 10)

        config = changed(config, name="new", sample_fps=12.5)
        configs.write(config)
        outbox.until(lambda: outbox.statuses(camera)[-1].revision == 2)
        assert outbox.state(camera) is CameraState.ONLINE
        outbox.until(lambda: outbox.frames[-1].meta.camera_name == "new")
        begin = len(outbox.frames_of(camera))
        outbox.until(lambda: len(outbox.frames_of(camera)) >= begin + 25)
        frames = outbox.frames_of(camera)[begin:]
        gaps_ms = np.diff([frame.meta.captured_ms for frame in frames])
        assert np.median(gaps_ms) == pytest.approx(80, abs=8)

        config = changed(config, stream_url_encrypted=configs.encrypted(source.url))
        source.pause()
        configs.write(config)
        outbox.until(lambda: outbox.state(camera) is CameraState.CONNECTING)
        source.resume()
        outbox.until(lambda: outbox.state(camera) is CameraState.ONLINE)

        config = changed(config, enabled=False)
        configs.write(config)
        outbox.until(lambda: outbox.state(camera) is CameraState.DISABLED)
        outbox.until(lambda: outbox.all_of(camera)[-1].meta.kind is FrameKind.END)
        last = len(outbox.all_of(camera))
        outbox.watch(3)
        assert len(outbox.all_of(camera)) == last

        configs.write(changed(config, enabled=True))
        outbox.until(lambda: outbox.state(camera) is CameraState.ONLINE)

    times = [frame.meta.captured_ms for frame in outbox.all_of(camera)]
    assert times == sorted(times)


def test_only_the_last_of_a_cameras_configurations_is_captured(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    config = configs.add("file:///no/such/clip")
    for _ in range(20):
        config = changed(config)
        configs.write(config)
    gone = configs.add("file:///no/such/clip").camera_id
    configs.remove(gone)
    configs.write(changed(config, stream_url_encrypted=configs.encrypted(f"file://{moving_clip}")))

    with IngestWorker(world) as worker:
        outbox.until(lambda: len(outbox.frames_of(config.camera_id)) >= 5)

    assert {status.revision for status in outbox.statuses(config.camera_id)} == {22}
    assert worker.log.read_text().count("camera_assigned") == 1
    assert outbox.state(gone) is None


def test_a_worker_that_joins_takes_a_share_and_the_rest_goes_on(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    cameras = configs.add_on_all_partitions(f"file://{moving_clip}", 8)
    # With a long timeout, neither an assignment nor a release can be caused by a timeout.
    slow = {"ingest.assignment.follower.SESSION_TIMEOUT_SECONDS": "20"}
    with IngestWorker(world, "first") as first:
        outbox.until(lambda: all(outbox.frames_of(c) for c in cameras))
        with IngestWorker(world, "second", **slow) as second:
            outbox.until(lambda: _shares(outbox, cameras) == {"first": 4, "second": 4}, seconds=40)
            shares = _workers(outbox, cameras)
            assert "partitions_revoked" in first.log.read_text()
        # The second worker leaves the group, so its cameras are reassigned immediately.
        outbox.until(lambda: _shares(outbox, cameras) == {"first": 8}, seconds=12)
        assert "partitions_revoked" in second.log.read_text()
        _await_frames(outbox, cameras)
        log = first.log.read_text()

    kept = [camera for camera in cameras if shares[camera] == "first"]
    for camera in kept:
        # The camera was assigned once, and never lost its connection.
        assert log.count(str(camera)) == 1
        states = [status.state for status in outbox.statuses(camera)]
        assert states.count(CameraState.CONNECTING) == 1
    moved = [camera for camera in cameras if shares[camera] == "second"]
    for begin_ms, end_ms in (_without_worker(outbox, camera, "second") for camera in moved):
        assert any(
            begin_ms < f.sent_ms < end_ms for camera in kept for f in outbox.frames_of(camera)
        )


@pytest.mark.long
def test_a_worker_that_was_frozen_gives_up_what_another_has_taken(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    cameras = configs.add_on_all_partitions(f"file://{moving_clip}", 6)
    with IngestWorker(world, "first") as first, IngestWorker(world, "second") as second:
        outbox.until(lambda: set(_shares(outbox, cameras)) == {"first", "second"}, seconds=30)
        first.pause()
        outbox.until(lambda: set(_shares(outbox, cameras)) == {"second"}, seconds=30)
        before = first.log.read_text().count("partitions_revoked")
        taken = second.log.read_text()
        first.resume()
        outbox.until(lambda: first.log.read_text().count("partitions_revoked") > before, seconds=30)
        outbox.until(lambda: set(_shares(outbox, cameras)) == {"first", "second"}, seconds=30)
        outbox.watch(6)
        log = second.log.read_text()

    # A camera captured by two workers would send ten frames per second.
    rates = [_last_rate(outbox, camera, seconds=4) for camera in cameras]
    assert max(rates) < 7
    # Cameras that were assigned to the second worker were not affected.
    kept = [camera for camera, worker in _workers(outbox, cameras).items() if worker == "second"]
    assert all(log.count(str(camera)) == taken.count(str(camera)) for camera in kept)


def _workers(outbox: Outbox, cameras: list[UUID]) -> dict[UUID, str]:
    return {c: outbox.statuses(c)[-1].worker for c in cameras if outbox.statuses(c)}


def _shares(outbox: Outbox, cameras: list[UUID]) -> Counter[str]:
    return Counter(_workers(outbox, cameras).values())


def _await_frames(outbox: Outbox, cameras: list[UUID]) -> None:
    begin_ms = max(frame.sent_ms for frame in outbox.frames)
    outbox.until(lambda: all(outbox.frames_of(c)[-1].sent_ms > begin_ms for c in cameras))


def _without_worker(outbox: Outbox, camera: UUID, taker: str) -> tuple[int, int]:
    """Return the times (Unix ms) of the last frame before ``taker``, and of its first status."""
    taken_ms = next(s.at_ms for s in outbox.statuses(camera) if s.worker == taker)
    sent = [frame.sent_ms for frame in outbox.frames_of(camera) if frame.sent_ms < taken_ms]
    return sent[-1], taken_ms


def _last_rate(outbox: Outbox, camera: UUID, seconds: float) -> float:
    """Return the number of frames sent per second during the last ``seconds``."""
    times = [frame.sent_ms for frame in outbox.frames_of(camera)]
    return sum(time_ms > max(times) - seconds * 1000 for time_ms in times) / seconds
