"""Credentials, scopes and limits of requests, with keys from a real database."""

import asyncio
import re
import socket
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from structlog.testing import capture_logs

from api.accounts.service import create_key
from api.app import create_app
from api.cameras.repository import confirm_camera, insert_camera
from api.db.database import Database
from api.errors import ApiError
from api.limits.limiter import FailedAuthentications, LimitRules
from api.middleware import guard
from api.middleware.bodies import MAX_JSON_BODY_BYTES
from api.middleware.connections import ConnectionLimits
from api.middleware.documents import Document
from api.security import credentials
from api.security.authentication import Authenticator
from api.security.lookup import CACHE_SECONDS
from api.security.permissions import (
    Access,
    Administrator,
    AnyCaller,
    BodyKind,
    OwnSession,
    Principal,
    Public,
    Scope,
)
from tests.integration.api import images
from tests.integration.api.application import (
    BODY_MEBIBYTES,
    Application,
    Caller,
    Options,
    running_application,
)
from tests.integration.api.cameras import values as camera_values
from tests.integration.api.serving import served
from tests.integration.api.waiting import until

pytestmark = pytest.mark.integration

ADDRESS = "192.0.2.1"
LONG_ANSWER_BYTES = 64 << 20
"""Size of a response that exceeds the buffers of both ends of a connection."""

ACCESS: Mapping[tuple[str, str], Access] = create_app().state.permissions.access
FOR_PEOPLE = {OwnSession.ONLY, Administrator.ONLY}
GATED = [(key, access) for key, access in ACCESS.items() if not isinstance(access.scope, Public)]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "missing_credentials"),
        ("", "missing_credentials"),
        ("Bearer", "missing_credentials"),
        ("Basic dXNlcjpwYXNz", "missing_credentials"),
        ("Bearer nonsense", "invalid_credentials"),
        (f"Bearer {credentials.new_api_key()[:-1]}0", "invalid_credentials"),
        (f"Bearer {credentials.new_api_key()}", "invalid_credentials"),
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
                opens = access.scopes == {scope} or isinstance(access.scope, AnyCaller)
                assert (answer.status_code == 403) != opens, (method, path)
                if answer.status_code == 403:
                    assert answer.json()["code"] == "missing_scope"


async def test_a_call_that_needs_several_scopes_needs_each(application: Application) -> None:
    several = [(key, access.scopes) for key, access in GATED if len(access.scopes) > 1]
    assert {path.rpartition("/")[2] for (_, path), _ in several} == {
        "replay",
        "redeliver",
        "deliveries",
        "triggers",
        "funnel",
        "rotate-notification-secret",
    }
    for (method, path), scopes in several:
        for lacking in scopes:
            caller = await application.new_owner(scopes=frozenset(Scope) - {lacking})
            async with application.client(caller) as client:
                answer = await client.request(method, _filled(path), json=_body(path))
            assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
            assert lacking in answer.json()["error"]
        caller = await application.new_owner(scopes=scopes)
        async with application.client(caller) as client:
            answer = await client.request(method, _filled(path), json=_body(path))
        assert answer.status_code == 404


async def test_ids_of_another_owner_are_404_on_every_route(application: Application) -> None:
    owner, other = await application.new_owner(), await application.new_owner()
    foreign = await _one_of_each(application, owner)
    walked = 0
    async with application.client(other) as client:
        for (method, path), access in GATED:
            # The tests of each resource cover the routes that require a session.
            if "{" not in path or access.scope in FOR_PEOPLE:
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
    alone = sum("{" in path for (_, path), each in GATED if each.scope in FOR_PEOPLE)
    assert walked == 6 * (sum("{" in path for (_, path), _ in GATED) - alone)


async def test_no_list_has_anything_of_another_owner(application: Application) -> None:
    foreign = await _one_of_each(application, await application.new_owner())
    async with application.client(await application.new_owner()) as client:
        for method, path in ACCESS:
            if method == "GET" and "{" not in path and not path.endswith("/stream"):
                answer = await client.get(path)
                assert not [each for each in foreign if each in answer.text], path


async def test_credentials_come_before_everything_else(application: Application) -> None:
    async with application.client() as client:
        answer = await client.post("/api/cameras", content=b"{" * 10, headers={"X-Request-Id": "r"})

    assert (answer.status_code, answer.headers["x-request-id"]) == (401, "r")


async def test_a_wrong_content_type_is_415(application: Application) -> None:
    async with application.client(await application.new_owner()) as client:
        for (method, path), access in GATED:
            if access.body is BodyKind.NONE or access.scope in FOR_PEOPLE:
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
async def test_a_json_body_that_trickles_in_is_aborted(
    application: Application, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for name in ("JSON_RULE", "PUBLIC_JSON_RULE"):
        monkeypatch.setattr(guard, name, replace(getattr(guard, name), seconds=0.1))

    async def trickle() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(5)

    async with application.client(await application.new_owner()) as client:
        answer = await client.post(
            path, content=trickle(), headers={"Content-Type": "application/json"}
        )

    assert (answer.status_code, answer.json()["code"]) == (400, "incomplete_body")


async def test_bodies_of_an_owner_find_room_once_others_are_answered(
    application: Application,
) -> None:
    owner = await application.new_owner()
    budget = application.services.body_budget
    body = b'{"name": "x", "rtspUrl": "' + b"a" * 300_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    principal = Principal(owner.owner_id, uuid.uuid4(), frozenset())
    async with application.client(owner) as client:
        with budget.for_caller(principal, BODY_MEBIBYTES << 20):
            refused = await client.post("/api/cameras", content=body, headers=headers)
            stranger = await application.new_owner()
            async with application.client(stranger) as theirs:
                answer = await theirs.post("/api/cameras", content=body, headers=headers)
            assert answer.json()["code"] == "invalid_request"
        answer = await client.post("/api/cameras", content=body, headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert "limit of 16 MiB of concurrent request bodies" in refused.json()["error"]
    assert (refused.headers["Retry-After"], refused.headers["Connection"]) == ("2", "close")
    assert answer.json()["code"] == "invalid_request"
    assert budget.held_bytes == 0


async def test_each_key_has_its_own_limit(database: Database) -> None:
    rules = LimitRules(per_minute=3, recognize_per_minute=1, demo_per_minute=0, block_seconds=60)
    async with running_application(database, Options(limits=rules)) as application:
        caller = await application.new_owner()
        async with application.client(caller) as client:
            answers = [await client.get("/api/credits") for _ in range(4)]
        # Another key of the same account has a separate limit.
        other = await _new_key(application, caller.owner_id)
        async with application.client(other) as client:
            assert (await client.get("/api/credits")).status_code == 200

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
    refused = answers[-1]
    assert refused.json()["retryAfter"] == int(refused.headers["retry-after"])
    assert 1 <= refused.json()["retryAfter"] <= 60


async def test_every_answer_to_a_call_that_counts_says_what_is_left(database: Database) -> None:
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
            unknown = [await nobody.get("/healthz"), await nobody.get("/api/cameras")]

    statuses = [answer.status_code for answer in answers]
    assert statuses == [200, 400, 404, 403, 415, 201, 400, 402]
    left = [answer.headers["ratelimit-remaining"] for answer in answers]
    assert left == ["8", "7", "6", "5", "4", "3", "3", "2"]
    # The response to the image call reports the tighter limit.
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


async def test_expired_and_disabled_keys_are_refused(application: Application) -> None:
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


async def test_invalid_keys_are_limited_by_their_address(database: Database) -> None:
    options = Options(failed_authentications=20, trusted_proxies="127.0.0.1")
    async with running_application(database, options) as application:
        known, other = await application.new_owner(), await application.new_owner()
        async with application.client() as client:
            assert (await _credits(client, known.key, "192.0.2.1")).status_code == 200
            said = [
                await _credits(client, credentials.new_api_key(), "192.0.2.1") for _ in "x" * 130
            ]
            wide = [
                await _credits(client, credentials.new_api_key(), f"2001:db8::{n}")
                for n in range(21)
            ]
            # A known key; an unknown key at this address and another; a key created meanwhile.
            told = [
                await _credits(client, known.key, "192.0.2.1"),
                await _credits(client, other.key, "192.0.2.1"),
                await _credits(client, other.key, "198.51.100.1"),
            ]
            headers = {"Authorization": f"Bearer {known.key}"}
            body = {"name": "new", "scopes": ["credits:read"]}
            made = await client.post("/api/api-keys", json=body, headers=headers)
            told.append(await _credits(client, made.json()["plainKey"], "192.0.2.1"))

    assert [answer.status_code for answer in said] == [401] * 20 + [429] * 110
    assert [answer.status_code for answer in wide] == [401] * 20 + [429]
    refused = said[-1]
    assert refused.json()["code"] == "rate_limited"
    assert refused.json()["retryAfter"] == int(refused.headers["retry-after"])
    assert refused.headers["ratelimit-limit"] == "20"
    assert [answer.status_code for answer in told] == [200, 429, 200, 200]


async def test_many_invalid_keys_leave_threads_to_known_callers(
    database: Database,
) -> None:
    async with running_application(database) as application:
        caller = await application.new_owner()
        async with application.client() as client:
            assert (await _credits(client, caller.key)).status_code == 200
            made_up = [credentials.new_api_key() for _ in range(1_000)]
            crowd = [asyncio.create_task(_credits(client, key)) for key in made_up]
            await asyncio.wait(crowd, return_when=asyncio.FIRST_COMPLETED)
            answer = await _credits(client, caller.key)
            overtaken = sum(not task.done() for task in crowd)
            said = Counter([(await task).status_code for task in crowd])
            busy = next(a for a in map(asyncio.Task.result, crowd) if a.status_code == 503)

    assert answer.status_code == 200
    assert overtaken > 100
    assert set(said) == {401, 503}
    assert (busy.json()["code"], busy.headers["retry-after"]) == ("service_busy", "1")


async def test_a_reader_that_takes_nothing_is_left(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data beyond the buffers of the system waits in the process for a limited time."""
    monkeypatch.setattr("api.middleware.connections.WRITE_CHECK_SECONDS", 0.02)
    application.app.state.openapi_document = Document("x" * LONG_ANSWER_BYTES, "text/plain")
    limits = ConnectionLimits(0, 0)
    async with served(application, limits) as address:
        with capture_logs() as logs, _non_reader(address):

            async def is_left() -> bool:
                return any(entry["event"] == "connection_stalled" for entry in logs)

            await until(is_left, seconds=30)

            async def is_gone() -> bool:
                return limits.open == 0

            await until(is_gone, seconds=30)


@contextmanager
def _non_reader(address: str) -> Iterator[socket.socket]:
    """Yield a connection that requested the API description and reads almost nothing."""
    host, port = address.removeprefix("http://").split(":")
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        caller.connect((host, int(port)))
        caller.sendall(b"GET /api/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
        yield caller


async def test_a_revoked_key_is_refused_within_a_second(database: Database) -> None:
    async with running_application(database) as application:
        caller = await application.new_owner()
        now = 1000.0
        authenticator = Authenticator(database, FailedAuthentications(0), clock=lambda: now)
        header = f"Bearer {caller.key}"
        assert (await authenticator.authenticate(header, ADDRESS)).owner_id == caller.owner_id
        await database.run(lambda session: session.execute(text("DELETE FROM api_keys")))
        # A cached key is accepted without a query, but for less than a second.
        assert CACHE_SECONDS < 1
        await authenticator.authenticate(header, ADDRESS)
        now += CACHE_SECONDS
        with pytest.raises(ApiError) as refused:
            await authenticator.authenticate(header, ADDRESS)
        assert refused.value.status == 401
        await authenticator.close()


async def test_last_use_is_noted_once_a_minute(database: Database) -> None:
    async with running_application(database) as application:
        caller = await application.new_owner()
        now = 1000.0
        authenticator = Authenticator(database, FailedAuthentications(0), clock=lambda: now)
        header = f"Bearer {caller.key}"
        await authenticator.authenticate(header, ADDRESS)
        await authenticator.close()
        first = await _last_used(database)
        assert first is not None
        for seconds in (1, 30, 28):
            now += seconds
            await authenticator.authenticate(header, ADDRESS)
        await authenticator.close()
        assert await _last_used(database) == first


async def test_a_checksum_error_asks_no_database(application: Application) -> None:
    application.database.close()
    async with application.client(Caller(uuid.uuid4(), "pk_" + "0" * 40)) as client:
        started = time.monotonic()
        answer = await client.get("/api/credits")

    assert answer.status_code == 401
    assert time.monotonic() - started < 1


async def _credits(
    client: httpx.AsyncClient, key: str, address: str | None = None
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    if address is not None:
        headers["X-Forwarded-For"] = address
    return await client.get("/api/credits", headers=headers)


def _body(path: str) -> dict[str, str]:
    """Return the body that changing an existing resource requires; usually empty."""
    if path.endswith("/replay"):
        return {"from": "2026-11-01T00:00:00Z", "to": "2026-11-01T01:00:00Z"}
    if path.endswith("/correction"):
        return {"plate": "AB12CD"}
    return {}


def _filled(path: str, identifier: str | None = None) -> str:
    """Return the path with an ID for every placeholder. The ID is unknown unless given."""
    return re.sub(r"\{\w+\}", identifier or str(uuid.uuid4()), path)


async def _one_of_each(application: Application, owner: Caller) -> list[str]:
    """Create a camera, an alert and a webhook. Return their IDs and the ID of the API key."""

    def work(session: Session) -> str:
        row = insert_camera(session, owner.owner_id, camera_values())
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
