"""Tiny, flat and tall images, with and without a key, while another caller sends normal images."""

import asyncio

import httpx
import pytest

from api.db.database import Database
from recognition.settings import RecognizerPoolSettings
from recognition.workers.pool import RecognizerPool
from tests.integration.api import images
from tests.integration.api.application import Options, running_application
from tests.odd_images import STRIP_SIZES, TINY_SIZES, TOO_LONG_SIZES, files_of_every_kind, jpeg

pytestmark = pytest.mark.integration

SETTINGS = {
    "recognition_workers": 1,
    "recognition_precision": "int8",
}


async def _sent(client: httpx.AsyncClient, path: str, image: bytes) -> httpx.Response:
    octets = {"Content-Type": "application/octet-stream"}
    return await client.post(path, content=image, headers=octets)


async def test_odd_images_have_no_plates_and_disturb_no_other_caller(database: Database) -> None:
    async with (
        RecognizerPool(RecognizerPoolSettings.model_validate(SETTINGS)) as pool,
        running_application(database, Options(reader=pool)) as application,
        application.client(await application.new_owner(credits=1_000)) as client,
        application.client(await application.new_owner(credits=1_000)) as other,
    ):
        workers = pool.pids
        for size in (*TINY_SIZES[::3], *STRIP_SIZES[::3]):
            image = jpeg(*size)
            *odd, usual = await asyncio.gather(
                _sent(client, "/api/recognize", image),
                _sent(client, "/api/demo", image),
                _sent(other, "/api/recognize", images.jpeg()),
            )
            assert usual.status_code == 200, usual.text
            for answer in odd:
                assert answer.status_code == 200, (size, answer.text)
                body = answer.json()
                assert (body["plates"], body["imageWidth"], body["imageHeight"]) == ([], *size)
        for image in files_of_every_kind(1, 1).values():
            answer = await _sent(client, "/api/recognize", image)
            assert (answer.status_code, answer.json()["plates"]) == (200, [])
        for size in TOO_LONG_SIZES:
            answer = await _sent(client, "/api/demo", jpeg(*size))
            assert (answer.status_code, answer.json()["code"]) == (400, "image_too_large")

        assert (pool.pids, pool.replaced) == (workers, 0)
