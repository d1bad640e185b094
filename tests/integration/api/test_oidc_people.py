"""How account and server administrators manage logins through a provider."""

import json
from typing import Any

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from api.cli.app import app as commands
from api.db.database import Database
from api.limits.limiter import LimitRules
from api.security.permissions import Role
from common.settings import DatabaseSettings
from tests.integration.api.application import (
    PASSWORD,
    Application,
    Caller,
    Options,
    running_application,
)
from tests.integration.api.conftest import oidc_application
from tests.integration.api.oidc_browser import BEGIN, RETURN, Visitor, begin, said
from tests.integration.api.people import (
    accept,
    browser_of,
    invite,
    logged_in,
    new_address,
    new_person,
    prove,
)
from tests.services.oidc import OidcProvider

pytestmark = pytest.mark.integration

application = oidc_application


async def _refusals(application: Application, owner: Caller) -> list[Any]:
    """Return denied logins, oldest first, from the audit log."""
    async with application.client(owner) as client:
        await application.services.audit_buffer.sweep()
        answer = await client.get("/api/audit", params={"action": "provider"})
    return list(reversed(answer.json()["entries"]))


async def test_an_administrator_unbinds_a_person_whose_sessions_end(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    async with logged_in(application, owner.email) as administrator:
        email = await new_person(application, administrator, Role.VIEWER)
        await prove(application, email)
        former = visitor.subject_of(email)
        assert (await visitor.log_in(former)).status_code == 200
        newcomer = visitor.subject_of(email)
        assert said(await visitor.log_in(newcomer)) == (403, "bound_to_another")

        people = (await administrator.get("/api/people")).json()["people"]
        shown = {one["email"]: one for one in people}
        path = f"/api/people/{shown[email]['id']}/identity"
        unbound = await administrator.delete(path)
        ended = await visitor.browser.get("/api/session")
        again = await administrator.delete(path)
        others = await administrator.delete(path.replace(shown[email]["id"], str(owner.owner_id)))
        shown_after = (await administrator.get("/api/people")).json()["people"]
        asked = {"action": "person.updated", "subject": shown[email]["id"]}
        told = (await administrator.get("/api/audit", params=asked)).json()["entries"]

    identity = {"issuer": visitor.provider.issuer, "subject": former}
    assert (shown[email]["identity"], shown[email]["hasPassword"]) == (identity, False)
    assert (shown[owner.email]["identity"], shown[owner.email]["hasPassword"]) == (None, True)
    assert (unbound.status_code, ended.status_code) == (204, 401)
    assert (again.status_code, others.status_code) == (404, 404)
    assert [one["identity"] for one in shown_after] == [None, None]
    assert told[0]["actor"]["name"] == owner.email
    assert [one["field"] for one in told[0]["changes"]] == ["oidcIssuer", "oidcSubject"]
    assert (await visitor.log_in(newcomer)).status_code == 200
    assert said(await visitor.log_in(former)) == (403, "bound_to_another")


async def test_a_login_that_was_under_way_does_not_survive_being_unlinked(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    async with logged_in(application, owner.email) as administrator:
        email = await new_person(application, administrator, Role.VIEWER)
        await prove(application, email)
        subject = visitor.subject_of(email)
        assert (await visitor.log_in(subject)).status_code == 200
        back = visitor.provider.let_in(await begin(visitor.browser), subject)
        people = (await administrator.get("/api/people")).json()["people"]
        person = next(one for one in people if one["email"] == email)
        unlinked = await administrator.delete(f"/api/people/{person['id']}/identity")
        answer = await visitor.browser.post(RETURN, json=back)
        after = (await administrator.get("/api/people")).json()["people"]
    again = await visitor.log_in(subject)

    assert unlinked.status_code == 204
    assert said(answer) == (400, "log_in_expired")
    assert next(one for one in after if one["email"] == email)["identity"] is None
    assert again.status_code == 200


async def test_a_claim_never_catches_a_login_by_the_provider(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    email, squatter = new_address(), await application.new_owner()
    async with logged_in(application, squatter.email) as administrator:
        made = await invite(administrator, email, Role.VIEWER)
        assert (await accept(application, made["token"])).status_code == 201
    subject = visitor.subject_of(email)
    refused = await visitor.log_in(subject)
    async with logged_in(application, owner.email) as administrator:
        token = (await invite(administrator, email, Role.OPERATOR))["token"]
    joined = await visitor.log_in(subject, invitation=token)
    again = await visitor.log_in(subject)
    proven = "SELECT owner_id FROM people WHERE email_proven AND email = :email"
    rows = await application.database.run(
        lambda session: session.scalars(text(proven), {"email": email}).all()
    )

    assert said(refused) == (403, "unknown_person")
    accounts = [one.json()["session"]["ownerId"] for one in (joined, again)]
    assert accounts == [str(owner.owner_id)] * 2
    assert rows == [owner.owner_id]
    assert await _refusals(application, squatter) == []


async def test_a_claim_counts_in_the_account_that_people_join_and_no_other_one_does(
    database: Database, owner: Caller, oidc_provider: OidcProvider
) -> None:
    more = {**oidc_provider.settings, "oidc_join_account": owner.email}
    async with (
        running_application(database, Options(more=more)) as app,
        browser_of(app) as browser,
    ):
        visitor = Visitor(browser, oidc_provider)
        squatter = await app.new_owner()
        here, elsewhere = new_address(), new_address()
        for account, email in ((owner, here), (squatter, elsewhere)):
            async with logged_in(app, account.email) as administrator:
                made = await invite(administrator, email, Role.OPERATOR)
                assert (await accept(app, made["token"])).status_code == 201
        answers = [await visitor.log_in(visitor.subject_of(email)) for email in (here, elsewhere)]
        sessions = [answer.json()["session"] for answer in answers]
        login = {"email": here, "password": PASSWORD}
        by_password = await browser.post("/api/session", json=login)

    assert {one["ownerId"] for one in sessions} == {str(owner.owner_id)}
    assert [one["person"]["role"] for one in sessions] == ["operator", "viewer"]
    # The password is removed, because the administrator may have set it.
    assert by_password.status_code == 401


async def test_the_last_administrator_without_a_password_stays_bound(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    async with logged_in(application, owner.email) as administrator:
        email = await new_person(application, administrator, Role.ADMINISTRATOR)
    subject = visitor.subject_of(owner.email)
    assert (await visitor.log_in(subject)).status_code == 200
    people = (await visitor.browser.get("/api/people")).json()["people"]
    ids = {one["email"]: one["id"] for one in people}
    other, path = f"/api/people/{ids[email]}", f"/api/people/{ids[owner.email]}/identity"

    switched_off = await visitor.browser.put(other, json={"enabled": False})
    refused = await visitor.browser.delete(path)
    switched_on = await visitor.browser.put(other, json={"enabled": True})
    unbound = await visitor.browser.delete(path)

    assert (switched_off.status_code, switched_on.status_code) == (200, 200)
    assert said(refused) == (409, "last_administrator")
    assert unbound.status_code == 204


async def test_the_operator_lists_who_is_bound_and_unbinds(
    application: Application,
    owner: Caller,
    api_database: DatabaseSettings,
    monkeypatch: pytest.MonkeyPatch,
    visitor: Visitor,
) -> None:
    monkeypatch.setenv("PLATESTREAM_DATABASE_URL", api_database.database_url.get_secret_value())
    subject = visitor.subject_of(owner.email)
    assert (await visitor.log_in(subject)).status_code == 200
    named = ("--email", owner.email)

    (person,) = _run("owner", "people", *named)["people"]
    shown = CliRunner().invoke(commands, ["owner", "people", *named])
    unbound = _run("owner", "unbind", *named)
    again = CliRunner().invoke(commands, ["owner", "unbind", *named])

    identity = {"issuer": visitor.provider.issuer, "subject": subject}
    assert (person["email"], person["identity"]) == (owner.email, identity)
    assert shown.stdout == f"{owner.email}\tadministrator\t{subject} at {visitor.provider.issuer}\n"
    assert unbound == {**person, "identity": None}
    assert again.exit_code == 1
    assert "is not linked to an identity provider" in again.stderr
    told = await _entries_of(application, owner, "person.updated", actor_kind="command")
    assert [one["field"] for one in told["changes"]] == ["oidcIssuer", "oidcSubject"]


async def test_only_addresses_of_allowed_domains_can_log_in(
    database: Database, application: Application, owner: Caller, oidc_provider: OidcProvider
) -> None:
    domain = owner.email.rpartition("@")[2]
    joins = {"oidc_join_account": owner.email}
    for domains, email, expected in (
        (f"example.com, {domain.upper()}", new_address(), 200),
        ("example.com", new_address(), "email_domain_refused"),
        ("example.com", "ana@mail.example.com", "email_domain_refused"),
        ("example.com", owner.email, "email_domain_refused"),
    ):
        more = {**oidc_provider.settings, **joins, "oidc_email_domains": domains}
        async with (
            running_application(database, Options(more=more)) as bounded,
            browser_of(bounded) as browser,
        ):
            visitor = Visitor(browser, oidc_provider)
            answer = await visitor.log_in(visitor.subject_of(email))
            unverified = visitor.subject_of(email, verified=False)
            refused = await visitor.log_in(unverified)
        found = answer.status_code if answer.status_code == 200 else answer.json()["code"]
        assert found == expected, email
        assert said(refused) == (403, "email_not_verified")


async def test_a_denied_login_is_in_the_audit_log_of_the_account(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    email, other = new_address(), new_address()
    async with logged_in(application, owner.email) as administrator:
        token = (await invite(administrator, email, Role.VIEWER))["token"]
    unverified = visitor.subject_of(owner.email, verified=False)
    for _ in range(3):
        await visitor.log_in(unverified)
    await visitor.log_in(visitor.subject_of(other), invitation=token)
    await visitor.log_in(visitor.subject_of(new_address()))

    told = await _refusals(application, owner)
    assert [one["subject"]["name"] for one in told] == [owner.email, email]
    assert [one["parameters"] for one in told] == [
        {"reason": "email_not_verified", "email": owner.email},
        {"reason": "invitation_for_another", "email": other},
    ]
    assert {(one["actor"]["kind"], one["address"]) for one in told} == {("nobody", "127.0.0.1")}


async def test_changing_a_password_without_one_is_an_error_that_says_so(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    subject = visitor.subject_of(owner.email)
    shown = (await visitor.log_in(subject)).json()["session"]["person"]
    wanted = {"currentPassword": "x", "newPassword": "long enough"}
    answer = await visitor.browser.put("/api/account", json=wanted)
    async with logged_in(application, (await application.new_owner()).email) as with_password:
        other = (await with_password.get("/api/session")).json()["session"]["person"]

    assert (shown["hasPassword"], other["hasPassword"]) == (False, True)
    assert answer.status_code == 400
    (fault,) = answer.json()["fields"]
    assert fault["path"] == "currentPassword"
    assert "you log in through the identity provider and have no password" in fault["message"]


async def test_login_calls_count_by_address_also_if_they_succeed(
    database: Database, oidc_provider: OidcProvider
) -> None:
    limits = LimitRules(
        per_minute=0,
        recognize_per_minute=0,
        demo_per_minute=0,
        block_seconds=60,
        log_in_per_minute=5,
    )
    options = Options(limits=limits, more=oidc_provider.settings)
    async with running_application(database, options) as app, browser_of(app) as browser:
        passed = [await browser.post(BEGIN, json={}) for _ in range(5)]
        over = [
            await browser.post(BEGIN, json={}),
            await browser.post(RETURN, json={"code": "c", "state": "s"}),
            await browser.post("/api/session", json={"email": "a@b.example", "password": "x"}),
            await browser.post("/api/invitations/find", json={"token": "x"}),
        ]
        ways = await browser.get("/api/session/ways")

    assert [answer.status_code for answer in passed] == [200] * 5
    assert [said(answer) for answer in over] == [(429, "rate_limited")] * 4
    assert ways.status_code == 200
    assert "Retry-After" in over[0].headers


def _run(*arguments: str) -> Any:
    result = CliRunner().invoke(commands, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def _entries_of(
    application: Application, owner: Caller, action: str, *, actor_kind: str
) -> Any:
    async with application.client(owner) as client:
        answer = await client.get("/api/audit", params={"action": action})
    (entry,) = [one for one in answer.json()["entries"] if one["actor"]["kind"] == actor_kind]
    return entry
