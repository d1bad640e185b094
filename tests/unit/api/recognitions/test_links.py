"""Links to images that may not have been stored yet."""

import asyncio
import time
from datetime import timedelta
from typing import cast

import msgspec
import pytest

from analytics_sql.recognitions import RecognitionRow, recognition_row
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.db.database import Database
from api.errors import Dependency, DependencyUnavailableError
from api.paging.cursor import CursorSealer
from api.recognitions import service
from api.recognitions.service import Links, Recognitions
from tests.records import recognition

DAY_MS = 86_400_000


class Images:
    """S3 with the images of some keys. It can hang, or be unavailable."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.asked: list[str] = []
        self.trouble = ""

    def link(self, key: str) -> str:
        return f"https://s3/{key}"

    async def has(self, key: str) -> bool:
        self.asked.append(key)
        if self.trouble == "hangs":
            await asyncio.sleep(60)
        if self.trouble == "away":
            raise DependencyUnavailableError(Dependency.IMAGES)
        return key in self.keys


@pytest.fixture
def images() -> Images:
    return Images()


@pytest.fixture
def recognitions(images: Images, monkeypatch: pytest.MonkeyPatch) -> Recognitions:
    monkeypatch.setattr(service, "_CHECK_SECONDS", 0.05)
    return Recognitions(
        cast(ClickHouseStore, None),
        cast(Database, None),
        cast(ImageStore, images),
        cast(CursorSealer, None),
        image_retention=timedelta(days=30),
    )


def row(age_ms: int = 0) -> RecognitionRow:
    made = recognition_row(recognition(1, captured_ms=time.time_ns() // 1_000_000 - age_ms))
    return msgspec.structs.replace(made, photo_key="photo", crop_key="crop")


BOTH = Links("https://s3/photo", "https://s3/crop")


async def test_what_is_not_stored_yet_is_not_linked(
    recognitions: Recognitions, images: Images
) -> None:
    assert await recognitions.links(row()) == Links(None, None)
    images.keys = {"photo"}
    assert await recognitions.links(row()) == Links("https://s3/photo", None)
    images.keys = {"photo", "crop"}
    assert await recognitions.links(row()) == BOTH


@pytest.mark.parametrize("trouble", ["hangs", "away"])
async def test_where_s3_does_not_say_both_are_linked_soon(
    recognitions: Recognitions, images: Images, trouble: str
) -> None:
    images.trouble = trouble
    began = time.monotonic()
    assert await recognitions.links(row()) == BOTH
    assert time.monotonic() - began < 1


async def test_s3_is_not_asked_about_what_is_old(
    recognitions: Recognitions, images: Images
) -> None:
    assert await recognitions.links(row(2 * DAY_MS)) == BOTH
    assert await recognitions.links(row(31 * DAY_MS)) == Links(None, None)
    assert images.asked == []
