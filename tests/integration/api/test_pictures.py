"""Photos, crops and thumbnails through the API, with a real S3 server."""

import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from PIL import Image

from analytics_sql.erasure import Erasures
from analytics_sql.recognitions import RecognitionRow
from api.db.database import Database
from api.limits.limiter import LimitRules
from api.live.recent import LiveRecord
from api.security.permissions import Scope
from common.records.ids import recognition_id
from common.records.object_keys import crop_key, photo_key, snapshot_key
from common.settings import S3Settings
from tests.integration.api import cameras
from tests.integration.api.application import (
    PASSWORD,
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.records import plain_row
from tests.services.s3 import s3_client

pytestmark = pytest.mark.integration


def _image(width: int, height: int, kind: str = "JPEG") -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (width, height), (10, 120, 200)).save(data, kind)
    return data.getvalue()


PHOTO, CROP = _image(1280, 720), _image(96, 24)


class Rows(StandInStore):
    """Has some recognitions, and counts the requests for a recognition."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[UUID, RecognitionRow] = {}
        self.finds = 0

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        self.finds += 1
        row = self.rows.get(recognition_id)
        return row if row is not None and row.user_id == owner_id else None

    def add(self, owner_id: UUID, captured_ms: int | None = None, **keys: str | None) -> UUID:
        """Add a recognition, and return its ID. Without ``keys``, it has both image keys."""
        at_ms = captured_ms or int(datetime.now(UTC).timestamp() * 1000)
        identifier = recognition_id(at_ms, UUID(int=1), str(len(self.rows)))
        images: dict[str, Any] = {
            "photo_key": photo_key(owner_id, identifier),
            "crop_key": crop_key(owner_id, identifier),
            **keys,
        }
        self.rows[identifier] = plain_row(owner_id, at_ms, id=identifier, **images)
        return identifier


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
async def application(
    database: Database, s3_settings: S3Settings, rows: Rows
) -> AsyncIterator[Application]:
    async with running_application(database, Options(s3=s3_settings, store=rows)) as app:
        yield app


def _put(settings: S3Settings, key: str | None, data: bytes) -> None:
    assert key is not None
    s3_client(settings).put_object(settings.s3_bucket, key, io.BytesIO(data), len(data))


@pytest.fixture
def stored(owner: Caller, rows: Rows, s3_settings: S3Settings) -> str:
    """The path of a recognition with stored images."""
    identifier = rows.add(owner.owner_id)
    _put(s3_settings, rows.rows[identifier].photo_key, PHOTO)
    _put(s3_settings, rows.rows[identifier].crop_key, CROP)
    return f"/api/recognitions/{identifier}"


async def test_both_images_come_as_they_are_stored(
    application: Application, owner: Caller, stored: str
) -> None:
    async with application.client(owner) as client:
        for part, data in (("photo", PHOTO), ("crop", CROP)):
            answer = await client.get(f"{stored}/{part}")
            assert (answer.status_code, answer.content) == (200, data)
            assert answer.headers["content-type"] == "image/jpeg"
            assert answer.headers["cache-control"] == "private, max-age=3600"
            assert answer.headers["x-content-type-options"] == "nosniff"
            head = await client.head(f"{stored}/{part}")
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(data))


async def test_a_session_sees_them_too(
    application: Application, owner: Caller, stored: str
) -> None:
    async with application.client() as browser:
        login = {"email": owner.email, "password": PASSWORD}
        made = await browser.post("/api/session", json=login)
        cookie = f"__Host-session={made.cookies['__Host-session']}"
        answer = await browser.get(f"{stored}/photo", headers={"Cookie": cookie})

    assert (answer.status_code, answer.content) == (200, PHOTO)


async def test_the_tag_saves_the_transfer(
    application: Application, owner: Caller, stored: str, s3_settings: S3Settings, rows: Rows
) -> None:
    async with application.client(owner) as client:
        tag = (await client.get(f"{stored}/photo")).headers["etag"]
        other = (await client.get(f"{stored}/crop")).headers["etag"]
        small = (await client.get(f"{stored}/photo", params={"width": 64})).headers["etag"]
        assert len({tag, other, small}) == 3
        (row,) = rows.rows.values()
        # A client that has the image gets a 304 response without a call to S3.
        s3_client(s3_settings).remove_object(s3_settings.s3_bucket, str(row.photo_key))
        for given in (tag, f"{other}, W/{tag}", "*"):
            again = await client.get(f"{stored}/photo", headers={"If-None-Match": given})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
        changed = await client.get(f"{stored}/photo", headers={"If-None-Match": other})
        assert changed.status_code == 404


@pytest.mark.parametrize(
    ("asked", "first", "stop"),
    [
        ("bytes=0-9", 0, 10),
        ("bytes=100-", 100, len(PHOTO)),
        ("bytes=-7", len(PHOTO) - 7, len(PHOTO)),
        (f"bytes=5-{10**17}", 5, len(PHOTO)),
        (f"bytes=-{10**17}", 0, len(PHOTO)),
    ],
)
async def test_a_range_is_returned_alone(
    application: Application, owner: Caller, stored: str, asked: str, first: int, stop: int
) -> None:
    async with application.client(owner) as client:
        answer = await client.get(f"{stored}/photo", headers={"Range": asked})

    assert (answer.status_code, answer.content) == (206, PHOTO[first:stop])
    assert answer.headers["content-range"] == f"bytes {first}-{stop - 1}/{len(PHOTO)}"


async def test_a_range_of_something_else_is_everything(
    application: Application, owner: Caller, stored: str
) -> None:
    async with application.client(owner) as client:
        tag = (await client.get(f"{stored}/photo")).headers["etag"]
        for asked in ("bytes=3-1", "bytes=-", "lines=1-2", "bytes=0-1,4-5", "bytes=a-b"):
            assert (
                await client.get(f"{stored}/photo", headers={"Range": asked})
            ).status_code == 200
        part = {"Range": "bytes=0-1"}
        same = await client.get(f"{stored}/photo", headers={**part, "If-Range": tag})
        other = await client.get(f"{stored}/photo", headers={**part, "If-Range": '"other"'})
        beyond = await client.get(f"{stored}/photo", headers={"Range": f"bytes={len(PHOTO)}-"})

    assert (same.status_code, other.status_code) == (206, 200)
    assert (beyond.status_code, beyond.content) == (200, PHOTO)


async def test_a_thumbnail_is_a_small_jpeg(
    application: Application, owner: Caller, stored: str
) -> None:
    async with application.client(owner) as client:
        small = await client.get(f"{stored}/photo", params={"width": 160})
        again = await client.get(f"{stored}/photo", params={"width": 160})
        crop = await client.get(f"{stored}/crop", params={"width": 1024})
        wrong = [
            (await client.get(f"{stored}/photo", params={"width": width})).status_code
            for width in ("15", "1025", "x", "1_0", "")
        ]

    with Image.open(io.BytesIO(small.content)) as image:
        assert (image.format, image.size) == ("JPEG", (160, 90))
    assert again.content == small.content
    with Image.open(io.BytesIO(crop.content)) as image:
        assert image.size == (96, 24)
    assert wrong == [400] * 5


async def test_a_png_of_an_image_call_keeps_its_kind(
    application: Application, owner: Caller, rows: Rows, s3_settings: S3Settings
) -> None:
    key = f"recognitions/{owner.owner_id}/photo.png"
    identifier = rows.add(owner.owner_id, photo_key=key, crop_key=None)
    _put(s3_settings, key, _image(64, 32, "PNG"))
    async with application.client(owner) as client:
        whole = await client.get(f"/api/recognitions/{identifier}/photo")
        small = await client.get(f"/api/recognitions/{identifier}/photo?width=16")
        crop = await client.get(f"/api/recognitions/{identifier}/crop")

    assert whole.headers["content-type"] == "image/png"
    assert small.headers["content-type"] == "image/jpeg"
    assert (crop.status_code, crop.json()["code"]) == (404, "not_found")
    assert crop.json()["error"] == "No crop was stored for this recognition."


async def test_404_says_why(application: Application, owner: Caller, rows: Rows) -> None:
    identifier = rows.add(owner.owner_id)
    stranger = await application.new_owner()
    async with application.client(owner) as client, application.client(stranger) as other:
        lost = await client.get(f"/api/recognitions/{identifier}/photo")
        unknown = await client.get(f"/api/recognitions/{UUID(int=9)}/photo")
        anothers = await other.get(f"/api/recognitions/{identifier}/photo")

    assert lost.status_code == unknown.status_code == anothers.status_code == 404
    assert lost.json()["error"] == "The photo is not available in the image store."
    assert lost.headers["cache-control"] == "private, no-store"
    said = [{**answer.json(), "requestId": ""} for answer in (unknown, anothers)]
    assert said[0] == said[1]


async def test_what_a_stream_has_just_shown_has_its_images(
    application: Application, owner: Caller, rows: Rows, s3_settings: S3Settings
) -> None:
    identifier = rows.add(owner.owner_id)
    row = rows.rows.pop(identifier)
    _put(s3_settings, row.photo_key, PHOTO)
    application.recent.post([LiveRecord(0, 0, row)])
    stranger = await application.new_owner()
    path = f"/api/recognitions/{identifier}/photo"
    async with application.client(owner) as client, application.client(stranger) as other:
        # No image is returned until the erasures are known.
        assert (await client.get(path)).status_code == 404
        application.recent.apply_erasures(Erasures())
        assert (await client.get(path)).status_code == 200
        assert (await other.get(path)).status_code == 404


async def test_snapshots_come_small_as_well(
    application: Application, owner: Caller, s3_settings: S3Settings
) -> None:
    camera_id = cameras.add_camera(application.database.engine, owner.owner_id)
    path = f"/api/cameras/{camera_id}/snapshot"
    async with application.client(owner) as client:
        assert (await client.get(path, params={"width": 64})).status_code == 404
        tags = []
        for height in (720, 360):
            _put(s3_settings, snapshot_key(owner.owner_id, camera_id), _image(1280, height))
            for _ in range(2):
                small = await client.get(path, params={"width": 64})
                with Image.open(io.BytesIO(small.content)) as image:
                    assert image.size == (64, height // 20)
            tags.append(small.headers["etag"])
            known = {"If-None-Match": small.headers["etag"]}
            again = await client.get(path, params={"width": 64}, headers=known)
            assert (again.status_code, again.headers["cache-control"]) == (304, "private, no-cache")

    assert tags[0] != tags[1]


async def test_images_need_the_scope_and_have_their_own_limit(
    database: Database, s3_settings: S3Settings, rows: Rows
) -> None:
    limits = LimitRules(1, 1, 1, 300, pictures_per_minute=3)
    options = Options(s3=s3_settings, store=rows, limits=limits)
    async with running_application(database, options) as application:
        caller = await application.new_owner(scopes=frozenset({Scope.RECOGNITIONS_READ}))
        without = await application.new_owner(scopes=frozenset({Scope.CAMERAS_READ}))
        path = f"/api/recognitions/{rows.add(caller.owner_id)}/crop"
        async with application.client(caller) as client, application.client(without) as other:
            answers = [await client.get(path) for _ in range(4)]
            listed = await client.get("/api/recognitions")
            refused = await other.get(path)

    assert [answer.status_code for answer in answers] == [404, 404, 404, 429]
    assert answers[0].headers["ratelimit-limit"] == "3"
    assert listed.status_code == 200
    assert refused.status_code == 403


async def test_images_past_their_retention_are_404(
    database: Database, s3_settings: S3Settings, rows: Rows
) -> None:
    options = Options(s3=s3_settings, store=rows, image_retention_days=30)
    async with running_application(database, options) as application:
        caller = await application.new_owner()
        old_ms = int(datetime.now(UTC).timestamp() * 1000) - 31 * 86_400_000
        identifier = rows.add(caller.owner_id, old_ms)
        _put(s3_settings, rows.rows[identifier].photo_key, PHOTO)
        async with application.client(caller) as client:
            answer = await client.get(f"/api/recognitions/{identifier}/photo")

    assert answer.status_code == 404
    assert answer.json()["error"] == "The photo was deleted at the end of its retention period."
