"""Cameras that cost credits: payment on creation, renewal, and partial refunds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from sqlalchemy import text

from api.db.database import Database
from common.records.cameras import CameraConfig
from common.records.codec import decode
from common.records.topics import CONFIG_CAMERAS
from tests.integration.api.application import Application, Options, running_application
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.outbox import outbox_of

pytestmark = pytest.mark.integration

PATH = "/api/cameras"
BODY = {"name": "Gate", "rtspUrl": "rtsp://10.0.0.8/1"}
PRICE = 30


@pytest.fixture
async def paid(database: Database) -> AsyncIterator[Application]:
    """An application in which a camera costs credits."""
    async with running_application(database, Options(subscription_credits=PRICE)) as application:
        yield application


async def test_a_camera_is_paid_when_it_is_created_and_refunded_in_part(
    paid: Application,
) -> None:
    async with _client(paid, credits=100) as client, taking_cameras(paid):
        camera = (await client.post(PATH, json=BODY)).json()["camera"]
        assert await _credits(client) == 70
        await _shift(paid, "- interval '10 days'")
        deleted = await client.delete(f"{PATH}/{camera['id']}")
        ledger = (await client.get("/api/credits")).json()["ledger"]

    # Just under 20 days are left. At 30 credits for 30 days, this is 19 whole credits.
    assert (deleted.status_code, deleted.json()) == (200, {"creditsRefunded": 19})
    rows = [(row["kind"], row["delta"], row["balance"]) for row in ledger]
    assert rows == [("refund", 19, 89), ("debit", -30, 70), ("grant", 100, 100)]


async def test_too_few_credits_is_402_and_nothing_is_stored(paid: Application) -> None:
    async with _client(paid, credits=PRICE - 1) as client, taking_cameras(paid):
        answer = await client.post(PATH, json=BODY)
        assert (answer.status_code, answer.json()["code"]) == (402, "insufficient_credits")
        assert (await client.get(PATH)).json() == {"cameras": []}
        assert await _credits(client) == PRICE - 1
    assert await outbox_of(paid.database, CONFIG_CAMERAS) == []


async def test_no_worker_costs_nothing(paid: Application) -> None:
    async with _client(paid, credits=PRICE) as client:
        assert (await client.post(PATH, json=BODY)).status_code == 502
        assert await _credits(client) == PRICE
        async with taking_cameras(paid):
            # No credits are reserved either.
            assert (await client.post(PATH, json=BODY)).status_code == 201
        assert await _credits(client) == 0


async def test_cameras_at_once_never_overspend(paid: Application) -> None:
    bodies = [BODY | {"rtspUrl": f"rtsp://10.0.0.{number}/"} for number in range(1, 5)]
    async with _client(paid, credits=2 * PRICE) as client, taking_cameras(paid):
        answers = await asyncio.gather(*(client.post(PATH, json=body) for body in bodies))
        assert await _credits(client) == 0

    assert sorted(answer.status_code for answer in answers) == [201, 201, 402, 402]


async def test_a_period_that_ends_is_paid_again_once(paid: Application) -> None:
    async with _client(paid, credits=2 * PRICE) as client, taking_cameras(paid):
        await client.post(PATH, json=BODY)
        assert await paid.services.cameras.renew() == 0
        await _shift(paid, "- interval '31 days'")
        renewals = await asyncio.gather(*(paid.services.cameras.renew() for _ in range(4)))
        assert await _credits(client) == 0
        (camera,) = (await client.get(PATH)).json()["cameras"]

    assert sum(renewals) == 1
    assert camera["enabled"]


async def test_a_camera_without_credits_is_disabled_until_paid(paid: Application) -> None:
    async with _client(paid, credits=PRICE) as client, taking_cameras(paid):
        camera = (await client.post(PATH, json=BODY)).json()["camera"]
        path = f"{PATH}/{camera['id']}"
        await _shift(paid, "- interval '31 days'")
        assert await paid.services.cameras.renew() == 1
        (listed,) = (await client.get(PATH)).json()["cameras"]
        assert not listed["enabled"]
        _, last = (await outbox_of(paid.database, CONFIG_CAMERAS))[-1]
        assert last is not None
        assert not decode(CameraConfig, last).enabled
        assert await paid.services.cameras.renew() == 0

        refused = await client.put(path, json={"enabled": True})
        assert refused.status_code == 402
        assert (await client.put(path, json={"name": "Other"})).status_code == 200
        await _grant(paid, PRICE)
        assert (await client.put(path, json={"enabled": True})).status_code == 200
        # Within the paid time, disabling and enabling a camera costs nothing.
        assert (await client.put(path, json={"enabled": False})).status_code == 200
        assert (await client.put(path, json={"enabled": True})).status_code == 200
        assert await _credits(client) == 0


@asynccontextmanager
async def _client(application: Application, *, credits: int) -> AsyncIterator[httpx.AsyncClient]:
    async with application.client(await application.new_owner(credits=credits)) as client:
        yield client


async def _credits(client: httpx.AsyncClient) -> int:
    return int((await client.get("/api/credits")).json()["credits"])


async def _shift(application: Application, by: str) -> None:
    """Move the end of the paid time, as if time had passed."""
    await application.database.run(
        lambda session: session.execute(text(f"UPDATE cameras SET paid_until = paid_until {by}"))
    )


async def _grant(application: Application, credits: int) -> None:
    await application.database.run(
        lambda session: session.execute(
            text("UPDATE credit_accounts SET balance = balance + :credits"), {"credits": credits}
        )
    )
