"""Image calls with storage: the photo in S3, the recognitions on their topic."""

import time
from collections.abc import Sequence
from uuid import UUID

import httpx
import pytest

from api.adapters.image_store import ImageStore
from api.db.database import Database
from common.errors import TransientError
from common.records.codec import decode
from common.records.frames import Box
from common.records.ids import NIL_UUID, uuid_unix_ms
from common.records.recognitions import (
    CharacterOption,
    PassOutcome,
    PlateReading,
    Recognition,
    RecognitionSource,
)
from common.records.topics import OUTCOMES, RECOGNITIONS
from common.settings import S3Settings
from tests.integration.api import images
from tests.integration.api.application import (
    Application,
    Caller,
    Options,
    running_application,
    s3_settings_of_nothing,
)
from tests.integration.api.outbox import outbox_of
from tests.services.s3 import s3_client

pytestmark = pytest.mark.integration

PATH = "/api/recognize"
OCTETS = {"Content-Type": "application/octet-stream"}


def _reading(text: str) -> PlateReading:
    options = tuple((CharacterOption(character=character, probability=0.9),) for character in text)
    return PlateReading(
        text=text,
        confidence=0.9,
        detection_confidence=0.8,
        box=Box(x=1, y=2, width=30, height=10),
        positions=options,
        region="GB",
    )


async def test_recognitions_are_stored_with_their_photo(
    database: Database, s3_settings: S3Settings
) -> None:
    image = images.png()
    async with running_application(database, Options(s3=s3_settings)) as application:
        application.reader.readings = (_reading("AB12CDE"), _reading("XY34"), _reading(""))
        owner = await application.new_owner(credits=3)
        before_ms = time.time_ns() // 1_000_000
        answer = await _recognize(application, owner, image, "?store=true")
        link = application.services.images.link
        found = await _recognitions(application)
    after_ms = time.time_ns() // 1_000_000

    assert answer.status_code == 200
    assert [recognition.plate for recognition in found] == ["AB12CDE", "XY34"]
    first, second = found
    assert len({first.id, second.id}) == 2
    for recognition in found:
        assert recognition.owner_id == owner.owner_id
        assert (recognition.camera_id, recognition.camera_name) == (NIL_UUID, "API")
        assert recognition.source is RecognitionSource.API
        assert before_ms <= recognition.captured_ms <= after_ms
        assert uuid_unix_ms(recognition.id) == recognition.captured_ms
        assert recognition.photo_key == first.photo_key
    assert first.character_confidences == (0.9,) * 7
    assert first.photo_key is not None
    stored = s3_client(s3_settings).get_object(s3_settings.s3_bucket, first.photo_key)
    try:
        assert stored.read() == image
    finally:
        stored.close()
        stored.release_conn()
    async with httpx.AsyncClient() as client:
        assert (await client.get(link(first.photo_key))).headers["content-type"] == "image/png"


@pytest.mark.parametrize("query", ["", "?store=false"])
async def test_nothing_is_stored_by_default(application: Application, query: str) -> None:
    application.reader.readings = (_reading("AB12CDE"),)
    owner = await application.new_owner(credits=1)
    answer = await _recognize(application, owner, images.jpeg(), query)

    assert answer.status_code == 200
    assert await _recognitions(application) == []


async def test_without_a_plate_nothing_is_stored(application: Application) -> None:
    owner = await application.new_owner(credits=1)
    answer = await _recognize(application, owner, images.jpeg(), "?store=true")

    assert answer.status_code == 200
    assert await _recognitions(application) == []


async def test_without_space_for_a_photo_its_plates_are_stored(
    database: Database, full_s3_server: S3Settings
) -> None:
    async with running_application(database, Options(s3=full_s3_server)) as application:
        application.reader.readings = (_reading("AB12CDE"),)
        owner = await application.new_owner(credits=1)
        answer = await _recognize(application, owner, images.jpeg(), "?store=true")
        found = await _recognitions(application)

    assert (answer.status_code, answer.json()["creditsRemaining"]) == (200, 0)
    assert [(each.plate, each.photo_key) for each in found] == [("AB12CDE", None)]


async def test_a_photo_that_cannot_be_stored_costs_nothing(database: Database) -> None:
    async with running_application(
        database, Options(images=_Away(s3_settings_of_nothing()))
    ) as application:
        application.reader.readings = (_reading("AB12CDE"),)
        owner = await application.new_owner(credits=1)
        answer = await _recognize(application, owner, images.jpeg(), "?store=true")
        async with application.client(owner) as client:
            credits = (await client.get("/api/credits")).json()["credits"]
        kept = await _recognitions(application)

    assert (answer.status_code, answer.json()["code"]) == (500, "dependency_unavailable")
    assert (credits, kept) == (1, [])


async def test_the_same_idempotency_key_keeps_once(database: Database) -> None:
    photos = _Counted()
    async with running_application(database, Options(images=photos)) as application:
        application.reader.readings = (_reading("AB12CDE"),)
        owner = await application.new_owner(credits=3)
        answers = [
            await _recognize(application, owner, images.jpeg(), query, key="k")
            for query in ("?store=true", "?store=true", "")
        ]
        kept = await _recognitions(application)

    assert [answer.status_code for answer in answers] == [200, 200, 409]
    assert len(kept) == len(photos.stored) == 1


async def test_a_bad_flag_is_400(application: Application) -> None:
    owner = await application.new_owner(credits=1)
    answer = await _recognize(application, owner, images.jpeg(), "?store=maybe")

    assert answer.status_code == 400
    assert [fault["path"] for fault in answer.json()["fields"]] == ["store"]


class _Away(ImageStore):
    async def put(self, key: str, data: bytes, content_type: str) -> None:
        raise TransientError("the image store does not answer")

    async def remove(self, keys: Sequence[str]) -> frozenset[str]:
        raise TransientError("the image store does not answer")


async def test_the_outcome_of_a_call_is_published_once_and_of_a_failed_one_never(
    application: Application,
) -> None:
    owner = await application.new_owner(credits=9)
    answers = [await _recognize(application, owner, images.jpeg(), "", key="a") for _ in range(2)]
    application.reader.readings = (_reading("AB12CDE"), _reading("XY34"))
    answers.append(await _recognize(application, owner, images.jpeg(), ""))
    application.reader.error = TransientError("unavailable")
    answers.append(await _recognize(application, owner, images.jpeg(), ""))
    rows = await outbox_of(application.database, OUTCOMES)
    outcomes = [decode(PassOutcome, value) for _, value in rows if value is not None]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 500]
    assert [one.accepted for one in outcomes] == [False, True]
    assert {one.owner_id for one in outcomes} == {owner.owner_id}
    assert {key for key, _ in rows} == {str(owner.owner_id)}
    assert all(uuid_unix_ms(one.id) == one.at_ms for one in outcomes)


class _Counted(ImageStore):
    """A store that only records what it is asked to store."""

    def __init__(self) -> None:
        super().__init__(s3_settings_of_nothing())
        self.stored: list[str] = []

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        self.stored.append(key)

    async def remove(self, keys: Sequence[str]) -> frozenset[str]:
        raise AssertionError("a call that succeeds removes nothing")


async def _recognize(
    application: Application, owner: Caller, image: bytes, query: str, *, key: str | None = None
) -> httpx.Response:
    headers = OCTETS if key is None else OCTETS | {"Idempotency-Key": key}
    async with application.client(owner) as client:
        return await client.post(PATH + query, content=image, headers=headers)


async def _recognitions(application: Application) -> list[Recognition]:
    rows = await outbox_of(application.database, RECOGNITIONS)
    found = [decode(Recognition, value) for _, value in rows if value is not None]
    assert [UUID(key) for key, _ in rows] == [recognition.owner_id for recognition in found]
    return found
