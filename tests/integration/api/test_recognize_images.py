"""Valid and invalid images in real inference workers."""

from collections.abc import AsyncIterator

import httpx
import pytest

from api.db.database import Database
from api.middleware.bodies import MAX_IMAGE_BYTES
from recognition.settings import RecognizerPoolSettings
from recognition.workers.pool import RecognizerPool
from tests.integration.api import images
from tests.integration.api.application import Options, running_application

pytestmark = pytest.mark.integration

OCTETS = {"Content-Type": "application/octet-stream"}
BAD_IMAGES = {
    "empty": (b"", 400, "empty_image"),
    "gif_named_jpg": (images.gif(), 400, "unsupported_image"),
    "text": (b"hello", 400, "unsupported_image"),
    "truncated_jpeg": (images.truncated_jpeg(), 400, "truncated_image"),
    "jpeg_magic_only": (b"\xff\xd8\xff\xe0", 400, "unreadable_image"),
    "png_bomb": (images.png_bomb(), 400, "image_too_large"),
    "one_byte_too_many": (images.jpeg() + bytes(MAX_IMAGE_BYTES), 413, "body_too_large"),
}


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    settings = RecognizerPoolSettings.model_validate({"recognition_workers": 1})
    async with (
        RecognizerPool(settings) as pool,
        running_application(database, Options(reader=pool)) as application,
        application.client(await application.new_owner(credits=9)) as opened,
    ):
        yield opened


async def test_bad_images_are_refused_with_a_reason_and_cost_nothing(
    client: httpx.AsyncClient,
) -> None:
    for name, (data, status, code) in BAD_IMAGES.items():
        answer = await client.post("/api/recognize", content=data, headers=OCTETS)
        assert (answer.status_code, answer.json()["code"]) == (status, code), name

    assert (await client.get("/api/credits")).json()["credits"] == 9


async def test_a_good_image_costs_one_credit(client: httpx.AsyncClient) -> None:
    for image, size in ((images.jpeg(640, 480), (640, 480)), (images.png(320, 200), (320, 200))):
        before = (await client.get("/api/credits")).json()["credits"]
        answer = await client.post("/api/recognize", content=image, headers=OCTETS)
        body = answer.json()
        assert answer.status_code == 200
        assert set(body) == {
            "plates",
            "processingTimeMs",
            "imageWidth",
            "imageHeight",
            "creditsRemaining",
        }
        assert (body["imageWidth"], body["imageHeight"]) == size
        assert body["creditsRemaining"] == before - 1


async def test_a_body_without_end_is_cut_off(client: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b"\xff\xd8\xff"
        while True:
            sent += 65_536
            yield bytes(65_536)

    answer = await client.post("/api/recognize", content=endless(), headers=OCTETS)
    assert answer.status_code == 413
    assert sent <= MAX_IMAGE_BYTES + 2 * 65_536


def test_the_bomb_is_as_small_as_it_claims() -> None:
    assert len(images.png_bomb()) < 50_000
