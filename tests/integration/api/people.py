"""Helpers that log people in, invite people, and mark email addresses as proven."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from sqlalchemy import text

from api.security.permissions import Role
from tests.integration.api.application import PASSWORD, Application

SITE = "http://127.0.0.1:8000"


def new_address() -> str:
    """Return an unused email address."""
    return f"{uuid.uuid4().hex}@platestream.example"


def browser_of(application: Application) -> httpx.AsyncClient:
    """Return a browser without a session."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(application.app), base_url=SITE, headers={"Origin": SITE}
    )


@asynccontextmanager
async def logged_in(
    application: Application, email: str, password: str = PASSWORD
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a browser in which a person has logged in."""
    async with browser_of(application) as browser:
        login = {"email": email, "password": password}
        answer = await browser.post("/api/session", json=login)
        assert answer.status_code == 200, answer.text
        yield browser


async def invite(administrator: httpx.AsyncClient, email: str, role: Role) -> Any:
    body = {"email": email, "role": role.value}
    answer = await administrator.post("/api/invitations", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def accept(application: Application, token: str) -> httpx.Response:
    """Accept an invitation in a separate browser, and return the response."""
    body = {"token": token, "name": "Ana", "password": PASSWORD}
    async with browser_of(application) as invited:
        return await invited.post("/api/invitations/accept", json=body)


async def new_person(application: Application, administrator: httpx.AsyncClient, role: Role) -> str:
    """Invite a person, accept the invitation, and return the person's email address."""
    email = new_address()
    made = await invite(administrator, email, role)
    assert (await accept(application, made["token"])).status_code == 201
    return email


async def prove(application: Application, email: str) -> None:
    """Mark an email address as proven by its person."""
    statement = text("UPDATE people SET email_proven = true WHERE email = :email")
    await application.database.run(lambda session: session.execute(statement, {"email": email}))
