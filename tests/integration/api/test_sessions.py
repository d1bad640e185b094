"""Login, logout, and the permissions of a session."""

import asyncio
import statistics
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from http.cookies import SimpleCookie

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.db.database import Database
from api.middleware.bodies import MAX_PUBLIC_JSON_BODY_BYTES
from api.security.permissions import Scope
from api.sessions.attempts import AttemptRules
from tests.integration.api.application import (
    NO_LIMITS,
    PASSWORD,
    PER_OWNER,
    Application,
    Caller,
    Options,
    running_application,
)
from tests.integration.api.waiting import until_somebody_waits

pytestmark = pytest.mark.integration

PATH = "/api/session"
SITE = "http://127.0.0.1:8000"
CAMERA = {"name": "Gate", "rtspUrl": "rtsp://10.0.0.8/1"}


def _browser(
    application: Application, site: str = SITE, address: str = "127.0.0.1"
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application.app, client=(address, 5000))
    return httpx.AsyncClient(transport=transport, base_url=site)


def _at_home(trusted_proxies: str) -> Options:
    """Return the options of a service that has the default public URL."""
    more = {"public_url": SITE}
    return Options(more=more, trusted_proxies=trusted_proxies)


def _cookies(answer: httpx.Response) -> SimpleCookie:
    cookies = SimpleCookie()
    for header in answer.headers.get_list("set-cookie"):
        cookies.load(header)
    return cookies


async def _log_in(browser: httpx.AsyncClient, owner: Caller) -> httpx.Response:
    answer = await browser.post(PATH, json={"email": owner.email, "password": PASSWORD})
    assert answer.status_code == 200
    return answer


async def test_logging_in_sets_the_cookie(application: Application, owner: Caller) -> None:
    async with _browser(application) as browser:
        answer = await _log_in(browser, owner)
    cookie = _cookies(answer)["session"]

    assert len(cookie.value) == 43
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
    assert not cookie["secure"]
    assert not cookie["domain"]
    assert int(cookie["max-age"]) in (3599, 3600)
    session = answer.json()["session"]
    assert (session["email"], session["timezone"]) == (owner.email, "UTC")
    assert datetime.fromisoformat(session["expiresAt"]) > datetime.now(UTC)
    assert cookie.value not in answer.text


async def test_a_session_says_who_calls(application: Application, owner: Caller) -> None:
    async with _browser(application) as browser:
        made = (await _log_in(browser, owner)).json()
        answer = await browser.get(PATH)

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == made
    session = answer.json()["session"]
    assert (session["kind"], session["ownerId"]) == ("session", str(owner.owner_id))
    assert session["scopes"] == sorted(Scope)
    assert session["limits"]["cameras"] == PER_OWNER
    assert session["limits"]["apiKeys"] == PER_OWNER


async def test_a_key_says_who_calls_whatever_its_scopes(application: Application) -> None:
    caller = await application.new_owner(scopes=frozenset({Scope.CREDITS_READ}))
    async with application.client(caller) as client:
        answer = await client.get(PATH)

    session = answer.json()["session"]
    assert (session["kind"], session["email"]) == ("key", caller.email)
    assert (session["scopes"], session["expiresAt"]) == (["credits:read"], None)


async def test_the_session_without_a_credential_is_401(application: Application) -> None:
    async with application.client() as client:
        answer = await client.get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (401, "missing_credentials")


async def test_the_cookie_is_secure_beyond_the_machine(
    application: Application, owner: Caller
) -> None:
    async with _browser(application, "https://plates.example.com") as browser:
        answer = await _log_in(browser, owner)
        cookies = _cookies(answer)
        assert {cookies[name]["secure"] for name in ("__Host-session", "device")} == {True}
        assert (await browser.get("/api/credits")).status_code == 200


@pytest.mark.parametrize(
    ("site", "headers", "name"),
    [
        ("https://plates.example.com", {}, "__Host-session"),
        ("http://192.168.1.50:8000", {}, "session"),
        ("http://platestream.local", {}, "session"),
        ("http://127.0.0.1:8000", {}, "session"),
        ("http://plates.example.com", {"X-Forwarded-Proto": "https"}, "__Host-session"),
        ("http://plates.example.com", {"X-Forwarded-Proto": "https, http"}, "__Host-session"),
        ("http://plates.example.com", {"X-Forwarded-Proto": "http, https"}, "session"),
        ("http://plates.example.com", {"X-Forwarded-Proto": "gopher"}, "session"),
    ],
)
async def test_the_cookie_follows_the_scheme_of_the_request(
    database: Database, site: str, headers: dict[str, str], name: str
) -> None:
    is_secure = name.startswith("__Host-")
    origin = {"Origin": site.replace("http:", "https:") if is_secure else site}
    async with running_application(database, _at_home("127.0.0.1")) as app:
        owner = await app.new_owner()
        async with _browser(app, site) as browser:
            login = {"email": owner.email, "password": PASSWORD}
            answer = await browser.post(PATH, json=login, headers=headers | origin)
            assert answer.status_code == 200, answer.text
            cookies = _cookies(answer)
            sent = headers | {"Cookie": f"{name}={cookies[name].value}"}
            read = await browser.get("/api/credits", headers=sent)
            out = await browser.delete(PATH, headers=sent | origin)

    # Over HTTPS, the service deletes the plain HTTP cookie, which an attacker may have set.
    assert set(cookies) == {name, "device", "session"}
    assert {bool(cookies[each]["secure"]) for each in (name, "device")} == {is_secure}
    assert (cookies["session"]["max-age"] == "0") == is_secure
    assert (cookies[name]["path"], cookies[name]["domain"]) == ("/", "")
    assert (read.status_code, out.status_code) == (200, 204)
    gone = _cookies(out)
    assert set(gone) == {name, "session"}
    assert {each["max-age"] for each in gone.values()} == {"0"}
    assert bool(gone[name]["secure"]) == is_secure


async def test_only_a_trusted_proxy_can_set_the_scheme(database: Database) -> None:
    async with running_application(database, _at_home("10.0.0.1")) as app:
        owner = await app.new_owner()
        async with _browser(app, "http://192.168.1.50:8000") as browser:
            browser.headers["X-Forwarded-Proto"] = "https"
            answer = await _log_in(browser, owner)

    assert set(_cookies(answer)) == {"session", "device"}


async def test_a_cookie_of_plain_http_opens_nothing_over_https(
    application: Application, owner: Caller
) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        token = browser.cookies["session"]
    statuses = []
    async with _browser(application, "https://plates.example.com") as browser:
        for cookie in (f"session={token}", f"session={token}; __Host-session=x"):
            answer = await browser.get("/api/credits", headers={"Cookie": cookie})
            statuses.append(answer.status_code)

    assert statuses == [401, 401]


async def test_a_page_of_plain_http_changes_nothing_over_https(
    application: Application, owner: Caller
) -> None:
    site = "https://plates.example.com"
    async with _browser(application, site) as browser:
        await _log_in(browser, owner)
        statuses = [
            (await browser.delete(PATH, headers={"Origin": origin})).status_code
            for origin in ("http://plates.example.com", site)
        ]

    assert statuses == [403, 204]


async def test_an_https_cookie_needs_an_https_page_after_an_untrusted_proxy(
    database: Database,
) -> None:
    async with running_application(database, _at_home("10.0.0.1")) as app:
        owner = await app.new_owner()
        async with _browser(app, "http://plates.example.com") as browser:
            login = {"email": owner.email, "password": PASSWORD}
            https = {"Origin": "https://plates.example.com"}
            token = _cookies(await browser.post(PATH, json=login, headers=https))["__Host-session"]
            cookie = {"Cookie": f"__Host-session={token.value}"}
            statuses = [
                (await browser.delete(PATH, headers=cookie | origin)).status_code
                for origin in ({"Origin": "http://plates.example.com"}, https)
            ]

    assert statuses == [403, 204]


async def test_an_https_address_of_the_service_ends_plain_http(
    application: Application, owner: Caller
) -> None:
    body = {"email": owner.email, "password": PASSWORD}
    site = "http://192.168.1.50:8000"
    async with _browser(application, site) as browser:
        refused = await browser.post(PATH, json=body, headers={"Origin": site})
        program = await browser.post(PATH, json=body)
    async with _browser(application) as browser:
        tunnel = await browser.post(PATH, json=body, headers={"Origin": SITE})

    assert (refused.status_code, refused.json()["code"]) == (403, "cross_site_request")
    assert refused.json()["error"] == "Use HTTPS: https://plates.example.com."
    assert set(_cookies(program)) == {"__Host-session", "device", "session"}
    assert set(_cookies(tunnel)) == {"session", "device"}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE people SET password_hash = password_hash || 'x'",
        "UPDATE people SET password_hash = ''",
        "UPDATE people SET enabled = false",
        "DELETE FROM people",
    ],
)
async def test_a_login_that_was_under_way_does_not_survive_a_change(
    application: Application, owner: Caller, change: str
) -> None:
    body = {"email": owner.email, "password": PASSWORD}
    async with _browser(application) as browser:
        with Session(application.database.engine) as other:
            # The login has compared the password and is waiting for the account's lock.
            lock_owner(other, owner.owner_id)
            coming = asyncio.create_task(browser.post(PATH, json=body))
            await until_somebody_waits(application.database)
            other.execute(text(change))
            other.commit()
        answer = await coming

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials")
    count = text("SELECT count(*) FROM sessions")
    assert await application.database.run(lambda session: session.scalar(count)) == 0


async def test_a_session_reads_everything(application: Application, owner: Caller) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        for path in ("recognitions", "cameras", "alertas", "webhooks", "api-keys", "credits"):
            assert (await browser.get(f"/api/{path}")).status_code == 200, path


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (SITE, 201),
        (None, 403),
        ("null", 403),
        ("https://evil.example", 403),
        ("http://127.0.0.1:8001", 403),
        ("http://localhost:8000", 403),
    ],
)
async def test_a_session_changes_things_from_its_own_site_only(
    application: Application, owner: Caller, origin: str | None, status: int
) -> None:
    headers = {} if origin is None else {"Origin": origin}
    body = {"name": "Gate", "url": "https://receiver.example.com", "events": ["camera.online"]}
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        answer = await browser.post("/api/webhooks", json=body, headers=headers)
        listed = (await browser.get("/api/webhooks")).json()["webhooks"]

    assert answer.status_code == status
    assert len(listed) == (status == 201)
    if status == 403:
        assert answer.json()["code"] == "cross_site_request"


async def test_a_key_needs_no_origin_and_comes_before_the_cookie(
    application: Application, owner: Caller
) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        good, bad = f"Bearer {owner.key}", "Bearer pk_x"
        statuses = [
            (await browser.delete("/api/webhooks/1", headers={"Authorization": value})).status_code
            for value in (good, bad)
        ]

    assert statuses == [404, 401]


async def test_the_login_of_a_proxy_does_not_hide_the_cookie(
    application: Application, owner: Caller
) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        answer = await browser.get("/api/credits", headers={"Authorization": "Basic dTpw"})
        alone = await browser.get(
            "/api/credits", headers={"Authorization": "Basic dTpw", "Cookie": ""}
        )

    assert (answer.status_code, alone.status_code) == (200, 401)


async def test_logging_out_ends_the_session(application: Application, owner: Caller) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        token = browser.cookies["session"]
        assert (await browser.delete(PATH)).status_code == 403
        answer = await browser.delete(PATH, headers={"Origin": SITE})
        assert (answer.status_code, answer.content) == (204, b"")
        assert "session" not in browser.cookies
        after = await browser.get("/api/credits", headers={"Cookie": f"session={token}"})
        assert (after.status_code, after.json()["code"]) == (401, "invalid_credentials")
        assert (await browser.delete(PATH, headers={"Origin": SITE})).status_code == 401


async def test_a_key_has_no_session_to_end(application: Application, owner: Caller) -> None:
    async with application.client(owner) as client:
        assert (await client.delete(PATH)).status_code == 403


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 44, '"', "ü" * 43])
async def test_an_invalid_cookie_is_401(application: Application, token: str) -> None:
    async with _browser(application) as browser:
        answer = await browser.get(
            "/api/recognitions", headers={b"Cookie": f"session={token}".encode()}
        )

    assert answer.status_code == 401


async def test_an_expired_session_is_401_and_then_swept(
    application: Application, owner: Caller
) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        await application.database.run(
            lambda session: session.execute(
                text("UPDATE sessions SET expires_at = now() - interval '1 s'")
            )
        )
        answer = await browser.get("/api/credits")
        assert (answer.status_code, answer.json()["code"]) == (401, "expired_credentials")
        assert await application.services.sessions.sweep() == 1


async def test_only_a_hash_of_the_token_is_stored(application: Application, owner: Caller) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        token = browser.cookies["session"]
    (row,) = await application.database.run(
        lambda session: session.execute(text("SELECT sessions::text FROM sessions")).all()
    )

    assert token not in row[0]
    assert token.encode().hex() not in row[0]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({}, {"email", "password"}),
        ({"email": 1, "password": None}, {"email", "password"}),
        ({"email": "a\x00@b.c", "password": "x" * 1025}, {"email", "password"}),
        ({"email": "a@b.c", "password": "x", "remember": True}, {"remember"}),
    ],
)
async def test_a_bad_body_is_400(
    application: Application, body: dict[str, object], paths: set[str]
) -> None:
    async with _browser(application) as browser:
        answer = await browser.post(PATH, json=body)

    assert answer.status_code == 400
    assert {fault["path"] for fault in answer.json()["fields"]} == paths


async def test_other_kinds_of_login_are_rejected(application: Application, owner: Caller) -> None:
    body = {"email": owner.email, "password": PASSWORD}
    async with _browser(application) as browser:
        form = await browser.post(PATH, data=body)
        foreign = await browser.post(PATH, json=body, headers={"Origin": "https://evil.example"})
        own = await browser.post(PATH, json=body, headers={"Origin": SITE})

    assert [answer.status_code for answer in (form, foreign, own)] == [415, 403, 200]


async def test_a_wrong_password_and_an_unknown_address_are_answered_alike(
    application: Application, owner: Caller
) -> None:
    seconds: dict[str, list[float]] = {owner.email: [], "nobody@platestream.example": []}
    answers = set()
    async with _browser(application) as browser:
        for _ in range(12):
            for email, times in seconds.items():
                started = time.perf_counter()
                answer = await browser.post(PATH, json={"email": email, "password": "wrong"})
                times.append(time.perf_counter() - started)
                answers.add((answer.status_code, answer.json()["code"], answer.json()["error"]))

    assert len(answers) == 1
    assert answers.pop()[:2] == (401, "invalid_credentials")
    # The first measurement is left out, because it creates the hash for unknown accounts.
    known, unknown = (statistics.median(times[1:]) for times in seconds.values())
    assert 0.5 < known / unknown < 2, seconds


async def test_attempts_are_limited(database: Database) -> None:
    rules = AttemptRules(per_minute=3, per_address_per_minute=5, per_account_per_hour=0)
    async with running_application(database, Options(attempts=rules)) as application:
        owner, other = await application.new_owner(), await application.new_owner()
        # The case of the address does not matter.
        emails = (owner.email, owner.email.upper(), f" {owner.email} ", owner.email)
        wrong = [{"email": email, "password": "wrong"} for email in emails]
        async with _browser(application) as browser:
            answers = [await browser.post(PATH, json=body) for body in wrong]
            right = await browser.post(PATH, json=wrong[0] | {"password": PASSWORD})
            # Another account has its own limit at this address, and successful logins do not count.
            for _ in range(4):
                await _log_in(browser, other)
            others = [
                await browser.post(PATH, json={"email": f"{name}@y.z", "password": "x"})
                for name in "abc"
            ]

    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    refused = answers[-1]
    assert refused.json()["code"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.json()["retryAfter"] == int(refused.headers["retry-after"])
    assert refused.headers["ratelimit-limit"] == "3"
    assert right.status_code == 429
    assert [answer.status_code for answer in others] == [401, 401, 429]


@pytest.mark.parametrize("moves", [False, True])
async def test_strangers_keep_an_owner_out_nowhere_where_they_logged_in(
    database: Database, *, moves: bool
) -> None:
    rules = AttemptRules(per_minute=0, per_address_per_minute=0, per_account_per_hour=2)
    async with running_application(database, Options(attempts=rules)) as application:
        owner, other = await application.new_owner(), await application.new_owner()
        wrong = {"email": owner.email, "password": "wrong"}
        device = httpx.Cookies()
        async with _browser(application, address="192.0.2.1") as browser:
            await _log_in(browser, owner)
            if moves:
                device.set("device", browser.cookies["device"])
        async with _browser(application, address="203.0.113.1") as stranger:
            # A device that is known for another account counts as unknown.
            await _log_in(stranger, other)
            statuses = [(await stranger.post(PATH, json=wrong)).status_code for _ in range(3)]
        async with _browser(application, address="192.0.2.2" if moves else "192.0.2.1") as browser:
            browser.cookies = device
            await _log_in(browser, owner)

    assert statuses == [401, 401, 429]


async def test_calls_of_others_at_the_address_keep_no_known_device_out(database: Database) -> None:
    limits = replace(NO_LIMITS, log_in_per_minute=3)
    async with running_application(database, Options(limits=limits)) as application:
        owner = await application.new_owner()
        wrong = {"email": "a@b.example", "password": "x"}
        async with _browser(application) as browser, _browser(application) as stranger:
            await _log_in(browser, owner)
            strange = [(await stranger.post(PATH, json=wrong)).status_code for _ in range(3)]
            stranger.cookies.set("device", "made up")
            strange.append((await stranger.post(PATH, json=wrong)).status_code)
            known = [(await browser.post(PATH, json=wrong)).status_code for _ in range(4)]

    assert strange == [401, 401, 429, 429]
    # The known device has a separate limit.
    assert known == [401, 401, 401, 429]


async def test_the_cookie_of_a_device_opens_nothing(
    application: Application, owner: Caller
) -> None:
    async with _browser(application) as browser:
        cookie = _cookies(await _log_in(browser, owner))["device"]
        token = browser.cookies["session"]
        made_up = {"Cookie": f"session={cookie.value}; device={cookie.value}"}
        refused = await browser.get("/api/credits", headers=made_up)

    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", PATH)
    assert int(cookie["max-age"]) == 180 * 86_400
    assert refused.status_code == 401
    assert token not in cookie.value
    assert owner.email not in cookie.value


async def test_a_session_is_limited_like_a_key(application: Application, owner: Caller) -> None:
    async with _browser(application) as browser:
        await _log_in(browser, owner)
        principal = await application.services.authenticator.authenticate_session(
            browser.cookies["session"], "192.0.2.1"
        )

    assert principal.is_session
    assert principal.owner_id == owner.owner_id
    assert isinstance(principal.credential_id, uuid.UUID)


async def test_who_has_no_credential_sends_no_large_body(application: Application) -> None:
    body = b'{"email": "' + b"a" * MAX_PUBLIC_JSON_BODY_BYTES + b'", "password": "x"}'
    async with application.client() as client:
        answer = await client.post(
            "/api/session", content=body, headers={"Content-Type": "application/json"}
        )
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
