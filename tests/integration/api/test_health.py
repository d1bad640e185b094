"""Only server administrators see the state of the installation."""

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
import pytest

from api.db.database import Database
from api.security.permissions import Role
from tests.integration.api.application import (
    Application,
    Options,
    running_application,
)
from tests.integration.api.people import accept, invite, logged_in, new_person

pytestmark = pytest.mark.integration

PATH = "/api/health"


@asynccontextmanager
async def _administrator(
    database: Database, settings: Mapping[str, object]
) -> AsyncIterator[tuple[Application, httpx.AsyncClient]]:
    async with running_application(database, Options(more=settings)) as application:
        owner = await application.new_owner()
        async with logged_in(application, owner.email) as browser:
            yield application, browser


async def test_the_first_account_operates_the_installation(database: Database) -> None:
    async with _administrator(database, {}) as (application, first):
        answer = await first.get(PATH)
        assert answer.status_code == 200, answer.text
        assert answer.json().keys() == {"version", "checks", "warnings", "stages", "disks"}
        assert answer.json()["checks"] == {"postgres": "ok"}
        viewer = await new_person(application, first, Role.VIEWER)
        async with logged_in(application, viewer) as browser:
            assert (await browser.get(PATH)).status_code == 403
        other = await application.new_owner()
        async with logged_in(application, other.email) as browser:
            await _is_refused(browser)
        async with application.client(await application.new_owner()) as key:
            assert (await key.get(PATH)).status_code == 403


@pytest.mark.parametrize("named_by", ["email", "owner_id"])
async def test_the_accounts_of_the_setting_operate_it(database: Database, named_by: str) -> None:
    async with _administrator(database, {}) as (application, _):
        named = await application.new_owner()
    text = f"unknown@platestream.example, {getattr(named, named_by)}"
    async with _administrator(database, {"operator_accounts": text}) as (other, browser):
        await _is_refused(browser)
        async with logged_in(other, named.email) as operator:
            assert (await operator.get(PATH)).status_code == 200


async def test_a_person_with_the_address_of_an_operator_is_none(database: Database) -> None:
    address = f"{uuid.uuid4().hex}@platestream.example"
    settings = {"operator_accounts": address}
    async with _administrator(database, settings) as (application, administrator):
        made = await invite(administrator, address, Role.ADMINISTRATOR)
        assert (await accept(application, made["token"])).status_code == 201
        async with logged_in(application, address) as browser:
            await _is_refused(browser)


async def _is_refused(browser: httpx.AsyncClient) -> None:
    answer = await browser.get(PATH)
    assert (answer.status_code, answer.json()["error"]) == (
        403,
        "Only accounts that operate the installation can make this call.",
    )


async def test_the_api_port_says_no_more_than_that_it_answers(database: Database) -> None:
    async with (
        running_application(database) as application,
        application.client() as stranger,
        application.client(await application.new_owner()) as client,
    ):
        for caller in (stranger, client):
            answer = await caller.get("/healthz")
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
            for path in ("/metrics", "/readyz", "/livez"):
                assert (await caller.get(path)).status_code == 404
