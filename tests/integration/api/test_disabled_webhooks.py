"""How the people of an account learn that the service disabled a webhook."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from api.db.database import Database
from api.security.permissions import Role
from common.records.deliveries import WebhookStatus
from tests.integration.api.application import Application, Options, running_application
from tests.integration.api.people import logged_in, new_person
from tests.services.mail import MailServer

pytestmark = pytest.mark.integration

REASON = "Received status 410 (Gone): the receiver accepts no more deliveries."
BODY = {"name": "Gate", "url": "https://receiver.example.com/t0ken", "events": ["camera.online"]}


async def _disable(application: Application, browser: httpx.AsyncClient) -> dict[str, Any]:
    """Create a webhook that the delivery stage then disables, and return the webhook as created."""
    made: dict[str, Any] = (await browser.post("/api/webhooks", json=BODY)).json()["webhook"]
    _report(application, made)
    return made


def _report(application: Application, made: dict[str, Any], offset: int = 1) -> None:
    status = WebhookStatus(
        webhook_id=UUID(made["id"]),
        owner_id=UUID(int=1),
        attempts_offset=offset,
        disabled_revision=1,
        disabled_reason=REASON,
    )
    application.webhook_board.post([(status.webhook_id, status)])


async def test_administrators_get_one_email_about_a_disabled_webhook(database: Database) -> None:
    with MailServer() as server:
        options = Options(smtp_host="127.0.0.1", smtp_port=server.port)
        async with running_application(database, options) as application:
            owner = await application.new_owner()
            async with logged_in(application, owner.email) as browser:
                another = await new_person(application, browser, Role.ADMINISTRATOR)
                await new_person(application, browser, Role.OPERATOR)
                server.emails.clear()
                server.recipients.clear()
                made = await _disable(application, browser)
                assert await application.services.webhooks.sweep() == 1
                # Another process reports the same webhook.
                _report(application, made, offset=2)
                assert await application.services.webhooks.sweep() == 0

    assert sorted(server.recipients) == sorted([owner.email, another])
    text = server.emails[0].get_content()
    assert "The webhook Gate no longer receives events." in text
    assert REASON in text
    assert f"https://plates.example.com/webhooks/{made['id']}" in text
    assert "t0ken" not in text


async def test_an_smtp_server_that_fails_leaves_reason_and_audit_entry(
    database: Database,
) -> None:
    with MailServer() as server:
        options = Options(smtp_host="127.0.0.1", smtp_port=server.port)
        async with running_application(database, options) as application:
            owner = await application.new_owner()
            async with logged_in(application, owner.email) as browser:
                server.become_unavailable()
                made = await _disable(application, browser)
                assert await application.services.webhooks.sweep() == 1
                server.recover()
                (shown,) = (await browser.get("/api/webhooks")).json()["webhooks"]
                entries = (await browser.get("/api/audit?action=webhook.updated")).json()["entries"]

    assert (shown["id"], shown["enabled"], shown["disabledReason"]) == (made["id"], False, REASON)
    (entry,) = entries
    assert {one["field"]: one["after"] for one in entry["changes"]}["disabledReason"] == REASON
    assert server.emails == []
