"""People of an account: the permissions of their roles, changes, and removal."""

import asyncio
import re
import uuid

import httpx
import pytest

from api.app import create_app
from api.security.permissions import ROLE_SCOPES, Access, Administrator, Public, Role
from tests.integration.api.application import PASSWORD, Application, Caller
from tests.integration.api.people import browser_of, invite, logged_in, new_address, new_person

pytestmark = pytest.mark.integration

OTHER = "another password of a test"
ALERT = {"name": "n"}
GATED: list[tuple[str, str, Access]] = [
    (method, path, access)
    for (method, path), access in create_app().state.permissions.access.items()
    if not isinstance(access.scope, Public) and (method, path) != ("DELETE", "/api/session")
]


async def _id(administrator: httpx.AsyncClient, email: str) -> str:
    """Return the ID of a person of the account."""
    listed = (await administrator.get("/api/people")).json()["people"]
    (found,) = (str(one["id"]) for one in listed if one["email"] == email)
    return found


async def test_who_has_the_account_administers_it(
    administrator: httpx.AsyncClient, owner: Caller
) -> None:
    (person,) = (await administrator.get("/api/people")).json()["people"]
    session = (await administrator.get("/api/session")).json()["session"]

    assert (person["email"], person["role"]) == (owner.email, "administrator")
    assert (person["isSelf"], person["enabled"]) == (True, True)
    assert person["lastLogInAt"] > person["createdAt"]
    told = {name: person[name] for name in ("id", "email", "name", "role", "hasPassword")}
    assert session["person"] == told


@pytest.mark.parametrize("role", Role)
async def test_a_role_opens_the_calls_of_its_scopes_and_no_others(
    application: Application, administrator: httpx.AsyncClient, owner: Caller, role: Role
) -> None:
    email = await new_person(application, administrator, role)
    async with logged_in(application, email) as browser:
        session = (await browser.get("/api/session")).json()["session"]
        for method, path, access in GATED:
            url = re.sub(r"\{\w+\}", str(uuid.uuid4()), path)
            answer = await browser.request(method, url)
            opens = access.scopes <= ROLE_SCOPES[role]
            if access.scope is Administrator.ONLY:
                opens = role is Role.ADMINISTRATOR
            assert (answer.status_code == 403) != opens, (method, path, answer.text)
            if not opens:
                assert answer.json()["code"] == "missing_scope"

    assert session["scopes"] == sorted(ROLE_SCOPES[role])
    assert (session["email"], session["ownerId"]) == (owner.email, str(owner.owner_id))
    assert (session["person"]["email"], session["person"]["name"]) == (email, "Ana")


async def test_a_key_of_all_scopes_manages_no_people(
    application: Application, owner: Caller
) -> None:
    async with application.client(owner) as client:
        for method, path, access in GATED:
            if access.scope is Administrator.ONLY:
                answer = await client.request(method, path.replace("{id}", str(uuid.uuid4())))
                assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
        session = (await client.get("/api/session")).json()["session"]

    assert session["person"] is None


@pytest.mark.parametrize("has_other_switched_off", [False, True])
async def test_the_last_administrator_is_not_removed_demoted_or_disabled(
    application: Application,
    administrator: httpx.AsyncClient,
    owner: Caller,
    *,
    has_other_switched_off: bool,
) -> None:
    await new_person(application, administrator, Role.OPERATOR)
    if has_other_switched_off:
        other = await new_person(application, administrator, Role.ADMINISTRATOR)
        path = f"/api/people/{await _id(administrator, other)}"
        assert (await administrator.put(path, json={"enabled": False})).status_code == 200
    path = f"/api/people/{await _id(administrator, owner.email)}"
    answers = [
        await administrator.put(path, json={"role": "operator"}),
        await administrator.put(path, json={"enabled": False}),
        await administrator.delete(path),
    ]

    assert [answer.status_code for answer in answers] == [409] * 3
    assert {answer.json()["code"] for answer in answers} == {"last_administrator"}
    assert (await administrator.get("/api/people")).status_code == 200


async def test_who_is_not_the_last_administrator_can_step_back(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    await new_person(application, administrator, Role.ADMINISTRATOR)
    path = f"/api/people/{await _id(administrator, owner.email)}"
    answer = await administrator.put(path, json={"role": "viewer"})

    assert (answer.status_code, answer.json()["person"]["role"]) == (200, "viewer")
    assert (await administrator.get("/api/people")).status_code == 403
    assert (await administrator.get("/api/recognitions")).status_code == 200


async def test_two_administrators_who_demote_each_other_leave_one(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    email = await new_person(application, administrator, Role.ADMINISTRATOR)
    own, others = await _id(administrator, owner.email), await _id(administrator, email)
    async with logged_in(application, email) as other:
        answers = await asyncio.gather(
            administrator.put(f"/api/people/{others}", json={"role": "viewer"}),
            other.put(f"/api/people/{own}", json={"role": "viewer"}),
        )

    assert sorted(answer.status_code for answer in answers) == [200, 403]


async def test_a_demotion_holds_at_once_in_open_sessions(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    email = await new_person(application, administrator, Role.OPERATOR)
    path = f"/api/people/{await _id(administrator, email)}"
    async with logged_in(application, email) as browser:
        assert (await browser.post("/api/alertas", json=ALERT)).status_code == 201
        changed = await administrator.put(path, json={"role": "viewer"})
        refused = await browser.post("/api/alertas", json=ALERT)
        read = await browser.get("/api/alertas")
        session = (await browser.get("/api/session")).json()["session"]

    assert (changed.status_code, changed.json()["person"]["isSelf"]) == (200, False)
    assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")
    assert refused.json()["error"] == "The role viewer lacks the scope alerts:write."
    assert (read.status_code, session["person"]["role"]) == (200, "viewer")


async def test_a_removal_ends_sessions_at_once_and_leaves_keys(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    email = await new_person(application, administrator, Role.ADMINISTRATOR)
    path = f"/api/people/{await _id(administrator, email)}"
    key = {"name": "k", "scopes": ["credits:read"]}
    async with logged_in(application, email) as browser:
        plain_key = (await browser.post("/api/api-keys", json=key)).json()["plainKey"]
        removed = await administrator.delete(path)
        after = await browser.get("/api/credits")
        again = await browser.post("/api/session", json={"email": email, "password": PASSWORD})
    async with application.client() as client:
        by_key = await client.get("/api/credits", headers={"Authorization": f"Bearer {plain_key}"})

    assert (removed.status_code, removed.content) == (204, b"")
    assert [after.status_code, again.status_code, by_key.status_code] == [401, 401, 200]
    assert (await administrator.delete(path)).status_code == 404
    assert len((await administrator.get("/api/people")).json()["people"]) == 1


async def test_a_disabled_person_is_logged_out_and_can_log_in_once_enabled(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    email = await new_person(application, administrator, Role.VIEWER)
    path = f"/api/people/{await _id(administrator, email)}"
    login = {"email": email, "password": PASSWORD}
    async with logged_in(application, email) as browser:
        assert (await administrator.put(path, json={"enabled": False})).status_code == 200
        out = await browser.get("/api/cameras")
        refused = await browser.post("/api/session", json=login)
        wrong = await browser.post("/api/session", json=login | {"password": "wrong"})
        assert (await administrator.put(path, json={"enabled": True})).status_code == 200
        still_out = await browser.get("/api/cameras")
        assert (await browser.post("/api/session", json=login)).status_code == 200

    assert [out.status_code, refused.status_code, still_out.status_code] == [401] * 3
    assert refused.json()["error"] == wrong.json()["error"]


async def test_people_and_invitations_of_another_account_are_not_seen(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    email = await new_person(application, administrator, Role.VIEWER)
    person = await _id(administrator, email)
    invitation = (await invite(administrator, new_address(), Role.VIEWER))["invitation"]["id"]
    stranger = await application.new_owner()
    async with logged_in(application, stranger.email) as other:
        listed = (await other.get("/api/people")).json()["people"]
        invited = (await other.get("/api/invitations")).json()["invitations"]
        answers = [
            await other.put(f"/api/people/{person}", json={"enabled": False}),
            await other.delete(f"/api/people/{person}"),
            await other.delete(f"/api/invitations/{invitation}"),
            await other.delete("/api/people/not-a-uuid"),
        ]

    assert ([one["email"] for one in listed], invited) == ([stranger.email], [])
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {
        (404, "not_found")
    }
    people = (await administrator.get("/api/people")).json()["people"]
    assert {one["email"]: one["enabled"] for one in people} == {owner.email: True, email: True}


@pytest.mark.parametrize(
    ("body", "path"),
    [({"role": "owner"}, "role"), ({"role": None}, "role"), ({"password": "x"}, "password")],
)
async def test_a_change_that_is_not_valid_is_400(
    administrator: httpx.AsyncClient, owner: Caller, body: dict[str, object], path: str
) -> None:
    person = await _id(administrator, owner.email)
    answer = await administrator.put(f"/api/people/{person}", json=body)

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, path)


async def test_a_viewer_changes_the_own_password_and_nothing_of_the_account(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    email = await new_person(application, administrator, Role.VIEWER)
    async with logged_in(application, email) as browser, logged_in(application, email) as second:
        zone = await browser.put("/api/account", json={"timezone": "Asia/Tokyo"})
        change = {"currentPassword": PASSWORD, "newPassword": OTHER}
        password = await browser.put("/api/account", json=change)
        ended = await second.get("/api/cameras")
        stays = await administrator.get("/api/cameras")
    async with logged_in(application, email, OTHER):
        pass

    assert (zone.status_code, password.status_code) == (403, 200)
    assert (ended.status_code, stays.status_code) == (401, 200)


async def test_people_see_and_end_their_own_sessions_only(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    email = await new_person(application, administrator, Role.OPERATOR)
    async with logged_in(application, email) as browser:
        (own,) = (await browser.get("/api/sessions")).json()["sessions"]
        (others,) = (await administrator.get("/api/sessions")).json()["sessions"]
        refused = await administrator.delete(f"/api/sessions/{own['id']}")
        still = await browser.get("/api/cameras")

    assert own["id"] != others["id"]
    assert (refused.status_code, still.status_code) == (404, 200)


async def test_a_change_from_another_site_is_refused(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    evil = {"Origin": "https://evil.example"}
    person = await _id(administrator, owner.email)
    answers = [
        await administrator.put(f"/api/people/{person}", json={}, headers=evil),
        await administrator.delete(f"/api/people/{person}", headers=evil),
    ]
    async with browser_of(application) as stranger:
        find = {"token": "x"}
        answers.append(await stranger.post("/api/invitations/find", json=find, headers=evil))

    assert {answer.json()["code"] for answer in answers} == {"cross_site_request"}
