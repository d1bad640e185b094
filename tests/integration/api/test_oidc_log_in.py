"""Login through an OpenID Connect provider: accepted people, denied people, and the responses."""

import asyncio
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.db.database import Database
from api.db.people_tables import LoginSession
from api.erasure.service import end_account
from api.errors import Dependency, DependencyUnavailableError
from api.limits.limiter import FailedAuthentications
from api.limits.owner_limits import OwnerLimit
from api.oidc.service import OidcLogIn
from api.security.permissions import Role
from deploy.local.ports import free_ports
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
    prove,
)
from tests.integration.api.waiting import until_somebody_waits
from tests.services.oidc import CLIENT, OidcProvider

pytestmark = pytest.mark.integration

application = oidc_application


async def _entries(application: Application, owner: Caller, action: str) -> list[Any]:
    async with application.client(owner) as client:
        answer = await client.get("/api/audit", params={"action": action})
    return list(answer.json()["entries"])


async def test_a_person_of_the_account_logs_in_as_by_password(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    subject = visitor.subject_of(owner.email.upper())
    ways = (await visitor.browser.get("/api/session/ways")).json()
    url = await begin(visitor.browser)
    asked = parse_qs(urlsplit(url).query)
    answer = await visitor.browser.post(RETURN, json=visitor.provider.let_in(url, subject))
    shown = (await visitor.browser.get("/api/session")).json()
    cookies = SimpleCookie()
    for header in answer.headers.get_list("set-cookie"):
        cookies.load(header)

    assert ways == {"password": True, "provider": "Example"}
    assert asked["redirect_uri"] == ["https://plates.example.com/log-in/oidc"]
    assert (asked["response_type"], asked["code_challenge_method"]) == (["code"], ["S256"])
    assert len(asked["code_challenge"][0]) == 43
    assert asked["nonce"] != asked["state"]
    assert answer.status_code == 200, answer.text
    assert answer.json() == shown
    assert shown["session"]["person"]["email"] == owner.email
    assert (cookies["session"]["httponly"], cookies["session"]["samesite"]) == (True, "lax")
    assert cookies["oidc"].value == ""
    logged_in_by = await _entries(application, owner, "session.started")
    assert [one["actor"]["name"] for one in logged_in_by] == [owner.email]
    assert logged_in_by[0]["address"] == "127.0.0.1"
    out = await visitor.browser.delete("/api/session")
    assert out.status_code == 204
    assert said(await visitor.browser.get("/api/session"))[0] == 401


async def test_who_came_once_is_known_by_the_subject_whatever_becomes_of_the_address(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    subject = visitor.subject_of(owner.email)
    assert (await visitor.log_in(subject)).status_code == 200
    visitor.provider.know(subject, email=new_address(), email_verified=False)
    again = await visitor.log_in(subject)
    other = visitor.subject_of(owner.email)
    refused = await visitor.log_in(other)

    assert again.json()["session"]["person"]["email"] == owner.email
    assert said(refused) == (403, "bound_to_another")
    (entry,) = await _entries(application, owner, "person.updated")
    changed = [one["field"] for one in entry["changes"]]
    assert changed == ["oidcIssuer", "oidcSubject", "password"]


async def test_a_person_disabled_meanwhile_cannot_log_in(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    subject = visitor.subject_of(owner.email)
    assert (await visitor.log_in(subject)).status_code == 200
    person = {"email": owner.email}
    with Session(application.database.engine) as other:
        lock_owner(other, owner.owner_id)
        coming = asyncio.create_task(visitor.log_in(subject))
        await until_somebody_waits(application.database)
        other.execute(text("UPDATE people SET enabled = false WHERE email = :email"), person)
        other.commit()

    assert said(await coming) == (403, "person_switched_off")


async def test_a_denial_is_logged_and_counted_even_if_it_cannot_be_stored(
    application: Application, monkeypatch: pytest.MonkeyPatch, visitor: Visitor
) -> None:
    def away(*_: object) -> None:
        raise DependencyUnavailableError(Dependency.CONFIGURATION)

    counted = list[str]()

    async def note(_: FailedAuthentications, address: str) -> None:
        counted.append(address)

    monkeypatch.setattr(OidcLogIn, "_target", away)
    monkeypatch.setattr(FailedAuthentications, "record", note)
    stranger = visitor.subject_of(new_address())
    assert said(await visitor.log_in(stranger)) == (403, "unknown_person")
    assert len(counted) == 1


async def test_the_first_time_ends_what_was_begun_with_a_password(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    async with logged_in(application, owner.email):
        login = await visitor.log_in(visitor.subject_of(owner.email))
    of_owner = select(func.count()).where(LoginSession.owner_id == owner.owner_id)
    open_sessions = await application.database.run(lambda session: session.scalar(of_owner))
    again = {"email": owner.email, "password": PASSWORD}

    assert (login.status_code, open_sessions) == (200, 1)
    assert said(await visitor.browser.post("/api/session", json=again))[0] == 401


async def test_a_denied_login_gives_the_reason(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    stranger = visitor.subject_of(new_address())
    unverified = visitor.subject_of(owner.email, verified=False)
    email = new_address()
    async with logged_in(application, owner.email) as administrator:
        made = await invite(administrator, email, Role.VIEWER)
        await accept(application, made["token"])
        await prove(application, email)
        people = (await administrator.get("/api/people")).json()["people"]
        person = next(one for one in people if one["email"] == email)
        off = await administrator.put(f"/api/people/{person['id']}", json={"enabled": False})
        assert off.status_code == 200

    assert said(await visitor.log_in(stranger)) == (403, "unknown_person")
    assert said(await visitor.log_in(unverified)) == (403, "email_not_verified")
    switched_off = await visitor.log_in(visitor.subject_of(email))
    assert said(switched_off) == (403, "person_switched_off")
    assert "session" not in visitor.browser.cookies
    (entry,) = await _entries(application, owner, "person.updated")
    assert [one["field"] for one in entry["changes"]] == ["enabled"]


async def test_a_way_back_is_good_once_and_in_the_browser_that_went(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    subject = visitor.subject_of(owner.email)
    back = visitor.provider.let_in(await begin(visitor.browser), subject)
    async with browser_of(application) as another:
        assert said(await another.post(RETURN, json=back)) == (400, "log_in_expired")
        await begin(another)
        assert said(await another.post(RETURN, json=back)) == (400, "log_in_expired")
    elsewhere = {**back, "iss": "https://evil.example"}
    assert said(await visitor.browser.post(RETURN, json=elsewhere)) == (400, "log_in_expired")
    made_up = {**back, "code": "made-up"}
    assert said(await visitor.browser.post(RETURN, json=made_up)) == (403, "log_in_refused")
    cookie = visitor.browser.cookies["oidc"]
    assert (await visitor.browser.post(RETURN, json=back)).status_code == 200
    visitor.browser.cookies.set("oidc", cookie, domain="127.0.0.1", path=BEGIN)
    assert said(await visitor.browser.post(RETURN, json=back)) == (403, "log_in_refused")
    foreign = await visitor.browser.post(BEGIN, json={}, headers={"Origin": "https://evil.example"})
    assert said(foreign) == (403, "cross_site_request")


async def test_over_https_the_cookie_of_a_login_under_way_cannot_come_from_plain_http(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    subject = visitor.subject_of(owner.email)
    site = "https://plates.example.com"
    transport = httpx.ASGITransport(application.app)
    async with httpx.AsyncClient(
        transport=transport, base_url=site, headers={"Origin": site}
    ) as secure:
        back = visitor.provider.let_in(await begin(secure), subject)
        cookie = secure.cookies["__Host-oidc"]
        secure.cookies.clear()
        planted = await secure.post(RETURN, json=back, headers={"Cookie": f"oidc={cookie}"})
        sent = {"Cookie": f"__Host-oidc={cookie}"}
        answer = await secure.post(RETURN, json=back, headers=sent)

    assert said(planted) == (400, "log_in_expired")
    assert answer.status_code == 200, answer.text
    assert {"__Host-session", "device"} <= set(secure.cookies)


async def test_a_page_at_another_address_gets_the_url_of_the_login(
    application: Application,
) -> None:
    site = "https://10.0.0.8"
    transport = httpx.ASGITransport(application.app)
    async with httpx.AsyncClient(transport=transport, base_url=site) as elsewhere:
        answer = await elsewhere.post(BEGIN, json={}, headers={"Origin": site})

    assert said(answer) == (403, "cross_site_request")
    sentence = "Log in with the identity provider at https://plates.example.com."
    assert answer.json()["error"] == sentence


async def test_an_invitation_is_accepted_by_its_address_alone(
    application: Application, owner: Caller, visitor: Visitor
) -> None:
    email = new_address()
    async with logged_in(application, owner.email) as administrator:
        token = (await invite(administrator, email, Role.OPERATOR))["token"]
    invited = visitor.subject_of(email)
    # Only the link joins the account. Having the invited address alone gives no access.
    assert said(await visitor.log_in(invited)) == (403, "unknown_person")
    other = visitor.subject_of(new_address())
    wrong = await visitor.log_in(other, invitation=token)
    joined = await visitor.log_in(invited, invitation=token)
    late = visitor.subject_of(email)
    again = await visitor.log_in(late, invitation=token)

    assert said(wrong) == (403, "invitation_for_another")
    person = joined.json()["session"]["person"]
    assert (person["email"], person["role"], person["name"]) == (email, "operator", "Ana")
    assert joined.json()["session"]["ownerId"] == str(owner.owner_id)
    assert said(again) == (404, "invitation_over")
    # A person who never had a password cannot log in with one.
    for password in ("", " ", "x"):
        answer = await visitor.browser.post(
            "/api/session", json={"email": email, "password": password}
        )
        assert answer.status_code in (400, 401)
    await application.database.run(lambda session: end_account(session, owner.owner_id))
    assert said(await visitor.log_in(invited)) == (403, "person_switched_off")


async def test_unknown_people_join_the_configured_account_without_a_password(
    database: Database, application: Application, owner: Caller, oidc_provider: OidcProvider
) -> None:
    more = {
        **oidc_provider.settings,
        "oidc_join_account": owner.email,
        "password_log_in": False,
    }
    async with (
        running_application(database, Options(more=more, sizes={OwnerLimit.PEOPLE: 2})) as joining,
        browser_of(joining) as browser,
    ):
        visitor = Visitor(browser, oidc_provider)
        ways = (await browser.get("/api/session/ways")).json()
        first = await visitor.log_in(visitor.subject_of(new_address()))
        second = await visitor.log_in(visitor.subject_of(new_address()))
        login = {"email": owner.email, "password": "a password"}
        by_password = await browser.post("/api/session", json=login)
        accepted = await accept(joining, "x" * 43)

    assert ways == {"password": False, "provider": "Example"}
    assert first.json()["session"]["person"]["role"] == "viewer"
    assert first.json()["session"]["ownerId"] == str(owner.owner_id)
    assert said(second) == (409, "limit_reached")
    assert said(by_password) == said(accepted) == (403, "password_log_in_off")


async def test_an_unavailable_or_missing_provider_is_reported(
    database: Database, application: Application, oidc_provider: OidcProvider
) -> None:
    (port,) = free_ports(1)
    away = {**CLIENT, "oidc_issuer": f"http://127.0.0.1:{port}"}
    async with running_application(database, Options(more=away)) as app, browser_of(app) as browser:
        answer = await browser.post(BEGIN, json={})
    assert said(answer) == (500, "dependency_unavailable")
    assert answer.json()["error"] == "The identity provider is not responding. Try again later."
    # The provider is identified only by its URL.
    renamed = {**CLIENT, "oidc_issuer": oidc_provider.issuer + "/"}
    async with (
        running_application(database, Options(more=renamed)) as app,
        browser_of(app) as browser,
    ):
        assert said(await browser.post(BEGIN, json={})) == (500, "dependency_unavailable")
    async with running_application(database) as app, browser_of(app) as browser:
        assert said(await browser.post(BEGIN, json={})) == (404, "not_found")
        back = {"code": "c", "state": "s"}
        assert said(await browser.post(RETURN, json=back)) == (404, "not_found")
        ways = await browser.get("/api/session/ways")
        assert ways.json() == {"password": True, "provider": None}


async def test_an_identity_is_stored_whole_or_not_at_all(database: Database, owner: Caller) -> None:
    half = "UPDATE people SET oidc_issuer = 'https://login.example.com'"
    with pytest.raises(Exception, match="ck_people_oidc_identity_whole"):
        await database.run(lambda session: session.execute(text(half)))
