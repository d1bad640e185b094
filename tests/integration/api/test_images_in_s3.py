"""Image links and snapshots with a real S3 server."""

import io
from collections.abc import AsyncIterator
from uuid import UUID

import httpx
import pytest

from api.adapters.image_store import ImageStore
from api.db.database import Database
from common.errors import TransientError
from common.records.object_keys import snapshot_key
from common.settings import S3Settings
from tests.integration.api import cameras, images
from tests.integration.api.application import Application, Caller, Options, running_application
from tests.services.s3 import s3_client

pytestmark = pytest.mark.integration

IMAGE = images.jpeg()


@pytest.fixture
async def application(database: Database, s3_settings: S3Settings) -> AsyncIterator[Application]:
    async with running_application(database, Options(s3=s3_settings)) as app:
        yield app


def _put(settings: S3Settings, key: str, metadata: dict[str, str | list[str] | tuple[str]]) -> None:
    s3_client(settings).put_object(
        settings.s3_bucket,
        key,
        io.BytesIO(IMAGE),
        len(IMAGE),
        content_type="image/jpeg",
        metadata=metadata,
    )


async def test_a_link_shows_the_image_and_nothing_else(s3_settings: S3Settings) -> None:
    store = ImageStore(s3_settings)
    _put(s3_settings, "recognitions/a/photo.jpg", {})
    link = store.link("recognitions/a/photo.jpg")
    async with httpx.AsyncClient() as client:
        shown = await client.get(link)
        assert (shown.status_code, shown.content) == (200, IMAGE)
        assert shown.headers["content-type"] == "image/jpeg"
        for spoilt in (link.replace("photo.jpg", "crop.jpg"), link.split("?")[0]):
            assert (await client.get(spoilt)).status_code == 403
        assert (await client.put(link, content=b"x")).status_code == 403
    store.close()


async def test_a_snapshot_comes_with_size_and_tag(
    application: Application, s3_settings: S3Settings
) -> None:
    caller, camera_id = await _camera(application)
    path = f"/api/cameras/{camera_id}/snapshot"
    async with application.client(caller) as client:
        before = await client.get(path)
        assert (before.status_code, before.json()["code"]) == (404, "not_found")

        key = snapshot_key(caller.owner_id, camera_id)
        _put(s3_settings, key, {"width": "1920", "height": "1080"})
        shown = await client.get(path)
        assert (shown.status_code, shown.content) == (200, IMAGE)
        assert shown.headers["content-type"] == "image/jpeg"
        assert shown.headers["x-frame-width"] == "1920"
        assert shown.headers["x-frame-height"] == "1080"

        tag = shown.headers["etag"]
        for given in (tag, f'"other", {tag}', f"W/{tag}", "*"):
            again = await client.get(path, headers={"If-None-Match": given})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
        assert (await client.get(path, headers={"If-None-Match": '"x"'})).status_code == 200


async def test_a_snapshot_without_a_known_size_comes_without_it(
    application: Application, s3_settings: S3Settings
) -> None:
    caller, camera_id = await _camera(application)
    _put(s3_settings, snapshot_key(caller.owner_id, camera_id), {})
    async with application.client(caller) as client:
        shown = await client.get(f"/api/cameras/{camera_id}/snapshot")

    assert shown.status_code == 200
    assert "x-frame-width" not in shown.headers


async def test_a_bucket_that_is_gone_is_a_fault_and_no_404(s3_settings: S3Settings) -> None:
    store = ImageStore(s3_settings.model_copy(update={"s3_bucket": "not-there"}))
    with pytest.raises(TransientError):
        await store.image("snapshots/a.jpg")
    with pytest.raises(TransientError, match="no bucket"):
        await store.ping()
    store.close()


async def _camera(application: Application) -> tuple[Caller, UUID]:
    caller = await application.new_owner()
    camera_id = cameras.add_camera(application.database.engine, caller.owner_id)
    return caller, camera_id
