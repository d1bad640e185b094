"""Cameras come, change and go at run time, and are shared out between workers."""

import time
from pathlib import Path
from uuid import UUID

import pytest

from contracts.object_keys import snapshot_key
from contracts.records import CameraState
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


def test_a_camera_is_answered_within_a_second_and_gone_as_fast(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    with IngestWorker(world):
        first = configs.add(f"file://{moving_clip}").camera_id
        outbox.until(lambda: len(outbox.pictures(first)) >= 1)

        begin = time.monotonic()
        camera = configs.add(f"file://{moving_clip}").camera_id
        outbox.until(lambda: outbox.state(camera) is not None)
        assert outbox.told[-1].seen_seconds - begin < 1
        outbox.until(lambda: len(outbox.pictures(camera)) >= 10)

        begin = time.monotonic()
        configs.remove(camera)
        outbox.until(lambda: outbox.state(camera) is None)
        assert time.monotonic() - begin < 1
        outbox.watch(2)
        s3 = s3_client(world.s3)
        left = [o.object_name for o in s3.list_objects(world.s3.s3_bucket, recursive=True)]

    assert outbox.all_of(camera)[-1].seen_seconds - begin < 1
    assert snapshot_key(OWNER_ID, camera) not in left
    assert snapshot_key(OWNER_ID, first) in left


def test_what_changes_takes_effect_and_nothing_else_restarts(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    with IngestWorker(world), RtspCamera(moving_clip) as source:
        config = configs.add(f"file://{moving_clip}", name="old")
        camera = config.camera_id
        outbox.until(lambda: len(outbox.pictures(camera)) >= 10)

        config = changed(config, name="new", sample_fps=12.5)
        configs.write(config)
        outbox.until(lambda: outbox.statuses(camera)[-1].revision == 2, seconds=1)
        assert outbox.state(camera) is CameraState.ONLINE
        outbox.until(lambda: outbox.frames[-1].meta.camera_name == "new")
        begin = len(outbox.pictures(camera))
        outbox.until(lambda: len(outbox.pictures(camera)) >= begin + 25)
        frames = outbox.pictures(camera)[begin:]
        gap_ms = (frames[-1].meta.captured_ms - frames[0].meta.captured_ms) / (len(frames) - 1)
        assert gap_ms == pytest.approx(80, abs=8)

        config = changed(config, stream_url_encrypted=configs.encrypted(source.url))
        configs.write(config)
        outbox.until(lambda: outbox.state(camera) is CameraState.CONNECTING, seconds=1)
        outbox.until(lambda: outbox.state(camera) is CameraState.ONLINE)

        config = changed(config, enabled=False)
        configs.write(config)
        outbox.until(lambda: outbox.state(camera) is CameraState.DISABLED, seconds=1)
        last = len(outbox.all_of(camera))
        outbox.watch(3)
        assert len(outbox.all_of(camera)) <= last + 2

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
        outbox.until(lambda: len(outbox.pictures(config.camera_id)) >= 5)

    assert {status.revision for status in outbox.statuses(config.camera_id)} == {22}
    assert worker.log.read_text().count("camera_taken") == 1
    assert outbox.state(gone) is None


def test_a_worker_that_joins_takes_a_share_and_the_rest_goes_on(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    cameras = [configs.add(f"file://{moving_clip}").camera_id for _ in range(8)]
    with IngestWorker(world, "first") as first:
        outbox.until(lambda: all(outbox.pictures(c) for c in cameras))
        with IngestWorker(world, "second") as second:
            outbox.until(lambda: "second" in _workers(outbox, cameras).values(), seconds=30)
            outbox.watch(3)
            shares = _workers(outbox, cameras)
            kept = [camera for camera, worker in shares.items() if worker == "first"]
            log = first.log.read_text()
        # The second one left the group: what it had comes back at once, not after a time-out.
        left = time.monotonic()
        outbox.until(lambda: set(_workers(outbox, cameras).values()) == {"first"}, seconds=30)
        assert time.monotonic() - left < 5
        assert "partitions_revoked" in second.log.read_text()

    assert set(shares.values()) == {"first", "second"}
    assert "partitions_revoked" in log
    for camera in kept:
        assert log.count(f'"camera_id": "{camera}"') == 1
        assert _longest_gap_ms(outbox, camera) < 1500


def test_a_killed_workers_cameras_move_to_another(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    cameras = [configs.add(f"file://{moving_clip}").camera_id for _ in range(8)]
    first = IngestWorker(world, "first")
    with IngestWorker(world, "second"):
        first.start()
        outbox.until(
            lambda: set(_workers(outbox, cameras).values()) == {"first", "second"}, seconds=30
        )
        outbox.watch(2)
        moved = [c for c, worker in _workers(outbox, cameras).items() if worker == "first"]

        first.kill()
        killed = time.monotonic()
        outbox.until(lambda: set(_workers(outbox, cameras).values()) == {"second"}, seconds=30)
        taken = time.monotonic()
        outbox.until(
            lambda: all(outbox.pictures(c)[-1].seen_seconds > taken for c in moved), seconds=10
        )

    # The session time-out of these tests is six seconds.
    assert taken - killed < 12


def test_a_worker_that_was_frozen_gives_up_what_another_has_taken(
    world: World, configs: CameraConfigs, outbox: Outbox, moving_clip: Path
) -> None:
    cameras = [configs.add(f"file://{moving_clip}").camera_id for _ in range(6)]
    with IngestWorker(world, "first") as first, IngestWorker(world, "second"):
        outbox.until(
            lambda: set(_workers(outbox, cameras).values()) == {"first", "second"}, seconds=30
        )
        first.pause()
        outbox.until(lambda: set(_workers(outbox, cameras).values()) == {"second"}, seconds=30)
        first.resume()
        outbox.until(lambda: "partitions_revoked" in first.log.read_text(), seconds=30)
        outbox.until(
            lambda: set(_workers(outbox, cameras).values()) == {"first", "second"}, seconds=30
        )
        outbox.watch(2)
        begin = {camera: len(outbox.pictures(camera)) for camera in cameras}
        outbox.watch(4)

    # A camera that two workers had would send ten frames a second.
    rates = [(len(outbox.pictures(c)) - begin[c]) / 4 for c in cameras]
    assert max(rates) < 7


def _workers(outbox: Outbox, cameras: list[UUID]) -> dict[UUID, str]:
    return {c: outbox.statuses(c)[-1].worker for c in cameras if outbox.statuses(c)}


def _longest_gap_ms(outbox: Outbox, camera: UUID) -> int:
    times = [frame.meta.captured_ms for frame in outbox.pictures(camera)]
    return max(b - a for a, b in zip(times, times[1:], strict=False))
