"""API keys through the API, with a real database."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import delete

from api.db.tables import ApiKey
from api.security import credentials
from api.security.permissions import Scope
from tests.integration.api.application import (
    PASSWORD,
    PER_OWNER,
    Application,
    Caller,
)

pytestmark = pytest.mark.integration

PATH = "/api/api-keys"
BODY = {"name": "Gate", "scopes": ["credits:read", "cameras:read"]}


async def test_create_shows_the_key_once(application: Application) -> None:
    owner = await application.new_owner()
    async with application.client(owner) as client:
        answer = await client.post(PATH, json=BODY)
        assert answer.status_code == 201
        assert answer.headers["cache-control"] == "private, no-store"
        body = answer.json()
        plain = body.pop("plainKey")
        key = body["apiKey"]
        assert credentials.is_api_key(plain)
        assert set(body) == {"apiKey"}
        listed = (await client.get(PATH)).json()["apiKeys"]

    assert listed[0] == key
    assert len(listed) == 2
    assert plain not in str(listed)
    assert UUID(key.pop("id"))
    assert datetime.fromisoformat(key.pop("createdAt")).tzinfo == UTC
    assert key == {
        "name": "Gate",
        "prefix": plain[:11],
        "scopes": ["cameras:read", "credits:read"],
        "enabled": True,
        "lastUsedAt": None,
        "expiresAt": None,
        "ancestors": [listed[1]["id"]],
    }
    async with application.client(Caller(owner.owner_id, plain)) as client:
        assert (await client.get("/api/credits")).status_code == 200
        assert (await client.get(PATH)).status_code == 403


async def test_an_update_changes_what_is_sent_and_nothing_else(client: httpx.AsyncClient) -> None:
    current = (await client.post(PATH, json=BODY)).json()["apiKey"]
    path = f"{PATH}/{current['id']}"
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"name": "Other"},
        {"scopes": ["alerts:read"]},
        {"enabled": False},
        {"enabled": True},
        {"expiresAt": "2031-01-02T03:04:05.678Z"},
        {"expiresAt": None},
    )
    for change in changes:
        answer = await client.put(path, json=change)
        assert answer.status_code == 200
        current = current | change
        assert answer.json() == {"apiKey": current}


FAULTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": ""}, "name"),
    ({"name": "x" * 201}, "name"),
    ({"scopes": []}, "scopes"),
    ({"scopes": "all"}, "scopes"),
    ({"scopes": ["cameras:read", "cameras:delete"]}, "scopes.1"),
    ({"enabled": None}, "enabled"),
    ({"expiresAt": "tomorrow"}, "expiresAt"),
    ({"expiresAt": 1_900_000_000}, "expiresAt"),
    ({"expiresAt": "9999-12-31T23:59:59-12:00"}, "expiresAt"),
    ({"plainKey": "pk_x"}, "plainKey"),
)


async def test_a_fault_is_named(client: httpx.AsyncClient) -> None:
    created = (await client.post(PATH, json=BODY)).json()["apiKey"]
    for change, path in FAULTS:
        for answer in (
            await client.post(PATH, json={**BODY, **change}),
            await client.put(f"{PATH}/{created['id']}", json=change),
        ):
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), change
            assert [fault["path"] for fault in answer.json()["fields"]] == [path], change


async def test_a_key_can_neither_make_nor_widen_beyond_itself(application: Application) -> None:
    scopes = frozenset({Scope.API_KEYS_READ, Scope.API_KEYS_WRITE, Scope.CREDITS_READ})
    owner = await application.new_owner()
    async with application.client(owner) as all_scopes:
        narrow_key = await all_scopes.post(PATH, json=BODY | {"scopes": sorted(scopes)})
        wide = (await all_scopes.post(PATH, json=BODY | {"enabled": False})).json()["apiKey"]
    narrow = narrow_key.json()
    async with application.client(Caller(owner.owner_id, narrow["plainKey"])) as client:
        own = f"{PATH}/{narrow['apiKey']['id']}"
        refused = [
            await client.post(PATH, json=BODY),
            await client.put(own, json={"scopes": [*sorted(scopes), "cameras:read"]}),
            await client.put(f"{PATH}/{wide['id']}", json={"enabled": True}),
        ]
        allowed = [
            await client.post(PATH, json=BODY | {"scopes": ["credits:read"]}),
            await client.put(f"{PATH}/{wide['id']}", json={"scopes": ["credits:read"]}),
            await client.put(f"{PATH}/{wide['id']}", json={"enabled": True}),
            await client.put(own, json={"scopes": ["api-keys:read"]}),
            await client.get(PATH),
        ]
        after = await client.post(PATH, json=BODY | {"scopes": ["credits:read"]})

    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [
        (403, "missing_scope")
    ] * 3
    assert "cameras:read" in refused[0].json()["error"]
    assert [answer.status_code for answer in allowed] == [201, 200, 200, 200, 200]
    # The key removed its own scope, and this process knows immediately.
    assert after.status_code == 403


END = datetime(2031, 1, 1, tzinfo=UTC)
EARLIER, SAME, LATER = (
    (END + timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for days in (-1, 0, 1)
)


async def _ending(application: Application, maker: httpx.AsyncClient) -> tuple[str, str]:
    """Create a key with all scopes that expires at ``END``. Return the plain key and its ID."""
    body = BODY | {"scopes": [str(scope) for scope in Scope], "expiresAt": SAME}
    made = (await maker.post(PATH, json=body)).json()
    return made["plainKey"], made["apiKey"]["id"]


async def test_a_key_that_ends_makes_none_that_outlives_it(
    application: Application, client: httpx.AsyncClient
) -> None:
    plain, own_id = await _ending(application, client)
    async with application.client(Caller(UUID(int=0), plain)) as ending:
        refused = [await ending.post(PATH, json=BODY | {"expiresAt": at}) for at in (None, LATER)]
        made = [
            await ending.post(PATH, json=BODY),
            await ending.post(PATH, json=BODY | {"expiresAt": SAME}),
            await ending.post(PATH, json=BODY | {"expiresAt": EARLIER}),
        ]

    for answer in refused:
        assert (answer.status_code, answer.json()["code"]) == (403, "beyond_own_expiry")
    assert [answer.status_code for answer in made] == [201] * 3
    keys = [answer.json()["apiKey"] for answer in made]
    # Without ``expiresAt``, a key expires with the key that created it.
    assert [key["expiresAt"] for key in keys] == [SAME, SAME, EARLIER]
    assert [key["ancestors"][0] for key in keys] == [own_id] * 3


async def test_a_key_that_ends_prolongs_and_widens_none_beyond_its_end(
    application: Application, client: httpx.AsyncClient
) -> None:
    plain, own_id = await _ending(application, client)
    endless = (await client.post(PATH, json=BODY | {"enabled": False})).json()["apiKey"]["id"]
    async with application.client(Caller(UUID(int=0), plain)) as ending:
        refused = [
            await ending.put(f"{PATH}/{own_id}", json={"expiresAt": None}),
            await ending.put(f"{PATH}/{own_id}", json={"expiresAt": LATER}),
            await ending.put(f"{PATH}/{endless}", json={"enabled": True}),
            await ending.put(
                f"{PATH}/{endless}", json={"scopes": [*BODY["scopes"], "alerts:read"]}
            ),
        ]
        allowed = [
            await ending.put(f"{PATH}/{endless}", json={"name": "Other", "expiresAt": LATER}),
            await ending.put(f"{PATH}/{endless}", json={"expiresAt": SAME, "enabled": True}),
            await ending.put(f"{PATH}/{own_id}", json={"expiresAt": EARLIER}),
        ]
        # The new expiry of the key applies after the response.
        refused.append(await ending.post(PATH, json=BODY | {"expiresAt": SAME}))
        refused.append(await ending.put(f"{PATH}/{own_id}", json={"expiresAt": SAME}))

    for answer in refused:
        assert (answer.status_code, answer.json()["code"]) == (403, "beyond_own_expiry")
    assert [answer.status_code for answer in allowed] == [200] * 3


async def test_a_session_prolongs_any_key(application: Application, owner: Caller) -> None:
    origin = {"Origin": "https://api.test"}
    async with application.client() as browser:
        login = {"email": owner.email, "password": PASSWORD}
        token = (await browser.post("/api/session", json=login)).cookies["__Host-session"]
        cookie = {"Cookie": f"__Host-session={token}"} | origin
        made = await browser.post(PATH, json=BODY | {"expiresAt": SAME}, headers=cookie)
        path = f"{PATH}/{made.json()['apiKey']['id']}"
        prolonged = await browser.put(path, json={"expiresAt": None}, headers=cookie)

    assert (made.status_code, made.json()["apiKey"]["ancestors"]) == (201, [])
    assert (prolonged.status_code, prolonged.json()["apiKey"]["expiresAt"]) == (200, None)


async def test_keys_name_those_that_they_descend_from_also_once_these_are_revoked(
    application: Application,
) -> None:
    caller = await application.new_owner()
    ids = []
    async with application.client(caller) as first:
        (own,) = (await first.get(PATH)).json()["apiKeys"]
        ids.append(own["id"])
        plain = caller.key
        for _ in range(2):
            async with application.client(Caller(caller.owner_id, plain)) as maker:
                body = BODY | {"scopes": ["api-keys:read", "api-keys:write"]}
                made = (await maker.post(PATH, json=body)).json()
                ids.append(made["apiKey"]["id"])
                plain = made["plainKey"]
        assert (await first.delete(f"{PATH}/{ids[1]}")).status_code == 204
        assert (await first.delete(f"{PATH}/{ids[0]}")).status_code == 204
    async with application.client(Caller(caller.owner_id, plain)) as last:
        listed = (await last.get(PATH)).json()["apiKeys"]

    assert [(key["id"], key["ancestors"]) for key in listed] == [(ids[2], [ids[1], ids[0]])]


async def test_a_key_revoked_elsewhere_makes_and_changes_none_while_it_is_still_believed(
    application: Application,
) -> None:
    caller = await application.new_owner()
    async with application.client(caller) as client:
        (own,) = (await client.get(PATH)).json()["apiKeys"]
        await application.database.run(lambda session: session.execute(delete(ApiKey)))
        answers = [
            await client.post(PATH, json=BODY),
            await client.put(f"{PATH}/{own['id']}", json={"name": "Other"}),
        ]

    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials")


async def test_no_more_than_the_limit(client: httpx.AsyncClient) -> None:
    # The caller's own key counts as well.
    answers = [await client.post(PATH, json=BODY) for _ in range(PER_OWNER)]

    assert [answer.status_code for answer in answers] == [201] * (PER_OWNER - 1) + [409]
    assert answers[-1].json()["code"] == "limit_reached"
