"""Only images that have expired are deleted from a real S3."""

import io
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from api.adapters.image_store import ImageStore
from api.erasure.images import ImageRetention
from common.errors import TransientError
from common.records.ids import image_call_id
from common.records.object_keys import crop_key, photo_key, snapshot_key
from common.settings import S3Settings
from tests.integration.api.locked_images import lock_images
from tests.services.s3 import left, s3_client

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 22, 15, 0, tzinfo=UTC)
OWNERS = (uuid4(), uuid4())


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def put_images(settings: S3Settings, owner: UUID, moment: datetime, count: int = 1) -> set[str]:
    """Store the images of ``count`` recognitions with this time, and return the keys."""
    keys = set()
    for _ in range(count):
        recognition = image_call_id(milliseconds(moment), uuid4())
        keys |= {photo_key(owner, recognition), crop_key(owner, recognition)}
    for key in keys:
        s3_client(settings).put_object(settings.s3_bucket, key, io.BytesIO(b"jpeg"), 4)
    return keys


def retention(store: ImageStore, days: int | None, now: datetime = NOW) -> ImageRetention:
    kept = None if days is None else timedelta(days=days)
    return ImageRetention(store, kept, lambda: milliseconds(now))


async def test_whole_days_past_the_retention_are_removed(s3_settings: S3Settings) -> None:
    store = ImageStore(s3_settings)
    old = set[str]()
    for owner in OWNERS:
        old |= put_images(s3_settings, owner, NOW - timedelta(days=31))
        old |= put_images(s3_settings, owner, NOW - timedelta(days=400))
    kept: set[str | None] = set()
    for age in (timedelta(days=30), timedelta(days=29, hours=23), timedelta(0)):
        kept |= put_images(s3_settings, OWNERS[0], NOW - age)
    snapshot = snapshot_key(OWNERS[0], uuid4())
    s3_client(s3_settings).put_object(s3_settings.s3_bucket, snapshot, io.BytesIO(b"jpeg"), 4)

    assert await retention(store, None).sweep() == 0
    sweeper = retention(store, 30)
    assert await sweeper.sweep() == len(old)
    assert left(s3_settings) == {*kept, snapshot}
    assert await retention(store, 30).sweep() == 0
    store.close()


async def test_a_day_is_removed_in_parts(
    s3_settings: S3Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.adapters.image_store.REMOVAL_BATCH_SIZE", 4)
    monkeypatch.setattr("api.erasure.images._MAX_PER_SWEEP", 8)
    store = ImageStore(s3_settings)
    put_images(s3_settings, OWNERS[0], NOW - timedelta(days=3), count=5)
    sweeper = retention(store, 1)
    assert [await sweeper.sweep() for _ in range(3)] == [8, 2, 0]
    assert left(s3_settings) == set()
    store.close()


async def test_an_image_that_is_locked_keeps_no_other(
    s3_settings: S3Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.adapters.image_store.REMOVAL_BATCH_SIZE", 2)
    store = ImageStore(s3_settings)
    old = set[str]()
    for age in (9, 5):
        old |= put_images(s3_settings, OWNERS[0], NOW - timedelta(days=age), count=3)
    locked = set(sorted(old)[:2])
    lock_images(monkeypatch, locked)
    sweeper = retention(store, 1)

    assert [await sweeper.sweep() for _ in range(2)] == [10, 0]
    assert left(s3_settings) == locked
    store.close()


async def test_a_store_that_refuses_everything_is_not_unavailable(s3_settings: S3Settings) -> None:
    store = ImageStore(s3_settings.model_copy(update={"s3_secret_key": SecretStr("wrong")}))

    assert await store.remove(["a", "b"]) == {"a", "b"}
    store.close()


async def test_it_looks_again_after_an_hour(s3_settings: S3Settings) -> None:
    store = ImageStore(s3_settings)
    clock = [NOW]
    sweeper = ImageRetention(store, timedelta(days=1), lambda: milliseconds(clock[0]))
    assert await sweeper.sweep() == 0
    put_images(s3_settings, OWNERS[0], NOW - timedelta(days=3))
    assert await sweeper.sweep() == 0
    clock[0] += timedelta(hours=1)
    assert await sweeper.sweep() == 2
    store.close()


async def test_a_bucket_that_is_unavailable_is_tried_again_at_once(s3_settings: S3Settings) -> None:
    gone = ImageStore(s3_settings.model_copy(update={"s3_bucket": "not-there"}))
    sweeper = retention(gone, 1)
    for _ in range(2):
        with pytest.raises(TransientError):
            await sweeper.sweep()
    gone.close()
