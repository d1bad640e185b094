"""The demo endpoint: no key, no cost, nothing stored, few calls per address."""

import httpx
import pytest
from sqlalchemy import text

from api.db.database import Database
from api.limits.limiter import LimitRules
from tests.integration.api import images
from tests.integration.api.application import Application, Options, running_application

pytestmark = pytest.mark.integration

PATH = "/api/demo"
OCTETS = {"Content-Type": "application/octet-stream"}
_ROWS = "SELECT (SELECT count(*) FROM credit_entries) + (SELECT count(*) FROM config_outbox)"
FIVE = LimitRules(per_minute=0, recognize_per_minute=0, demo_per_minute=5, block_seconds=60)


async def test_the_answer_is_that_of_the_image_call_without_credits(
    application: Application,
) -> None:
    async with application.client() as client:
        answer = await client.post(PATH, content=images.jpeg(), headers=OCTETS)
    rows = await application.database.run(lambda session: session.scalar(text(_ROWS)))

    assert answer.status_code == 200
    body = answer.json()
    assert body.pop("processingTimeMs") >= 0
    assert body == {"plates": [], "imageWidth": 640, "imageHeight": 480}
    assert rows == 0


async def test_what_is_no_image_is_refused(application: Application) -> None:
    async with application.client() as client:
        answers = [
            await client.post(PATH, content=b"", headers=OCTETS),
            await client.post(PATH, content=images.gif(), headers=OCTETS),
            await client.post(PATH, content=images.jpeg()),
            await client.get(PATH),
        ]

    assert [answer.status_code for answer in answers] == [400, 400, 415, 405]


async def test_disabled_it_is_404(database: Database) -> None:
    async with (
        running_application(database, Options(demo_enabled=False)) as application,
        application.client() as client,
    ):
        answer = await client.post(PATH, content=images.jpeg(), headers=OCTETS)

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert application.reader.calls == 0


async def test_five_calls_a_minute_for_each_address(database: Database) -> None:
    async with running_application(
        database, Options(limits=FIVE, trusted_proxies="127.0.0.0/8")
    ) as application:
        answers = [await _from(application, "198.51.100.1") for _ in range(6)]
        other_client = await _from(application, "198.51.100.2")
        made_up = await _from(application, "198.51.100.9, 198.51.100.1")

    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[0].headers["ratelimit-remaining"] == "4"
    assert answers[-1].json()["code"] == "rate_limited"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert other_client.status_code == 200
    assert made_up.status_code == 429


async def test_an_untrusted_forwarded_address_is_ignored(database: Database) -> None:
    async with running_application(database, Options(limits=FIVE)) as application:
        statuses = [
            (await _from(application, f"198.51.100.{number}")).status_code for number in range(6)
        ]

    assert statuses == [200] * 5 + [429]


async def _from(application: Application, forwarded_for: str) -> httpx.Response:
    async with application.client() as client:
        headers = OCTETS | {"X-Forwarded-For": forwarded_for}
        return await client.post(PATH, content=images.jpeg(), headers=headers)
