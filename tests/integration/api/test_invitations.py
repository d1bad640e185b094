"""Invitations: a link adds one person to an account, once, until the link expires."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import text

from api.accounts.service import change_password, create_owner
from api.db.database import Database
from api.erasure.service import end_account
from api.security import credentials
from api.security.permissions import Role
from common.errors import InvalidInputError
from tests.integration.api.application import (
    PASSWORD,
    PER_OWNER,
    Application,
    Caller,
    Options,
    running_application,
)
from tests.integration.api.people import (
    accept,
    browser_of,
    invite,
    logged_in,
    new_address,
    new_person,
)
from tests.services.mail import MailServer

pytestmark = pytest.mark.integration

FIND = "/api/invitations/find"


async def _find(application: Application, token: str) -> httpx.Response:
    async with browser_of(application) as invited:
        return await invited.post(FIND, json={"token": token})


def _is_over(*answers: httpx.Response) -> bool:
    said = {(answer.status_code, answer.json()["code"]) for answer in answers}
    return said == {(404, "invitation_over")}


async def test_an_invitation_is_found_accepted_and_gone(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    email = new_address()
    body = {"email": email.upper(), "role": "operator"}
    answer = await administrator.post("/api/invitations", json=body)
    made = answer.json()
    listed = (await administrator.get("/api/invitations")).json()["invitations"]
    found = await _find(application, made["token"])
    accepted = await accept(application, made["token"])
    async with logged_in(application, email) as browser:
        session = (await browser.get("/api/session")).json()["session"]

    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    assert listed == [made["invitation"]]
    assert set(made) == {"invitation", "token", "emailSent", "emailError"}
    assert (made["emailSent"], made["emailError"]) == (False, None)
    shown = {"email": email, "role": "operator", "invitedBy": owner.email}
    assert made["invitation"].items() >= shown.items()
    ends = datetime.fromisoformat(made["invitation"]["expiresAt"]) - datetime.now(UTC)
    assert timedelta(hours=71) < ends <= timedelta(hours=72)
    assert found.status_code == 200
    expires = made["invitation"]["expiresAt"]
    assert found.json() == {"invitation": shown | {"expiresAt": expires}}
    assert (accepted.status_code, accepted.json()) == (201, {"email": email})
    assert (session["ownerId"], session["person"]["role"]) == (str(owner.owner_id), "operator")
    assert (await administrator.get("/api/invitations")).json() == {"invitations": []}


async def test_the_link_is_emailed_if_a_server_is_set(database: Database) -> None:
    email, refused = new_address(), new_address()
    with MailServer() as server:
        server.refuse(refused, "550 no such user")
        options = Options(smtp_host="127.0.0.1", smtp_port=server.port)
        async with running_application(database, options) as application:
            owner = await application.new_owner()
            async with logged_in(application, owner.email) as browser:
                made = await invite(browser, email, Role.OPERATOR)
                untold = await invite(browser, refused, Role.VIEWER)
                server.become_unavailable()
                away = await invite(browser, new_address(), Role.VIEWER)
                server.recover()
                listed = (await browser.get("/api/invitations")).json()["invitations"]
            assert (await accept(application, untold["token"])).status_code == 201

    assert [(one["emailSent"], one["emailError"]) for one in (made, untold, away)] == [
        (True, None),
        (False, "The SMTP server responded with 550."),
        (False, "Sending to the SMTP server failed: SMTPConnectError."),
    ]
    assert len(listed) == 3
    (sent,) = server.emails
    assert server.recipients == [email]
    assert str(sent["From"]) == "Gate <gate@platestream.example>"
    text = sent.get_content()
    (link,) = [line for line in text.splitlines() if line.startswith("https://")]
    assert re.fullmatch(r"https://plates\.example\.com/invitation#[\w-]{43}", link)
    assert made["token"] not in text
    assert f"{owner.email} has invited you to join their Platestream account as operator." in text
    ends = datetime.fromisoformat(made["invitation"]["expiresAt"])
    assert f"expires on {ends:%Y-%m-%d %H:%M} (UTC)" in text


async def test_only_a_hash_of_the_link_is_stored(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    token = (await invite(administrator, new_address(), Role.VIEWER))["token"]
    (row,) = await application.database.run(
        lambda session: session.execute(text("SELECT invitations::text FROM invitations")).all()
    )
    listed = await administrator.get("/api/invitations")

    assert len(token) == 43
    assert token not in row[0]
    assert token.encode().hex() not in row[0]
    assert token not in listed.text


async def test_a_link_is_used_once(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    token = (await invite(administrator, new_address(), Role.VIEWER))["token"]
    assert (await accept(application, token)).status_code == 201

    assert _is_over(await accept(application, token), await _find(application, token))
    assert len((await administrator.get("/api/people")).json()["people"]) == 2


async def test_a_link_used_twice_at_once_makes_one_person(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    token = (await invite(administrator, new_address(), Role.VIEWER))["token"]
    answers = await asyncio.gather(*(accept(application, token) for _ in range(2)))

    assert sorted(answer.status_code for answer in answers) == [201, 404]


async def test_an_expired_link_opens_nothing_and_is_swept(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    token = (await invite(administrator, new_address(), Role.VIEWER))["token"]
    expire = text("UPDATE invitations SET expires_at = now() - interval '1 s'")
    await application.database.run(lambda session: session.execute(expire))

    assert _is_over(await _find(application, token), await accept(application, token))
    assert (await administrator.get("/api/invitations")).json() == {"invitations": []}
    assert await application.services.invitations.sweep() == 1


async def test_a_revoked_link_opens_nothing(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    made = await invite(administrator, new_address(), Role.VIEWER)
    path = f"/api/invitations/{made['invitation']['id']}"
    revoked = await administrator.delete(path)

    assert (revoked.status_code, revoked.content) == (204, b"")
    assert _is_over(await accept(application, made["token"]))
    assert (await administrator.delete(path)).status_code == 404


async def test_a_newer_invitation_of_an_address_ends_the_older(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    email = new_address()
    older = await invite(administrator, email, Role.ADMINISTRATOR)
    newer = await invite(administrator, email, Role.VIEWER)

    assert _is_over(await accept(application, older["token"]))
    assert (await accept(application, newer["token"])).status_code == 201
    people = (await administrator.get("/api/people")).json()["people"]
    assert [one["role"] for one in people] == ["viewer", "administrator"]


async def test_the_links_of_an_account_that_ended_open_nothing(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    token = (await invite(administrator, new_address(), Role.ADMINISTRATOR))["token"]
    await application.database.run(lambda session: end_account(session, owner.owner_id))

    assert _is_over(await accept(application, token))


async def test_invalid_links_are_limited_by_address(database: Database) -> None:
    async with running_application(database, Options(failed_authentications=3)) as application:
        answers = [await _find(application, "x" * 43) for _ in range(3)]
        answers.append(await accept(application, "x" * 43))

    assert _is_over(*answers[:3])
    assert (answers[3].status_code, answers[3].json()["code"]) == (429, "rate_limited")


async def test_invalid_keys_do_not_prevent_joining(database: Database) -> None:
    async with running_application(database, Options(failed_authentications=3)) as application:
        owner = await application.new_owner()
        async with logged_in(application, owner.email) as administrator:
            made = await invite(administrator, new_address(), Role.VIEWER)
        async with application.client() as client:
            headers = {"Authorization": f"Bearer {credentials.new_api_key()}"}
            keys = [await client.get("/api/credits", headers=headers) for _ in range(4)]
        joined = await accept(application, made["token"])

    assert [answer.status_code for answer in keys] == [401, 401, 401, 429]
    assert joined.status_code == 201


async def test_a_person_of_the_account_is_not_invited(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    email = await new_person(application, administrator, Role.VIEWER)
    for address in (owner.email, email):
        body = {"email": address, "role": "viewer"}
        answer = await administrator.post("/api/invitations", json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "person_exists")


async def test_a_person_of_another_account_keeps_their_login_after_accepting(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    stranger = await application.new_owner()
    token = (await invite(administrator, stranger.email, Role.ADMINISTRATOR))["token"]
    answer = await accept(application, token)

    assert answer.status_code == 201
    async with logged_in(application, stranger.email) as browser:
        session = (await browser.get("/api/session")).json()["session"]
    assert session["ownerId"] == str(stranger.owner_id)


async def test_who_two_accounts_invite_joins_both(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    email, other = new_address(), await application.new_owner()
    async with logged_in(application, other.email) as second:
        made = [await invite(each, email, Role.VIEWER) for each in (administrator, second)]
    answers = await asyncio.gather(*(accept(application, one["token"]) for one in made))

    assert [answer.status_code for answer in answers] == [201, 201]


async def test_people_and_who_is_invited_have_a_limit_together(
    application: Application, administrator: httpx.AsyncClient
) -> None:
    await new_person(application, administrator, Role.VIEWER)
    invited = [new_address() for _ in range(PER_OWNER - 2)]
    for email in invited:
        await invite(administrator, email, Role.VIEWER)
    body = {"email": new_address(), "role": "viewer"}
    refused = await administrator.post("/api/invitations", json=body)

    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    assert f"limit of {PER_OWNER} people, including pending invitations" in refused.json()["error"]
    # A person with an invitation can be invited again.
    await invite(administrator, invited[0], Role.OPERATOR)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"email": "nobody", "role": "viewer"}, "email"),
        ({"email": "a@b.example", "role": "owner"}, "role"),
        ({"email": "a@b.example"}, "role"),
        ({"email": "a@b.example", "role": "viewer", "name": "Ana"}, "name"),
    ],
)
async def test_an_invitation_that_is_not_valid_is_400(
    administrator: httpx.AsyncClient, body: dict[str, object], path: str
) -> None:
    answer = await administrator.post("/api/invitations", json=body)

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, path)


@pytest.mark.parametrize(
    ("change", "path"),
    [({"password": "short"}, "password"), ({"name": ""}, "name"), ({"role": "viewer"}, "role")],
)
async def test_an_acceptance_that_is_not_valid_uses_nothing_up(
    application: Application,
    administrator: httpx.AsyncClient,
    change: dict[str, object],
    path: str,
) -> None:
    token = (await invite(administrator, new_address(), Role.VIEWER))["token"]
    body = {"token": token, "name": "Ana", "password": PASSWORD} | change
    async with browser_of(application) as invited:
        answer = await invited.post("/api/invitations/accept", json=body)

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, path)
    assert (await accept(application, token)).status_code == 201


async def test_the_operator_makes_no_owner_of_a_person_and_changes_a_persons_password(
    application: Application, administrator: httpx.AsyncClient, owner: Caller
) -> None:
    email = await new_person(application, administrator, Role.VIEWER)
    proven = text("UPDATE people SET email_proven = true")
    await application.database.run(lambda session: session.execute(proven))
    with pytest.raises(InvalidInputError, match="person of another account") as refused:
        await application.database.run(
            lambda session: create_owner(
                session, email=email, password=PASSWORD, timezone="UTC", credits=0
            )
        )
    other = "another password of a test"
    changed = await application.database.run(
        lambda session: change_password(session, email=email, password=other)
    )
    async with logged_in(application, email, other):
        pass

    assert refused.value.code == "owner_exists"
    assert changed.id == owner.owner_id
