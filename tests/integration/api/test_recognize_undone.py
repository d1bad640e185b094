"""The image of a failed image call is deleted, unless a record may refer to the image."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

import pytest
from sqlalchemy.orm import Session

from api.accounts.repository import OwnerNotFoundError
from api.adapters.image_store import ImageStore
from api.db.database import Database
from api.erasure.service import delete_account, end_account
from api.errors import Dependency, DependencyUnavailableError
from api.recognize.readers import FairReader
from api.recognize.service import ImageCall, ImageRecognition
from common.records.codec import decode
from common.records.frames import Box
from common.records.recognitions import PlateReading, Recognition
from common.records.topics import RECOGNITIONS
from common.settings import DatabaseSettings
from recognition.workers.protocol import ImageReadings
from tests.integration.api import images
from tests.integration.api.application import Application, Caller
from tests.integration.api.outbox import outbox_of
from tests.unit.api.callers import endless_limits

pytestmark = pytest.mark.integration

_T = TypeVar("_T")
READING = PlateReading(
    text="AB12CDE",
    confidence=0.9,
    detection_confidence=0.8,
    box=Box(x=1, y=2, width=30, height=10),
    positions=(),
)


@dataclass
class Reader:
    """Reads one plate after the test has released the reader."""

    may_read: asyncio.Event = field(default_factory=asyncio.Event)
    is_reading: asyncio.Event = field(default_factory=asyncio.Event)

    async def read_image(self, data: bytes, *, wait_seconds: float) -> ImageReadings:
        self.is_reading.set()
        await self.may_read.wait()
        return ImageReadings(readings=(READING,), width_px=640, height_px=480, duration_ms=1.0)


@dataclass
class Photos(ImageStore):
    """An image store that can be slow, and can fail after storing the image."""

    stored: set[str] = field(default_factory=set)
    error: Exception | None = None
    is_unavailable: bool = False
    is_putting: asyncio.Event = field(default_factory=asyncio.Event)
    may_put: asyncio.Event = field(default_factory=asyncio.Event)

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        self.is_putting.set()
        await self.may_put.wait()
        self.stored.add(key)
        if self.error is not None:
            raise self.error

    async def remove(self, keys: Sequence[str]) -> frozenset[str]:
        if self.is_unavailable:
            raise DependencyUnavailableError(Dependency.IMAGES)
        self.stored -= set(keys)
        return frozenset()


class Unsure(Database):
    """Is unavailable before or after a given transaction, and optionally in all later ones."""

    lost_before: int | None = None
    lost_after: int | None = None
    stays_unavailable = False
    runs = 0

    async def run(self, work: Callable[[Session], _T]) -> _T:
        number, self.runs = self.runs, self.runs + 1
        begun = [lost for lost in (self.lost_before, self.lost_after) if lost is not None]
        if number == self.lost_before or (self.stays_unavailable and begun and number > begun[0]):
            raise DependencyUnavailableError(Dependency.CONFIGURATION)
        done = await super().run(work)
        if number == self.lost_after:
            raise DependencyUnavailableError(Dependency.CONFIGURATION)
        return done


@dataclass
class World:
    application: Application
    database: Unsure
    caller: Caller
    reader: Reader = field(default_factory=Reader)
    photos: Photos = field(default_factory=Photos)

    def call(self, key: str | None = None) -> "asyncio.Task[object]":
        recognition = ImageRecognition(
            self.database,
            FairReader(self.reader, at_once=2, waiting=9, wait_seconds=60),
            self.photos,
            endless_limits(),
            lease=timedelta(seconds=30),
        )
        asked = ImageCall(images.jpeg(), store=True, key=key)
        return asyncio.create_task(recognition.recognize(self.caller.owner_id, asked))

    async def named(self) -> set[str | None]:
        rows = await outbox_of(self.application.database, RECOGNITIONS)
        return {decode(Recognition, value).photo_key for _, value in rows if value is not None}

    async def credits(self) -> int:
        async with self.application.client(self.caller) as client:
            credits: int = (await client.get("/api/credits")).json()["credits"]
        return credits


@pytest.fixture
async def world(application: Application, api_database: DatabaseSettings) -> AsyncIterator[World]:
    unsure = Unsure(api_database, pool_size=4)
    found = World(application, unsure, await application.new_owner(credits=5))
    found.photos.may_put.set()
    found.reader.may_read.set()
    yield found
    unsure.close()


async def _removed(database: Database, owner_id: UUID) -> None:
    await database.run(lambda session: end_account(session, owner_id))
    await database.run(lambda session: delete_account(session, owner_id))


@pytest.mark.parametrize("key", [None, "once"])
async def test_an_account_that_is_removed_meanwhile_keeps_no_photo(
    world: World, key: str | None
) -> None:
    world.reader.may_read.clear()
    call = world.call(key)
    await world.reader.is_reading.wait()
    await _removed(world.application.database, world.caller.owner_id)
    world.reader.may_read.set()

    with pytest.raises(OwnerNotFoundError):
        await call
    assert world.photos.is_putting.is_set()
    assert world.photos.stored == await world.named() == set()


async def test_a_photo_that_was_stored_although_the_store_failed_is_removed(world: World) -> None:
    world.photos.error = DependencyUnavailableError(Dependency.IMAGES)

    with pytest.raises(DependencyUnavailableError):
        await world.call()
    assert world.photos.stored == await world.named() == set()
    assert await world.credits() == 5


async def test_a_call_that_was_not_committed_keeps_no_photo(world: World) -> None:
    world.database.lost_before = 1

    with pytest.raises(DependencyUnavailableError):
        await world.call()
    assert world.photos.stored == await world.named() == set()
    assert await world.credits() == 5


@pytest.mark.parametrize("stays_unavailable", [False, True])
async def test_a_call_that_was_committed_without_an_answer_keeps_its_photo(
    world: World, stays_unavailable: bool
) -> None:
    world.database.lost_after, world.database.stays_unavailable = 1, stays_unavailable

    with pytest.raises(DependencyUnavailableError):
        await world.call("once")
    assert len(world.photos.stored) == 1
    assert world.photos.stored == await world.named()
    assert await world.credits() == 4


async def test_a_database_that_stays_unavailable_leaves_the_photo(world: World) -> None:
    world.database.lost_before, world.database.stays_unavailable = 1, True

    with pytest.raises(DependencyUnavailableError):
        await world.call()
    assert len(world.photos.stored) == 1


async def test_a_failed_call_leaves_the_photo_of_the_one_before(world: World) -> None:
    await world.call("once")
    before = set(world.photos.stored)
    world.photos.error = DependencyUnavailableError(Dependency.IMAGES)
    await world.call("once")
    with pytest.raises(DependencyUnavailableError):
        await world.call("another")

    assert world.photos.stored == before == await world.named()


async def test_a_call_that_is_cancelled_while_its_photo_is_stored_keeps_none(world: World) -> None:
    world.photos.may_put.clear()
    call = world.call()
    await world.photos.is_putting.wait()
    call.cancel()
    await asyncio.sleep(0)
    world.photos.may_put.set()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert world.photos.stored == await world.named() == set()


async def test_a_store_that_is_unavailable_hides_no_error(world: World) -> None:
    world.photos.error, world.photos.is_unavailable = (
        DependencyUnavailableError(Dependency.IMAGES, "is full"),
        True,
    )

    with pytest.raises(DependencyUnavailableError, match="is full"):
        await world.call()
