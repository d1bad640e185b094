"""Email addresses that several accounts use: unproven claims, and the owner of an address."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from api.accounts.service import create_owner
from api.cli.app import app as commands
from api.db.database import Database
from api.security import credentials
from api.security.permissions import Role
from api.sessions.attempts import AttemptRules
from common.settings import DatabaseSettings
from tests.integration.api.application import (
    PASSWORD,
    Application,
    Caller,
    Options,
    running_application,
)
from tests.integration.api.people import SITE, browser_of, invite, logged_in, new_address
from tests.services.mail import MailServer

pytestmark = pytest.mark.integration

OTHERS = "the password of another"
ACCEPT = "/api/invitations/accept"


@asynccontextmanager
async def _emailing(database: Database) -> AsyncIterator[tuple[Application, MailServer]]:
    """Yield an application that sends email, and the mail server."""
    with MailServer() as server:
        options = Options(smtp_host="127.0.0.1", smtp_port=server.port)
        async with running_application(database, options) as application:
            yield application, server


async def _invited(application: Application, owner: Caller, email: str) -> str:
    """Invite an address to an account as its administrator, and return the token."""
    async with logged_in(application, owner.email) as administrator:
        return str((await invite(administrator, email, Role.VIEWER))["token"])


async def _accept(application: Application, token: str, password: str = PASSWORD) -> httpx.Response:
    body = {"token": token, "name": "Ana", "password": password}
    async with browser_of(application) as invited:
        return await invited.post(ACCEPT, json=body)


async def _claim(application: Application, owner: Caller, email: str, password: str) -> None:
    """Let the administrator of an account claim an address with a password of their choice."""
    answer = await _accept(application, await _invited(application, owner, email), password)
    assert answer.status_code == 201, answer.text


async def _log_in(
    application: Application, email: str, password: str, address: str = "127.0.0.1"
) -> httpx.Response:
    """Return the response to a login on a new device. A trusted proxy reports ``address``."""
    login, told = {"email": email, "password": password}, {"X-Forwarded-For": address}
    async with browser_of(application) as browser:
        return await browser.post("/api/session", json=login, headers=told)


def _account(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["session"]["ownerId"])


async def _rows(database: Database, email: str) -> list[Any]:
    query = text("SELECT owner_id, email_proven, password_hash FROM people WHERE email = :email")
    return await database.run(lambda session: list(session.execute(query, {"email": email})))


def _emailed_token(server: MailServer, number: int = 0) -> str:
    found = re.search(r"/invitation#(\S+)", server.emails[number].get_content())
    assert found is not None
    return found[1]


async def test_the_answers_do_not_reveal_who_uses_an_address(
    application: Application, owner: Caller
) -> None:
    other = await application.new_owner()
    claimed = new_address()
    await _claim(application, other, claimed, OTHERS)
    said = []
    async with logged_in(application, owner.email) as administrator:
        for email in (new_address(), other.email, claimed):
            made = await invite(administrator, email, Role.VIEWER)
            accepted = await _accept(application, made["token"])
            people = (await administrator.get("/api/people")).json()["people"]
            shown = next(one for one in people if one["email"] == email)
            login = await _log_in(application, email, "a wrong password")
            assert (accepted.status_code, accepted.json()) == (201, {"email": email})
            fields = set(made), set(shown), shown["enabled"], shown["identity"]
            said.append((*fields, login.status_code, login.json()["error"]))

    assert said[0] == said[1] == said[2]


async def test_an_administrator_who_claims_an_address_logs_in_with_it_in_any_case(
    application: Application, owner: Caller
) -> None:
    other = await application.new_owner()
    emails = (new_address(), other.email)
    for email in emails:
        await _claim(application, owner, email, OTHERS)
    logins = [await _log_in(application, email, OTHERS) for email in emails]

    # An error would reveal whether another person has the address.
    assert [_account(login) for login in logins] == [str(owner.owner_id)] * 2


async def test_the_emailed_token_proves_the_address_and_the_returned_one_does_not(
    database: Database,
) -> None:
    async with _emailing(database) as (application, server):
        owner = await application.new_owner()
        emailed, returned = new_address(), new_address()
        for email in (emailed, returned):
            token = await _invited(application, owner, email)
        sent = _emailed_token(server)
        await _accept(application, sent)
        await _accept(application, token)
        rows = [await _rows(database, email) for email in (emailed, returned, owner.email)]

    assert token not in "".join(one.get_content() for one in server.emails)
    assert [[row.email_proven for row in found] for found in rows] == [[True], [False], [True]]


async def test_each_token_of_an_invitation_ends_both(database: Database) -> None:
    async with _emailing(database) as (application, server):
        owner = await application.new_owner()
        returned = await _invited(application, owner, new_address())
        first = await _accept(application, returned)
        second = await _accept(application, _emailed_token(server))

    assert (first.status_code, second.status_code) == (201, 404)


async def test_whoever_has_proven_the_address_comes_before_claims(
    application: Application, owner: Caller
) -> None:
    squatters = [await application.new_owner() for _ in range(3)]
    for number, squatter in enumerate(squatters):
        await _claim(application, squatter, owner.email, f"{OTHERS} {number}")
    alike = await application.new_owner()
    await _claim(application, alike, owner.email, PASSWORD)
    own = await _log_in(application, owner.email, PASSWORD)
    theirs = [await _log_in(application, owner.email, f"{OTHERS} {each}") for each in range(3)]
    wrong = await _log_in(application, owner.email, f"{OTHERS} 4")

    assert _account(own) == str(owner.owner_id)
    assert [_account(one) for one in theirs] == [str(one.owner_id) for one in squatters]
    assert wrong.status_code == 401


async def test_a_login_computes_one_hash_whoever_uses_the_address(
    application: Application, owner: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        await _claim(application, await application.new_owner(), owner.email, OTHERS)
    computed: list[str] = []
    compute = credentials.hash_password

    def counted(password: str, like: str = "") -> str:
        computed.append(like)
        return compute(password, like)

    credentials.unknown_hash()
    monkeypatch.setattr(credentials, "hash_password", counted)
    counts = []
    for email, password in (
        (owner.email, PASSWORD),
        (owner.email, "wrong"),
        (new_address(), "wrong"),
        # The claim has logged in here, so this attempt is compared only with its password.
        (owner.email, OTHERS),
    ):
        await _log_in(application, email, password)
        counts.append(len(computed))
        computed.clear()

    assert counts == [1, 1, 1, 1]


async def test_a_changed_password_is_still_compared_by_the_same_hash(
    application: Application, database: Database, owner: Caller
) -> None:
    await _claim(application, await application.new_owner(), owner.email, OTHERS)
    change = {"currentPassword": PASSWORD, "newPassword": "a newer password"}
    async with logged_in(application, owner.email) as browser:
        assert (await browser.put("/api/account", json=change)).status_code == 200
    rows = await _rows(database, owner.email)

    assert len({row.password_hash.rpartition("$")[0] for row in rows}) == 1
    assert len({row.password_hash for row in rows}) == 2
    assert _account(await _log_in(application, owner.email, "a newer password"))


async def test_a_claim_opens_no_way_to_guess_the_password_of_who_has_the_address(
    database: Database,
) -> None:
    rules = AttemptRules(per_minute=0, per_address_per_minute=0, per_account_per_hour=2)
    async with running_application(database, Options(attempts=rules)) as application:
        owner, squatter = await application.new_owner(), await application.new_owner()
        await _claim(application, squatter, owner.email, OTHERS)
        login = {"email": owner.email, "password": OTHERS}
        statuses = []
        async with browser_of(application) as browser:
            # For the owner of the address, a claim's place and device do not count as known.
            assert (await browser.post("/api/session", json=login)).status_code == 200
            for number in range(4):
                guess = login | {"password": f"guess {number}"}
                statuses.append((await browser.post("/api/session", json=guess)).status_code)
            statuses.append((await browser.post("/api/session", json=login)).status_code)
            browser.cookies.clear()
            right = login | {"password": PASSWORD}
            statuses.append((await browser.post("/api/session", json=right)).status_code)

    # The device has two separate attempts for the claim. The address has no attempts left.
    assert statuses == [401, 401, 429, 429, 429, 429]


async def test_a_claim_is_no_way_to_try_passwords_without_counting_them(
    database: Database,
) -> None:
    rules = AttemptRules(per_minute=0, per_address_per_minute=0, per_account_per_hour=2)
    options = Options(attempts=rules, trusted_proxies="127.0.0.1")
    async with running_application(database, options) as application:
        owner, squatter = await application.new_owner(), await application.new_owner()
        await _claim(application, squatter, owner.email, OTHERS)
        # Each attempt also compares the password with the owner's password.
        strange = [
            (await _log_in(application, owner.email, OTHERS, f"192.0.2.{number}")).status_code
            for number in range(3)
        ]
    async with (
        running_application(database, Options(attempts=rules)) as application,
        browser_of(application) as browser,
    ):
        login = {"email": owner.email, "password": OTHERS}
        known = [(await browser.post("/api/session", json=login)).status_code for _ in range(4)]
        right = await browser.post("/api/session", json=login | {"password": PASSWORD})

    assert strange == [200, 200, 429]
    # On a known device, the password is compared only with the claim's password.
    assert known == [200] * 4
    assert right.status_code == 200


async def test_strangers_keep_no_claim_out_where_it_logged_in(database: Database) -> None:
    rules = AttemptRules(per_minute=3, per_address_per_minute=9, per_account_per_hour=3)
    options = Options(attempts=rules, trusted_proxies="127.0.0.1")
    home, elsewhere, strange = "192.0.2.1", "198.51.100.1", "203.0.113.1"
    async with running_application(database, options) as application:
        owner, email = await application.new_owner(), new_address()
        await _claim(application, owner, email, OTHERS)
        # Only the first login counts as a failed attempt.
        often = [(await _log_in(application, email, OTHERS, home)).status_code for _ in range(12)]
        guesses = [
            (await _log_in(application, email, "a guess", strange)).status_code for _ in range(4)
        ]
        after = [
            (await _log_in(application, email, OTHERS, place)).status_code
            for place in (home, elsewhere)
        ]
        at_home = [
            (await _log_in(application, email, "a guess", home)).status_code for _ in range(4)
        ]
        last = await _log_in(application, email, OTHERS, home)

    assert often == [200] * 12
    assert guesses == [401, 401, 429, 429]
    assert after == [200, 429]
    # For the claim, logins from home count against the same limit.
    assert (at_home, last.status_code) == ([429] * 4, 429)


async def test_a_known_claim_is_no_way_to_try_the_password_of_who_has_the_address(
    database: Database,
) -> None:
    rules = AttemptRules(per_minute=0, per_address_per_minute=0, per_account_per_hour=3)
    async with running_application(database, Options(attempts=rules)) as application:
        owner, squatter = await application.new_owner(), await application.new_owner()
        await _claim(application, squatter, owner.email, PASSWORD[::-1])
        accounts = [
            _account(await _log_in(application, owner.email, PASSWORD[::-1])) for _ in range(4)
        ]
        statuses = [
            (await _log_in(application, owner.email, f"guess {number}")).status_code
            for number in range(4)
        ]
        right = await _log_in(application, owner.email, PASSWORD)

    assert accounts == [str(squatter.owner_id)] * 4
    # The first login at this place counted for the address, which has two attempts left.
    assert statuses == [401, 401, 429, 429]
    assert right.status_code == 429


async def test_a_login_on_a_known_device_makes_the_address_known(database: Database) -> None:
    rules = AttemptRules(per_minute=0, per_address_per_minute=0, per_account_per_hour=2)
    options = Options(attempts=rules, trusted_proxies="127.0.0.1")
    async with running_application(database, options) as application:
        owner = await application.new_owner()
        login = {"email": owner.email, "password": PASSWORD}
        async with browser_of(application) as browser:
            for address in ("192.0.2.1", "192.0.2.2"):
                told = {"X-Forwarded-For": address}
                answer = await browser.post("/api/session", json=login, headers=told)
                assert answer.status_code == 200
        for _ in range(2):
            await _log_in(application, owner.email, "a guess", "203.0.113.1")
        statuses = [
            (await _log_in(application, owner.email, PASSWORD, address)).status_code
            for address in ("192.0.2.2", "198.51.100.1")
        ]

    assert statuses == [200, 429]


async def test_a_guess_through_a_claim_is_in_the_log_of_who_has_the_address(
    application: Application, owner: Caller
) -> None:
    squatter = await application.new_owner()
    await _claim(application, squatter, owner.email, OTHERS)
    assert _account(await _log_in(application, owner.email, OTHERS)) == str(squatter.owner_id)
    await application.services.audit_buffer.sweep()
    async with application.client(owner) as client:
        answer = await client.get("/api/audit", params={"action": "password.refused"})

    assert len(answer.json()["entries"]) == 1


async def test_a_claims_session_does_not_prove_the_others_password(
    application: Application, owner: Caller
) -> None:
    squatter = await application.new_owner()
    await _claim(application, squatter, owner.email, OTHERS)
    async with logged_in(application, owner.email, OTHERS) as browser:
        change = {"currentPassword": PASSWORD, "newPassword": "a newer password"}
        answer = await browser.put("/api/account", json=change)

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, "currentPassword")


async def test_the_account_of_a_claim_does_not_see_attempts_of_others(
    application: Application, owner: Caller
) -> None:
    squatter = await application.new_owner()
    await _claim(application, squatter, owner.email, OTHERS)
    await _log_in(application, owner.email, "mistyped")
    await application.services.audit_buffer.sweep()
    counts = []
    for caller in (owner, squatter):
        async with application.client(caller) as client:
            answer = await client.get("/api/audit", params={"action": "password.refused"})
        counts.append(len(answer.json()["entries"]))

    assert counts == [1, 0]


async def test_two_proofs_at_once_leave_one_and_answer_alike(database: Database) -> None:
    email = new_address()
    async with _emailing(database) as (application, server):
        for _ in range(2):
            await _invited(application, await application.new_owner(), email)
        tokens = [_emailed_token(server, number) for number in range(2)]
        answers = await asyncio.gather(*(_accept(application, token) for token in tokens))
        rows = await _rows(database, email)

    assert [(one.status_code, one.json()) for one in answers] == [(201, {"email": email})] * 2
    assert sorted(row.email_proven for row in rows) == [False, True]


async def test_a_disabled_person_does_not_keep_an_address(database: Database) -> None:
    email = new_address()
    async with _emailing(database) as (application, server):
        squatter, owner = await application.new_owner(), await application.new_owner()
        await _invited(application, squatter, email)
        await _accept(application, _emailed_token(server), OTHERS)
        async with logged_in(application, squatter.email) as administrator:
            people = (await administrator.get("/api/people")).json()["people"]
            person = next(one for one in people if one["email"] == email)
            path = f"/api/people/{person['id']}"
            assert (await administrator.put(path, json={"enabled": False})).status_code == 200
            asked = {"action": "person.updated"}
            before = (await administrator.get("/api/audit", params=asked)).json()
            await _invited(application, owner, email)
            await _accept(application, _emailed_token(server, 1))
            after = (await administrator.get("/api/audit", params=asked)).json()
        rows = await _rows(database, email)

    assert {row.owner_id: row.email_proven for row in rows} == {
        squatter.owner_id: False,
        owner.owner_id: True,
    }
    assert before == after


async def test_the_server_administrator_vouches_for_the_address_of_an_account(
    application: Application, database: Database, owner: Caller
) -> None:
    email = new_address()
    await _claim(application, owner, email, OTHERS)
    made = await database.run(
        lambda session: create_owner(
            session, email=email, password=PASSWORD, timezone="UTC", credits=0
        )
    )
    rows = await _rows(database, email)

    assert {row.owner_id: row.email_proven for row in rows} == {
        owner.owner_id: False,
        made.id: True,
    }
    assert _account(await _log_in(application, email, PASSWORD)) == str(made.id)


async def test_commands_name_the_account_where_an_address_alone_is_not_clear(
    application: Application,
    owner: Caller,
    api_database: DatabaseSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLATESTREAM_DATABASE_URL", api_database.database_url.get_secret_value())
    other, email = await application.new_owner(), new_address()
    for account in (owner, other):
        await _claim(application, account, email, PASSWORD)
    command = ["owner", "password", "--email", email, "--password", OTHERS]
    unclear = CliRunner().invoke(commands, command)
    clear = CliRunner().invoke(commands, [*command, "--account", other.email])

    assert (unclear.exit_code, clear.exit_code) == (1, 0)
    assert "specify one with --account" in unclear.stderr
    assert _account(await _log_in(application, email, OTHERS)) == str(other.owner_id)
    assert _account(await _log_in(application, email, PASSWORD)) == str(owner.owner_id)
    # The person who has proven the address is selected without --account.
    await _claim(application, other, owner.email, "a claim's password")
    named = ["owner", "password", "--email", owner.email, "--password", OTHERS]
    assert CliRunner().invoke(commands, named).exit_code == 0
    assert _account(await _log_in(application, owner.email, OTHERS)) == str(owner.owner_id)


@pytest.mark.parametrize("password", ["PassWord1", "12345678"])
async def test_the_most_common_passwords_are_rejected_where_one_is_set(
    application: Application,
    owner: Caller,
    password: str,
    api_database: DatabaseSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLATESTREAM_DATABASE_URL", api_database.database_url.get_secret_value())
    token = await _invited(application, owner, new_address())
    refused = await _accept(application, token, password)
    change = {"currentPassword": PASSWORD, "newPassword": password}
    async with logged_in(application, owner.email) as browser:
        unchanged = await browser.put("/api/account", json=change, headers={"Origin": SITE})
    command = ["owner", "password", "--email", owner.email, "--password", password]

    said = "must not be one of the 10,000 most common passwords"
    assert [one["message"] for one in refused.json()["fields"]] == [said]
    assert [one["message"] for one in unchanged.json()["fields"]] == [said]
    assert (refused.status_code, unchanged.status_code) == (400, 400)
    assert (await _accept(application, token)).status_code == 201
    by_command = CliRunner().invoke(commands, command)
    assert (by_command.exit_code, by_command.stderr) == (1, f"error: the password {said}\n")
