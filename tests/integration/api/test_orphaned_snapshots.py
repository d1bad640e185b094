"""Only snapshots of deleted cameras are deleted from a real S3."""

import io
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import Engine

from api.adapters.image_store import ImageStore
from api.db.database import Database
from api.erasure.images import SnapshotRemoval
from common.errors import TransientError
from common.records.ids import recognition_id
from common.records.object_keys import photo_key, snapshot_key
from common.settings import DatabaseSettings, S3Settings
from tests.integration.api.cameras import add_camera, insert_owner, remove_camera
from tests.services.s3 import left, s3_client

pytestmark = pytest.mark.integration

NOW_MS = 1_790_000_000_000


@pytest.fixture
async def database(api_database: DatabaseSettings) -> AsyncIterator[Database]:
    opened = Database(api_database, pool_size=2)
    yield opened
    opened.close()


def put(settings: S3Settings, *keys: str) -> None:
    for key in keys:
        s3_client(settings).put_object(settings.s3_bucket, key, io.BytesIO(b"jpeg"), 4)


def camera(settings: S3Settings, engine: Engine, owner_id: UUID) -> tuple[UUID, str]:
    """Add a camera with a snapshot, and return the camera's ID and the snapshot's key."""
    camera_id = add_camera(engine, owner_id)
    key = snapshot_key(owner_id, camera_id)
    put(settings, key)
    return camera_id, key


async def test_a_snapshot_that_outlived_its_camera_is_removed(
    s3_settings: S3Settings, engine: Engine, database: Database
) -> None:
    owner_id, other_id = insert_owner(engine), insert_owner(engine)
    deleted_id, _ = camera(s3_settings, engine, owner_id)
    kept = {camera(s3_settings, engine, one)[1] for one in (owner_id, other_id)}
    others = {
        photo_key(owner_id, recognition_id(NOW_MS, deleted_id, "track")),
        f"snapshots/{owner_id}/README",
    }
    put(s3_settings, *others)
    store, clock = ImageStore(s3_settings), [NOW_MS]
    removal = SnapshotRemoval(database, store, lambda: clock[0])
    assert await removal.sweep() == 0

    remove_camera(engine, owner_id, deleted_id)
    assert await removal.sweep() == 0
    clock[0] += timedelta(hours=1) // timedelta(milliseconds=1)

    assert await removal.sweep() == 1
    assert left(s3_settings) == {*kept, *others}
    store.close()


async def test_unavailable_s3_is_retried_immediately(
    s3_settings: S3Settings, database: Database
) -> None:
    gone = ImageStore(s3_settings.model_copy(update={"s3_bucket": "not-there"}))
    removal = SnapshotRemoval(database, gone, lambda: NOW_MS)

    for _ in range(2):
        with pytest.raises(TransientError):
            await removal.sweep()
    gone.close()
