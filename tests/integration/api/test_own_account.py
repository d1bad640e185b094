"""The account settings of a person: time zone, password and open sessions."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from api.db.database import Database
from api.sessions.attempts import AttemptRules
from common.records.alerts import AlertConfig
from common.records.codec import decode
from tests.integration.api.application import (
    PASSWORD,
    Application,
    Caller,
    Options,
    running_application,
)

pytestmark = pytest.mark.integration

SITE = "http://127.0.0.1:8000"
OTHER = "another password of a test"


@asynccontextmanager
async def _browser(
    application: Application, owner: Caller, password: str
) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(application.app)
    async with httpx.AsyncClient(
        transport=transport, base_url=SITE, headers={"Origin": SITE}
    ) as browser:
        login = {"email": owner.email, "password": password}
        assert (await browser.post("/api/session", json=login)).status_code == 200
        yield browser


@pytest.fixture
async def browser(application: Application, owner: Caller) -> AsyncIterator[httpx.AsyncClient]:
    async with _browser(application, owner, PASSWORD) as opened:
        yield opened


async def _published_alerts(database: Database) -> list[AlertConfig]:
    """Return the alerts in the outbox, in order."""
    query = "SELECT value FROM config_outbox WHERE topic = 'config-alerts' ORDER BY id"
    rows = await database.run(lambda session: session.execute(text(query)).all())
    return [decode(AlertConfig, bytes(value)) for (value,) in rows]


async def test_a_new_time_zone_holds_for_alerts_without_one(
    application: Application, browser: httpx.AsyncClient
) -> None:
    made = []
    for own in ({}, {"timezone": "Asia/Tokyo"}):
        answer = await browser.post("/api/alertas", json={"name": "n", **own})
        made.append(UUID(answer.json()["alert"]["id"]))
    answer = await browser.put("/api/account", json={"timezone": "Europe/Lisbon"})

    assert answer.status_code == 200, answer.text
    assert answer.json()["session"]["timezone"] == "Europe/Lisbon"
    assert (await browser.get("/api/session")).json() == answer.json()
    shown = {one["id"]: one for one in (await browser.get("/api/alertas")).json()["alerts"]}
    assert [shown[str(each)]["timezone"] for each in made] == ["Europe/Lisbon", "Asia/Tokyo"]
    published = await _published_alerts(application.database)
    assert [(one.alert_id, one.timezone) for one in published] == [
        (made[0], "UTC"),
        (made[1], "Asia/Tokyo"),
        (made[0], "Europe/Lisbon"),
    ]
    assert published[2].revision == published[0].revision + 1
    # The same value again is not a change.
    await browser.put("/api/account", json={"timezone": "Europe/Lisbon"})
    assert len(await _published_alerts(application.database)) == 3


async def test_a_new_password_ends_the_other_sessions_and_leaves_keys(
    application: Application, owner: Caller, browser: httpx.AsyncClient
) -> None:
    async with _browser(application, owner, PASSWORD) as elsewhere:
        change = {"currentPassword": PASSWORD, "newPassword": OTHER}
        answer = await browser.put("/api/account", json=change)
        assert answer.status_code == 200, answer.text
        assert (await browser.get("/api/credits")).status_code == 200
        assert (await elsewhere.get("/api/credits")).status_code == 401
    async with application.client(owner) as client:
        assert (await client.get("/api/credits")).status_code == 200
    login = {"email": owner.email, "password": PASSWORD}
    assert (await browser.post("/api/session", json=login)).status_code == 401
    async with _browser(application, owner, OTHER):
        pass


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"timezone": "Nowhere/Town"}, "timezone"),
        ({"timezone": None}, "timezone"),
        ({"newPassword": "a new password"}, "body"),
        ({"newPassword": "short", "currentPassword": PASSWORD}, "newPassword"),
        ({"newPassword": OTHER, "currentPassword": "wrong"}, "currentPassword"),
        ({"email": "a@b.c"}, "email"),
    ],
)
async def test_a_change_that_is_not_valid_changes_nothing(
    browser: httpx.AsyncClient, body: dict[str, Any], path: str
) -> None:
    before = (await browser.get("/api/session")).json()
    answer = await browser.put("/api/account", json={"timezone": "Asia/Tokyo", **body})

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, path)
    assert (await browser.get("/api/session")).json() == before


async def test_wrong_passwords_count_like_login_attempts(database: Database) -> None:
    rules = AttemptRules(per_minute=2, per_address_per_minute=0, per_account_per_hour=0)
    async with running_application(database, Options(attempts=rules)) as application:
        owner = await application.new_owner()
        async with _browser(application, owner, PASSWORD) as browser:
            wrong = {"currentPassword": "wrong", "newPassword": OTHER}
            answers = [await browser.put("/api/account", json=wrong) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [400, 400, 429]


async def test_sessions_are_listed_and_ended(
    application: Application, owner: Caller, browser: httpx.AsyncClient
) -> None:
    stranger = await application.new_owner()
    async with (
        _browser(application, owner, PASSWORD) as elsewhere,
        _browser(application, stranger, PASSWORD) as other,
    ):
        listed = (await browser.get("/api/sessions")).json()["sessions"]
        assert [one["isCurrent"] for one in listed] == [False, True]
        path = f"/api/sessions/{listed[0]['id']}"
        assert (await other.delete(path)).status_code == 404
        assert (await elsewhere.get("/api/credits")).status_code == 200
        assert (await browser.delete(path)).status_code == 204
        began = time.monotonic()
        assert (await elsewhere.get("/api/credits")).status_code == 401
        assert time.monotonic() - began < 5
        assert (await browser.delete(path)).status_code == 404
        assert len((await browser.get("/api/sessions")).json()["sessions"]) == 1


async def test_a_key_changes_no_account(application: Application, owner: Caller) -> None:
    async with application.client(owner) as client:
        answers = [
            await client.put("/api/account", json={"timezone": "Asia/Tokyo"}),
            await client.get("/api/sessions"),
            await client.delete("/api/sessions/1"),
        ]

    assert [answer.status_code for answer in answers] == [403] * 3
