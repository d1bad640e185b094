"""Records of a worker's cameras. No record is published after a camera's end."""

import threading
from collections.abc import Callable
from typing import cast
from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from common.records.cameras import CameraConfig, CameraStatus
from common.records.frames import FrameMeta
from common.secrets import SecretBox
from common.urls.streams import StreamUrlRules
from ingest.assignment.camera import CameraSessionDeps, CameraSessionSettings
from ingest.assignment.fleet import ConfigChange, Fleet
from ingest.clocks import Instant
from ingest.frames.producer import FrameProducer
from ingest.frames.snapshots import Snapshot, SnapshotUploader
from ingest.metrics import IngestMetrics
from ingest.processes.pool import CapturePool

START = Instant(1_800_000_000_000, 5_000.0)
STAYS, GOES = UUID(int=1), UUID(int=2)
RULES = CameraSessionSettings(
    worker="one", addresses=StreamUrlRules(), sample_fps=5, offline_after_seconds=15
)


class World:
    """A fleet with two cameras, whose stream URLs cannot be decrypted, and the fleet's records."""

    def __init__(self) -> None:
        self.published: list[tuple[UUID, bool]] = []
        self.removed: list[UUID] = []
        self.before_tick: Callable[[UUID], None] = lambda _: None
        self.before_status: Callable[[UUID], None] = lambda _: None
        producer, snapshots = cast("FrameProducer", self), cast("SnapshotUploader", self)
        services = CameraSessionDeps(
            frames=producer,
            snapshots=snapshots,
            # The stream URLs cannot be decrypted, so no camera is captured.
            captures=cast("CapturePool", None),
            secrets=SecretBox(Fernet.generate_key().decode()),
            metrics=IngestMetrics(),
            now=lambda: START,
        )
        self.fleet = Fleet(RULES, services)
        self.fleet.own(0)
        for camera_id in (STAYS, GOES):
            self.fleet.apply(ConfigChange(0, camera_id, _config(camera_id)))
        self.published.clear()

    def delete_goes(self) -> None:
        self.fleet.apply(ConfigChange(0, GOES, None))

    def send_status(self, status: CameraStatus) -> None:
        self.before_status(status.camera_id)
        self.published.append((status.camera_id, True))

    def delete_status(self, camera_id: UUID) -> None:
        self.published.append((camera_id, False))

    def remove(self, owner_id: UUID, camera_id: UUID) -> None:
        self.removed.append(camera_id)

    def has_capacity(self) -> bool:
        return True

    def send_frame(self, meta: FrameMeta, jpeg: bytes) -> bool:
        return True

    def send_tick(self, meta: FrameMeta) -> None:
        self.before_tick(meta.camera_id)

    def send_end(self, meta: FrameMeta) -> None:
        pass

    def offer(self, snapshot: Snapshot) -> None:
        pass

    def published_of_goes(self) -> list[bool]:
        return [is_there for camera_id, is_there in self.published if camera_id == GOES]


def _config(camera_id: UUID) -> CameraConfig:
    return CameraConfig(
        camera_id=camera_id,
        owner_id=UUID(int=9),
        name="gate",
        stream_url_encrypted="x",
        enabled=True,
        revision=1,
    )


@pytest.fixture
def world() -> World:
    return World()


def test_each_camera_is_published_again_as_a_sign_of_life(world: World) -> None:
    world.fleet.publish_due(START.later(6))
    world.fleet.publish_due(START.later(7))

    assert world.published == [(STAYS, True), (GOES, True)]


def test_a_fleet_knows_whether_it_has_cameras(world: World) -> None:
    world.fleet.publish_due(START)
    assert world.fleet.has_cameras.is_set()

    world.fleet.release(0)
    world.fleet.publish_due(START)
    assert not world.fleet.has_cameras.is_set()


def test_a_camera_that_was_deleted_meanwhile_is_not_published(world: World) -> None:
    world.before_tick = lambda camera_id: world.delete_goes() if camera_id == STAYS else None

    world.fleet.publish_due(START.later(6))

    assert world.published_of_goes() == [False]
    assert world.removed == [GOES]


def test_a_camera_that_is_deleted_while_it_is_published_is_gone_in_the_end(world: World) -> None:
    deleting = threading.Thread(target=world.delete_goes)

    def delete(camera_id: UUID) -> None:
        if camera_id == GOES:
            deleting.start()
            # This is enough time to finish, unless the call is blocked.
            deleting.join(0.1)

    world.before_status = delete
    world.fleet.publish_due(START.later(6))
    deleting.join(10)

    assert world.published_of_goes() == [True, False]
