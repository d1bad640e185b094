"""No response shows a stored secret to a caller whose scopes do not allow this.

The tests call all routes with the IDs of an account that has every kind of secret.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import msgspec
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from analytics_sql.deliveries import AddressedDelivery, DeliveryChannel, DeliverySummary
from analytics_sql.recognitions import recognition_row
from api.accounts.service import create_key
from api.app import create_app
from api.db.database import Database
from api.db.tables import Base
from api.live.recent import LiveRecord
from api.security.permissions import ROLE_SCOPES, Access, BodyKind, Role, Scope
from common.records.deliveries import AttemptOutcome, DeliveryCause
from common.records.webhooks import EventName
from common.urls.outbound import redirect_target
from tests.integration.api.application import (
    PASSWORD,
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.people import invite, logged_in, new_address, new_person
from tests.integration.api.serving import served
from tests.integration.api.test_audit import PASS, OnePass
from tests.records import recognition

pytestmark = pytest.mark.integration

ACCESS: Mapping[tuple[str, str], Access] = create_app().state.permissions.access
HOOK = "https://receiver.example.com/webhook-path-s3cret?key=webhook-query-s3cret"
NOTIFIED = "https://receiver.example.com:8443/alert-path-s3cret?key=alert-query-s3cret"

READ_WITH_WEBHOOKS = {
    "webhook secret": "webhook-s1gning-secret",
    "header value": "Bearer header-v4lue",
    "path of a webhook": "webhook-path-s3cret",
    "query of a webhook": "webhook-query-s3cret",
    "path of a notification": "alert-path-s3cret",
    "query of a notification": "alert-query-s3cret",
    "notification secret": "notification-s1gning-secret",
}
"""Secrets that a caller with webhooks:read can see."""

NEVER_READ = {
    "previous webhook secret": "webhook-previous-s3cret",
    "previous notification secret": "notification-previous-s3cret",
    "Apprise address": "apprise-t0ken",
    "stream password": "stream/passw0rd#1",
    "SMTP password": "smtp-passw0rd",
    "secret at the identity provider": "oidc-client-s3cret",
    "password": PASSWORD,
    "a password as it is hashed": "$argon2",
}

IMAGES = {
    "/api/cameras/{id}/snapshot",
    "/api/recognitions/{id}/crop",
    "/api/recognitions/{id}/photo",
}
"""Routes that are called but return an error, because no image is stored."""


@dataclass(frozen=True)
class Account:
    """An account with every kind of secret.

    ``ids`` maps the first word of a path to a resource's ID. ``secrets`` are never shown.
    """

    application: Application
    address: str
    owner: Caller
    ids: Mapping[str, str]
    secrets: Mapping[str, str]
    callers: Mapping[str, tuple[httpx.AsyncClient, frozenset[Scope]]]

    def hidden_from(self, scopes: frozenset[Scope]) -> dict[str, str]:
        """Return the secrets that a caller with these scopes must not see."""
        seen = Scope.WEBHOOKS_READ in scopes
        return {**self.secrets, **NEVER_READ, **({} if seen else READ_WITH_WEBHOOKS)}


@pytest.fixture
async def account(database: Database) -> AsyncIterator[Account]:
    store = OnePass()
    more = {
        "smtp_user": "gate",
        "smtp_password": NEVER_READ["SMTP password"],
        "oidc_issuer": "http://127.0.0.1:1",
        "oidc_client_id": "platestream",
        "oidc_client_secret": NEVER_READ["secret at the identity provider"],
    }
    options = Options(store=store, feeds_streams=True, more=more)
    async with (
        running_application(database, options) as application,
        taking_cameras(application),
        served(application) as address,
        AsyncExitStack() as browsers,
    ):
        application.recent.reset({0: 0})
        owner = await application.new_owner()
        administrator = await browsers.enter_async_context(logged_in(application, owner.email))
        ids, secrets = await _filled(application, administrator, store)
        callers = {"administrator": (administrator, frozenset(Scope))}
        for role in (Role.VIEWER, Role.OPERATOR):
            email = await new_person(application, administrator, role)
            browser = await browsers.enter_async_context(logged_in(application, email))
            callers[role.value] = (browser, ROLE_SCOPES[role])
        for scope in Scope:
            key = await _key(application, owner, scope)
            secrets[f"key of {scope}"] = key
            client = application.client(Caller(owner.owner_id, key))
            callers[scope.value] = (await browsers.enter_async_context(client), frozenset({scope}))
        callers["nobody"] = (
            await browsers.enter_async_context(application.client()),
            frozenset(),
        )
        for name in ("administrator", "viewer", "operator"):
            secrets[f"session of {name}"] = callers[name][0].cookies["session"]
        secrets |= await _sealed(application)
        yield Account(application, address, owner, ids, secrets, callers)


async def _key(application: Application, owner: Caller, scope: Scope) -> str:
    def work(session: Session) -> str:
        return create_key(
            session, owner.owner_id, name=scope.value, scopes=frozenset({scope})
        ).plain_key

    return await application.database.run(work)


async def _sealed(application: Application) -> dict[str, str]:
    """Return the values of all columns with hashes (in hexadecimal) or encrypted texts."""

    def work(session: Session) -> dict[str, str]:
        found: dict[str, str] = {}
        for table in Base.metadata.sorted_tables:
            for column in table.columns:
                if column.name.endswith(("_hash", "_encrypted")):
                    values = session.scalars(select(column).where(column.is_not(None))).all()
                    found |= {
                        f"{column} {number}": _hex(each) for number, each in enumerate(values)
                    }
        return {name: value for name, value in found.items() if value}

    return await application.database.run(work)


def _hex(value: bytes | str) -> str:
    return value if isinstance(value, str) else bytes(value).hex()


async def _filled(
    application: Application, administrator: httpx.AsyncClient, store: StandInStore
) -> tuple[dict[str, str], dict[str, str]]:
    """Create one of each resource, and return the IDs and the secrets that are never shown."""

    async def made(path: str, **body: Any) -> Any:
        answer = await administrator.post(path, json=body)
        assert answer.status_code in (200, 201, 202), (path, answer.text)
        return answer.json()

    hook = (
        await made(
            "/api/webhooks",
            name="Gate",
            url=HOOK,
            events=["recognition.created", "alert.triggered"],
            secret=NEVER_READ["previous webhook secret"],
            headers={"Authorization": READ_WITH_WEBHOOKS["header value"]},
        )
    )["webhook"]
    secret = READ_WITH_WEBHOOKS["webhook secret"]
    await made(f"/api/webhooks/{hook['id']}/rotate-secret", secret=secret)
    alert = (
        await made(
            "/api/alertas",
            name="Stolen cars",
            notifications=[
                {"type": "email", "addresses": ["guard@example.com"]},
                {"type": "webhook", "url": NOTIFIED},
                {"type": "apprise", "url": "ntfys://push.example.com/apprise-t0ken"},
            ],
        )
    )["alert"]
    rotate = "/api/alertas/rotate-notification-secret"
    await made(rotate, secret=NEVER_READ["previous notification secret"], overlapHours=0)
    await made(rotate, secret=READ_WITH_WEBHOOKS["notification secret"])
    stream = {"username": "viewer", "password": NEVER_READ["stream password"]}
    camera = (
        await made(
            "/api/cameras",
            name="Gate",
            rtspUrl=f"rtsp://10.0.0.8/1?password={quote(stream['password'], safe='')}",
            **stream,
        )
    )["camera"]
    key = await made("/api/api-keys", name="reader", scopes=["cameras:read"])
    invitation = await invite(administrator, new_address(), Role.VIEWER)
    erasure = (await made("/api/erasures", plate="ZZ99ZZZ"))["erasure"]
    # Changes also appear in the audit log.
    for path, change in (
        (f"/api/webhooks/{hook['id']}", {"url": f"{HOOK}&b=1"}),
        (f"/api/alertas/{alert['id']}", {"description": "of the town"}),
        (f"/api/cameras/{camera['id']}", {"location": "Gate", **stream, "username": "root"}),
    ):
        assert (await administrator.put(path, json=change)).status_code == 200
    store.summaries = tuple(map(_refused, (HOOK, NOTIFIED)))
    store.addressed = tuple(
        AddressedDelivery(summary=one, webhook_id=UUID(hook["id"]), alert_id=None)
        for one in store.summaries
    )
    ids = {
        "alertas": alert["id"],
        "cameras": camera["id"],
        "webhooks": hook["id"],
        "api-keys": key["apiKey"]["id"],
        "erasures": erasure["id"],
        "recognitions": str(PASS.id),
        "invitations": invitation["invitation"]["id"],
    }
    return ids, {"plain key": key["plainKey"], "invitation": invitation["token"]}


def _refused(url: str) -> DeliverySummary:
    """Return a delivery whose response was a redirect to the same path."""
    target = redirect_target(url, url.replace("https://", "http://"))
    return DeliverySummary(
        id=UUID(int=1),
        event_id=UUID(int=2),
        event=EventName.ALERT_TRIGGERED,
        channel=DeliveryChannel.HTTP,
        cause=DeliveryCause.EVENT,
        created_ms=1,
        attempts=1,
        last_attempt_ms=1,
        last_duration_ms=1,
        outcome=AttemptOutcome.DEAD,
        status=301,
        error=f"Received status 301, a redirect to {target}.",
        next_attempt_ms=None,
    )


def _path(path: str, ids: Mapping[str, str]) -> str:
    """Return a path with real IDs.

    Raises:
        KeyError: no resource of the path is known; a new kind of resource needs an ID and secrets.
    """
    if path.startswith("/console/"):
        return path.replace("{release}", "x").replace("{file:path}", "app.js")
    if path.startswith("/api/docs/"):
        return path.replace("{file}", "start.js")
    word = path.split("/")[2] if path.startswith("/api/") else path.split("/")[1]
    word = {"alerts": "alertas", "people": "invitations", "sessions": "invitations"}.get(word, word)
    if "{" not in path:
        return path
    return path.replace("{id}", ids[word]).replace("{deliveryId}", str(UUID(int=1)))


def _forms(secret: str) -> set[str]:
    """Return the forms in which a response could contain a secret."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, quote(secret, safe=""), msgspec.json.encode(secret).decode()[1:-1], encoded}


def _shown(answer: httpx.Response, body: str, hidden: Mapping[str, str]) -> list[str]:
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.multi_items())
    said = f"{headers}\n\n{body}"
    return [name for name, secret in hidden.items() if any(form in said for form in _forms(secret))]


async def test_no_get_route_shows_a_secret_to_who_may_not_read_it(account: Account) -> None:
    routes = {
        path
        for (method, path), access in ACCESS.items()
        if method == "GET" and not access.is_endless
    }
    answered: set[str] = set()
    for name, (client, scopes) in account.callers.items():
        hidden = account.hidden_from(scopes)
        for path in sorted(routes):
            answer = await client.get(_path(path, account.ids))
            assert _shown(answer, answer.text, hidden) == [], (name, path)
            assert answer.status_code < 500 or path in IMAGES, (name, path)
            if answer.status_code in (200, 302, 303):
                answered.add(path)

    # Every route was called successfully at least once.
    assert routes - answered == IMAGES | {"/console/{release}/{file:path}"}


async def test_who_may_read_them_is_shown_them(account: Account) -> None:
    """Otherwise, the tests would search for values that are not stored."""
    for name in ("administrator", "operator"):
        client, _ = account.callers[name]
        texts = [(await client.get(path)).text for path in ("/api/alertas", "/api/webhooks")]
        for secret in READ_WITH_WEBHOOKS.values():
            assert any(secret in text for text in texts), (name, secret)
    listed = (await account.callers["viewer"][0].get("/api/alertas")).json()
    assert listed["notificationSecret"] is None
    urls = [one.get("url") for one in listed["alerts"][0]["notifications"]]
    assert urls == [None, "https://receiver.example.com", "ntfys://***"]


async def test_no_event_stream_shows_a_secret(account: Account) -> None:
    endless = {path for (_, path), access in ACCESS.items() if access.is_endless}
    heard = 0
    async with _publishing(account):
        for name, (client, scopes) in account.callers.items():
            for path in endless:
                heard += await _hear(account, client, path, account.hidden_from(scopes), name)

    # The administrator, the viewer, the operator and the key with recognitions:read got events.
    assert heard == 4 * len(endless)


async def _hear(
    account: Account, client: httpx.AsyncClient, path: str, hidden: Mapping[str, str], name: str
) -> bool:
    """Read the stream up to the first event, and return whether the caller has access."""
    headers = {key: client.headers[key] for key in ("authorization",) if key in client.headers}
    cookies = dict(client.cookies)
    async with (
        asyncio.timeout(10),
        httpx.AsyncClient(base_url=account.address, headers=headers, cookies=cookies) as heard,
        heard.stream("GET", path) as answer,
    ):
        said = ""
        async for chunk in answer.aiter_text():
            said += chunk
            if "data: {" in said:
                break
        assert _shown(answer, said, hidden) == [], (name, path)
        return answer.status_code == 200


@asynccontextmanager
async def _publishing(account: Account) -> AsyncIterator[None]:
    async def publish() -> None:
        number = 0
        while True:
            number += 1
            made = msgspec.structs.replace(recognition(number), owner_id=account.owner.owner_id)
            account.application.recent.post([LiveRecord(0, number, recognition_row(made))])
            await asyncio.sleep(0.05)

    task = asyncio.create_task(publish())
    try:
        yield
    finally:
        task.cancel()


async def test_no_other_call_shows_a_secret_to_who_may_not_read_it(account: Account) -> None:
    """Calls the other routes with bodies that change nothing or are rejected."""
    for name, (client, scopes) in account.callers.items():
        hidden = account.hidden_from(scopes)
        for (method, path), access in ACCESS.items():
            is_walked = method in ("POST", "PUT", "PATCH") and not path.startswith("/api/session")
            if not is_walked:
                continue
            body: dict[str, str] | None = {} if access.body is BodyKind.JSON else None
            answer = await client.request(method, _path(path, account.ids), json=body)
            assert _shown(answer, answer.text, hidden) == [], (name, method, path)
