"""Calls in flight while their account is removed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from api.db.database import Database
from api.erasure.service import delete_account, end_account
from common.records.topics import CONFIG_CAMERAS
from tests.integration.api import images
from tests.integration.api.application import (
    PASSWORD,
    Application,
    Caller,
    Options,
    running_application,
)
from tests.integration.api.outbox import outbox_of
from tests.integration.api.waiting import until

pytestmark = pytest.mark.integration

Call = Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]
OCTETS = {"Content-Type": "application/octet-stream"}
HOOK = {"name": "h", "url": "https://1.1.1.1/", "events": ["recognition.created"]}
CAMERA = {"name": "Gate", "rtspUrl": "rtsp://1.1.1.1/a"}


def posted(path: str, **options: Any) -> Call:
    return lambda client: client.post(path, **options)


def got(path: str) -> Call:
    return lambda client: client.get(path)


CALLS = {
    "recognize": posted("/api/recognize", content=images.jpeg(), headers=OCTETS),
    "recognize once": posted(
        "/api/recognize", content=images.jpeg(), headers=OCTETS | {"Idempotency-Key": "k"}
    ),
    "alert": posted("/api/alertas", json={"name": "any", "plateMatchMode": "any"}),
    "alerts": got("/api/alertas"),
    "webhook": posted("/api/webhooks", json=HOOK),
    "camera": posted("/api/cameras", json=CAMERA),
    "key": posted("/api/api-keys", json={"name": "Desk", "scopes": ["cameras:read"]}),
    "analytics": got("/api/analytics"),
}


async def removed(database: Database, caller: Caller) -> None:
    await database.run(lambda session: end_account(session, caller.owner_id))
    await database.run(lambda session: delete_account(session, caller.owner_id))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_call_with_a_key_believed_before_the_removal_is_refused(
    application: Application, call: Call
) -> None:
    caller = await application.new_owner(credits=3)
    async with application.client(caller) as client:
        # From here on, the key is cached for a second.
        assert (await client.get("/api/credits")).status_code == 200
        await removed(application.database, caller)
        answer = await call(client)

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials"), answer.text
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_an_account_removed_while_its_camera_waits_for_a_worker_is_refused(
    database: Database,
) -> None:
    async with running_application(database, Options(assign_seconds=2)) as application:
        caller = await application.new_owner()
        async with application.client(caller) as client:
            waiting = asyncio.create_task(client.post("/api/cameras", json=CAMERA))

            async def is_published() -> bool:
                return bool(await outbox_of(database, CONFIG_CAMERAS))

            await until(is_published, seconds=10)
            await removed(database, caller)
            answer = await waiting

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials"), answer.text


async def test_a_login_during_the_removal_is_refused(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = await application.new_owner()
    sessions = application.services.sessions
    person = type(sessions)._person

    async def and_then_removed(self: Any, email: str, password: str, *, is_known: bool) -> Any:
        found = await person(self, email, password, is_known=is_known)
        await removed(application.database, caller)
        return found

    monkeypatch.setattr(type(sessions), "_person", and_then_removed)
    async with application.client() as client:
        answer = await client.post(
            "/api/session", json={"email": caller.email, "password": PASSWORD}
        )

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials"), answer.text
