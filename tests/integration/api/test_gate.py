"""Credentials, scopes and limits at the gate, with keys from a real database."""

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.access import ACCESS, BodyKind, Public
from api.accounts import keys
from api.accounts.authentication import Authenticator
from api.accounts.cache import CACHE_SECONDS
from api.accounts.service import create_key
from api.cameras.repository import confirm_camera, insert_camera
from api.db.engine import Database
from api.errors import ApiError
from api.json_body import MAX_JSON_BODY_BYTES
from api.limits import LimitRules
from api.scopes import Scope
from tests.integration.api import images
from tests.integration.api.application import Application, Caller, Options, running_application
from tests.integration.api.cameras import values as camera_values

pytestmark = pytest.mark.integration

GATED = [(key, access) for key, access in ACCESS.items() if not isinstance(access.scope, Public)]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "missing_credentials"),
        ("", "missing_credentials"),
        ("Bearer", "missing_credentials"),
        ("Basic dXNlcjpwYXNz", "missing_credentials"),
        ("Bearer nonsense", "invalid_credentials"),
        (f"Bearer {keys.new_key()[:-1]}0", "invalid_credentials"),
        (f"Bearer {keys.new_key()}", "invalid_credentials"),
    ],
    ids=["none", "empty", "bare", "basic", "nonsense", "mistyped", "unknown"],
)
async def test_no_good_credential_is_401_on_every_route(
    application: Application, header: str | None, code: str
) -> None:
    headers = {} if header is None else {"Authorization": header}
    async with application.client() as client:
        for (method, path), _ in GATED:
            answer = await client.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, code), path
            assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_key_opens_what_its_scope_names_and_nothing_else(
    application: Application,
) -> None:
    for scope in Scope:
        caller = await application.new_owner(scopes=frozenset({scope}))
        async with application.client(caller) as client:
            for (method, path), access in GATED:
                answer = await client.request(method, _filled(path))
                assert (answer.status_code == 403) == (access.scope is not scope), (method, path)
                if answer.status_code == 403:
                    assert answer.json()["code"] == "missing_scope"


async def test_ids_of_another_owner_are_404_on_every_route(application: Application) -> None:
    owner, other = await application.new_owner(), await application.new_owner()
    foreign = await _one_of_each(application, owner)
    walked = 0
    async with application.client(other) as client:
        for (method, path), access in GATED:
            if "{" not in path:
                continue
            for identifier in (*foreign, str(uuid.uuid4()), "not-a-uuid"):
                answer = await client.request(
                    method,
                    _filled(path, identifier),
                    json=_body(path) if access.body is BodyKind.JSON else None,
                )
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
                walked += 1

    assert walked >= 6 * 15
    assert walked == 6 * sum("{" in path for (_, path), _ in GATED)


async def test_credentials_come_before_everything_else(application: Application) -> None:
    async with application.client() as client:
        answer = await client.post("/api/cameras", content=b"{" * 10, headers={"X-Request-Id": "r"})

    assert (answer.status_code, answer.headers["x-request-id"]) == (401, "r")


async def test_a_wrong_content_type_is_415(application: Application) -> None:
    async with application.client(await application.new_owner()) as client:
        for (method, path), access in GATED:
            if access.body is BodyKind.NONE:
                continue
            for given in ("text/plain", "multipart/form-data", None):
                headers = {} if given is None else {"Content-Type": given}
                url = _filled(path)
                answer = await client.request(method, url, content=b"{}", headers=headers)
                assert answer.status_code == 415, (path, given)


async def test_a_json_body_that_is_too_large_is_413(application: Application) -> None:
    async with application.client(await application.new_owner()) as client:
        answer = await client.post(
            "/api/cameras",
            content=b'"' + b"a" * MAX_JSON_BODY_BYTES + b'"',
            headers={"Content-Type": "application/json; charset=utf-8"},
        )

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("path", ["/api/alertas", "/api/session"])
async def test_a_json_body_that_trickles_in_is_given_up(
    application: Application, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("api.json_body.BODY_SECONDS", 0.1)

    async def trickle() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(5)

    async with application.client(await application.new_owner()) as client:
        answer = await client.post(
            path, content=trickle(), headers={"Content-Type": "application/json"}
        )

    assert (answer.status_code, answer.json()["code"]) == (400, "incomplete_body")


async def test_limits_at_the_gate(database: Database) -> None:
    rules = LimitRules(per_minute=3, recognize_per_minute=1, demo_per_minute=0, block_seconds=60)
    async with running_application(database, Options(limits=rules)) as application:
        caller = await application.new_owner()
        async with application.client(caller) as client:
            answers = [await client.get("/api/credits") for _ in range(4)]
        # Another key of the same owner has its own window.
        other = await _new_key(application, caller.owner_id)
        async with application.client(other) as client:
            assert (await client.get("/api/credits")).status_code == 200

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
    refused = answers[-1]
    assert refused.json()["retryAfter"] == int(refused.headers["retry-after"])
    assert 1 <= refused.json()["retryAfter"] <= 60


async def test_every_answer_to_a_call_that_counts_tells_what_is_left(database: Database) -> None:
    rules = LimitRules(per_minute=9, recognize_per_minute=4, demo_per_minute=2, block_seconds=60)
    async with running_application(database, Options(limits=rules)) as application:
        scopes = frozenset({Scope.RECOGNITIONS_READ, Scope.RECOGNITIONS_WRITE, Scope.ALERTS_WRITE})
        octets = {"Content-Type": "application/octet-stream"}
        async with application.client(await application.new_owner(scopes=scopes)) as client:
            answers = [
                await client.get("/api/recognitions"),
                await client.get("/api/recognitions", params={"limit": "0"}),
                await client.get(f"/api/recognitions/{uuid.uuid4()}"),
                await client.get("/api/cameras"),
                await client.post("/api/alertas", content=b"{}"),
                await client.post("/api/alertas", json={"name": "x"}),
                await client.post("/api/recognize", content=b"", headers=octets),
                await client.post("/api/recognize", content=images.jpeg(), headers=octets),
            ]
        async with application.client() as nobody:
            tried = await nobody.post("/api/demo", content=b"x", headers=octets)
            unknown = [await nobody.get("/livez"), await nobody.get("/api/cameras")]

    statuses = [answer.status_code for answer in answers]
    assert statuses == [200, 400, 404, 403, 415, 201, 400, 402]
    left = [answer.headers["ratelimit-remaining"] for answer in answers]
    assert left == ["8", "7", "6", "5", "4", "3", "3", "2"]
    # Of the image call that of the tighter limit is told.
    limits = [answer.headers["ratelimit-limit"] for answer in answers]
    assert limits == ["9"] * 6 + ["4"] * 2
    assert all(1 <= int(answer.headers["ratelimit-reset"]) <= 60 for answer in answers)
    assert (tried.status_code, tried.headers["ratelimit-remaining"]) == (400, "1")
    assert not any("ratelimit-limit" in answer.headers for answer in unknown)


async def test_calls_beyond_the_scopes_of_a_key_count_too(database: Database) -> None:
    rules = LimitRules(per_minute=3, recognize_per_minute=1, demo_per_minute=0, block_seconds=60)
    async with running_application(database, Options(limits=rules)) as application:
        caller = await application.new_owner(scopes=frozenset({Scope.CREDITS_READ}))
        async with application.client(caller) as client:
            answers = [await client.get("/api/cameras") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [403, 403, 403, 429]


async def test_expired_and_disabled_keys(application: Application) -> None:
    owner = await application.new_owner()
    past, future = (datetime.now(UTC) + timedelta(seconds=s) for s in (-1, 3600))
    expired = await _new_key(application, owner.owner_id, expires_at=past)
    good = await _new_key(application, owner.owner_id, expires_at=future)
    disabled = await _new_key(application, owner.owner_id, enabled=False)
    codes = []
    for caller in (expired, disabled, good):
        async with application.client(caller) as client:
            answer = await client.get("/api/credits")
        codes.append((answer.status_code, answer.json().get("code")))

    assert codes == [
        (401, "expired_credentials"),
        (401, "invalid_credentials"),
        (200, None),
    ]


async def test_a_revoked_key_is_refused_within_a_second(database: Database) -> None:
    async with running_application(database) as application:
        caller = await application.new_owner()
        now = 1000.0
        authenticator = Authenticator(database, clock=lambda: now)
        header = f"Bearer {caller.key}"
        assert (await authenticator.authenticate(header)).owner_id == caller.owner_id
        await database.run(lambda session: session.execute(text("DELETE FROM api_keys")))
        # Believed for a moment without a look-up, but for less than a second.
        assert CACHE_SECONDS < 1
        await authenticator.authenticate(header)
        now += CACHE_SECONDS
        with pytest.raises(ApiError) as refused:
            await authenticator.authenticate(header)
        assert refused.value.status == 401
        await authenticator.close()


async def test_last_use_is_noted_once_a_minute(database: Database) -> None:
    async with running_application(database) as application:
        caller = await application.new_owner()
        now = 1000.0
        authenticator = Authenticator(database, clock=lambda: now)
        header = f"Bearer {caller.key}"
        await authenticator.authenticate(header)
        await authenticator.close()
        first = await _last_used(database)
        assert first is not None
        for seconds in (1, 30, 28):
            now += seconds
            await authenticator.authenticate(header)
        await authenticator.close()
        assert await _last_used(database) == first


async def test_a_checksum_error_asks_no_database(application: Application) -> None:
    application.database.close()
    async with application.client(Caller(uuid.uuid4(), "pk_" + "0" * 40)) as client:
        started = time.monotonic()
        answer = await client.get("/api/credits")

    assert answer.status_code == 401
    assert time.monotonic() - started < 1


def _body(path: str) -> dict[str, str]:
    """Return a body that has what a change of an existing thing needs: nearly always nothing."""
    if path.endswith("/replay"):
        return {"from": "2026-11-01T00:00:00Z", "to": "2026-11-01T01:00:00Z"}
    return {}


def _filled(path: str, identifier: str | None = None) -> str:
    """Return the path with an id in every place for one; an unknown id unless given."""
    return re.sub(r"\{\w+\}", identifier or str(uuid.uuid4()), path)


async def _one_of_each(application: Application, owner: Caller) -> list[str]:
    """Return the ids of a camera, an alert, a webhook and a key of the owner."""

    def work(session: Session) -> str:
        row = insert_camera(session, owner.owner_id, camera_values(), limit=9)
        assert confirm_camera(session, row.id)
        return str(row.id)

    webhook = {"name": "x", "url": "https://a.example.com", "events": ["camera.online"]}
    async with application.client(owner) as client:
        alert = (await client.post("/api/alertas", json={"name": "x"})).json()["alert"]
        hook = (await client.post("/api/webhooks", json=webhook)).json()["webhook"]
        (key,) = (await client.get("/api/api-keys")).json()["apiKeys"]
    camera_id = await application.database.run(work)
    return [camera_id, alert["id"], hook["id"], key["id"]]


async def _new_key(
    application: Application,
    owner_id: UUID,
    *,
    enabled: bool = True,
    expires_at: datetime | None = None,
) -> Caller:
    def work(session: Session) -> Caller:
        made = create_key(
            session,
            owner_id,
            name="another",
            scopes=frozenset(Scope),
            enabled=enabled,
            expires_at=expires_at,
        )
        return Caller(owner_id, made.plain_key)

    return await application.database.run(work)


async def _last_used(database: Database) -> datetime | None:
    def work(session: Session) -> datetime | None:
        found: datetime | None = session.scalar(text("SELECT last_used_at FROM api_keys"))
        return found

    return await database.run(work)
