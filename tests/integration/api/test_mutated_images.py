"""Corrupted images in real inference workers.

``make mutations`` sends ``PLATESTREAM_TEST_MUTATIONS`` images instead of a few dozen.
"""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from api.db.database import Database
from recognition.settings import RecognizerPoolSettings
from recognition.workers.pool import RecognizerPool
from tests.integration.api import images
from tests.integration.api.application import Options, running_application

pytestmark = pytest.mark.integration

OCTETS = {"Content-Type": "application/octet-stream"}
IMAGES = int(os.environ.get("PLATESTREAM_TEST_MUTATIONS", "20"))
_MAX_GROWTH_MIB = 300
_SIZES = ((64, 48), (640, 480), (33, 500))


async def test_spoilt_images_are_never_an_error_of_ours_and_cost_nothing(
    database: Database,
) -> None:
    chance = random.Random(4711)
    sources = [make(*size) for make in (images.jpeg, images.png) for size in _SIZES]
    settings = RecognizerPoolSettings.model_validate({"recognition_workers": 1})
    seen: Counter[int] = Counter()
    async with (
        RecognizerPool(settings) as pool,
        running_application(database, Options(reader=pool)) as application,
        application.client(await application.new_owner(credits=IMAGES)) as client,
    ):
        for source in sources:
            await client.post("/api/demo", content=source, headers=OCTETS)
        before = _resident_mib([os.getpid(), *pool.pids])
        workers = set(pool.pids)
        for number in range(IMAGES):
            data = _spoilt(chance, chance.choice(sources))
            answer = await client.post("/api/recognize", content=data, headers=OCTETS)
            seen[answer.status_code] += 1
            assert answer.status_code in (200, 400), (number, answer.text)
            if answer.status_code == 400:
                assert {"error", "code", "requestId"} <= set(answer.json())
        credits = (await client.get("/api/credits")).json()["credits"]
        grown = _resident_mib([os.getpid(), *pool.pids]) - before

        assert set(pool.pids) == workers, "a process died of an image"
    assert credits == IMAGES - seen[200]
    assert seen[200] > 0
    assert seen[400] > 0
    assert grown < _MAX_GROWTH_MIB, f"{grown:.0f} MiB more than before"


def _spoilt(chance: random.Random, source: bytes) -> bytes:
    data = bytearray(source)
    for _ in range(chance.randrange(1, 5)):
        if not data:
            break
        place = chance.randrange(len(data))
        match chance.randrange(6):
            case 0:
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                data[place : place + chance.randrange(1, 64)] = b""
            case 2:
                data[place:place] = chance.randbytes(chance.randrange(1, 64))
            case 3:
                data[place : place + 2] = b"\xff\xff"
            case 4:
                # The header contains sizes and tables.
                data[chance.randrange(min(200, len(data)))] = chance.randrange(256)
            case _:
                data = data[: max(1, place)]
    return bytes(data)


def _resident_mib(pids: list[int]) -> float:
    lines = [
        line
        for pid in pids
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    ]
    return sum(int(line.split()[1]) for line in lines) / 1024
