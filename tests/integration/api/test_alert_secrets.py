"""The notification secret of an account, and URLs that only some of its people can see."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.outbox.outbox import enqueue_owner
from api.security.permissions import Scope
from common.records.codec import decode
from common.records.owners import OwnerConfig
from common.records.topics import CONFIG_OWNERS
from tests.integration.api.application import Application, Caller
from tests.integration.api.outbox import outbox_of
from tests.integration.api.test_write_only_webhooks import having

pytestmark = pytest.mark.integration

PATH = "/api/alertas"
ROTATE = f"{PATH}/rotate-notification-secret"
URL = "https://receiver.example.com:8443/t0ken?key=s3cret"
REDUCED = {"type": "webhook", "url": "https://receiver.example.com"}
BODY = {"name": "Stolen cars", "notifications": [{"type": "webhook", "url": URL}]}


@pytest.fixture
async def alert(client: httpx.AsyncClient) -> dict[str, Any]:
    """An alert as created with an API key that has all scopes."""
    made: dict[str, Any] = (await client.post(PATH, json=BODY)).json()["alert"]
    return made


@pytest.fixture
async def writer(
    application: Application, client: httpx.AsyncClient
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the same account that can read and write alerts but cannot read webhooks."""
    async with having(application, client, Scope.ALERTS_READ, Scope.ALERTS_WRITE) as narrow:
        yield narrow


async def test_urls_are_reduced_in_each_answer_without_webhooks_read(
    writer: httpx.AsyncClient, alert: dict[str, Any]
) -> None:
    path = f"{PATH}/{alert['id']}"
    answers = [
        await writer.get(path),
        await writer.put(path, json={"description": "of the town"}),
        await writer.post(PATH, json=BODY),
    ]
    listed = (await writer.get(PATH)).json()

    shown = [answer.json()["alert"]["notifications"] for answer in answers]
    assert shown == [[REDUCED]] * 3
    assert [one["notifications"] for one in listed["alerts"]] == [[REDUCED]] * 2
    assert listed["notificationSecret"] is None


async def test_a_reduced_url_that_is_sent_back_changes_nothing(
    client: httpx.AsyncClient, writer: httpx.AsyncClient, alert: dict[str, Any]
) -> None:
    path = f"{PATH}/{alert['id']}"
    shown = (await writer.get(path)).json()["alert"]
    answer = await writer.put(path, json=shown | {"name": "Other"})

    assert answer.status_code == 200
    stored = (await client.get(path)).json()["alert"]
    assert stored == alert | {"name": "Other"}


@pytest.mark.parametrize(
    "notifications",
    [
        [REDUCED, REDUCED],
        [{"type": "webhook", "url": "http://receiver.example.com"}],
        [{"type": "webhook", "url": "https://other.example.com"}],
    ],
    ids=["twice", "another scheme", "another host"],
)
async def test_a_reduced_url_without_a_stored_one_is_rejected(
    client: httpx.AsyncClient,
    writer: httpx.AsyncClient,
    alert: dict[str, Any],
    notifications: list[dict[str, str]],
) -> None:
    path = f"{PATH}/{alert['id']}"
    answer = await writer.put(path, json={"notifications": notifications})

    assert answer.status_code == 400
    assert "send the full URL" in answer.json()["fields"][0]["message"]
    assert (await client.get(path)).json()["alert"] == alert


async def test_a_copy_by_a_key_that_sees_no_urls_is_refused(
    client: httpx.AsyncClient, writer: httpx.AsyncClient, alert: dict[str, Any]
) -> None:
    shown = (await writer.get(f"{PATH}/{alert['id']}")).json()["alert"]
    copy = await writer.post(PATH, json=shown)
    plain = await writer.post(
        PATH, json=BODY | {"notifications": [{"type": "webhook", "url": "https://new.example.com"}]}
    )
    whole = await client.post(PATH, json=alert)

    assert (copy.status_code, plain.status_code, whole.status_code) == (400, 201, 201)
    assert copy.json()["fields"][0]["path"] == "notifications.0.url"


async def test_a_new_notification_secret_with_an_overlap(
    application: Application, client: httpx.AsyncClient, alert: dict[str, Any]
) -> None:
    before = (await client.get(PATH)).json()["notificationSecret"]
    first = (await client.post(ROTATE, json={"overlapHours": 2})).json()
    until = datetime.fromisoformat(first["previousNotificationSecretUntil"])
    listed = (await client.get(PATH)).json()
    second = await client.post(ROTATE, json={"secret": "my own secret", "overlapHours": 0})

    assert first["notificationSecret"] not in (before, "")
    assert timedelta(hours=1, minutes=59) < until - datetime.now(UTC) <= timedelta(hours=2)
    assert listed.items() >= first.items()
    assert second.json() == {
        "notificationSecret": "my own secret",
        "previousNotificationSecretUntil": None,
    }
    published = [
        decode(OwnerConfig, value or b"")
        for _, value in await outbox_of(application.database, CONFIG_OWNERS)
    ]
    secrets = [
        [
            text and application.box.decrypt(text)
            for text in (
                one.notification_secret_encrypted,
                one.previous_notification_secret_encrypted,
            )
        ]
        for one in published
    ]
    assert secrets == [[first["notificationSecret"], before], ["my own secret", None]]
    assert published[0].previous_notification_secret_until_ms == round(until.timestamp() * 1000)
    assert published[1].previous_notification_secret_until_ms is None


async def test_a_rotation_needs_both_scopes_and_a_secret_to_replace(
    application: Application, client: httpx.AsyncClient
) -> None:
    assert (await client.post(ROTATE)).status_code == 404
    await client.post(PATH, json=BODY)
    before = (await client.get(PATH)).json()["notificationSecret"]
    for lacking in (Scope.ALERTS_WRITE, Scope.WEBHOOKS_READ):
        async with having(application, client, *(set(Scope) - {lacking})) as narrow:
            assert (await narrow.post(ROTATE)).status_code == 403
    assert (await client.get(PATH)).json()["notificationSecret"] == before
    for body in ({"secret": "***"}, {"overlapHours": 169}, {"overlapHours": -1}):
        assert (await client.post(ROTATE, json=body)).status_code == 400
    async with having(application, client, Scope.ALERTS_WRITE, Scope.WEBHOOKS_READ) as narrow:
        assert (await narrow.post(ROTATE)).status_code == 200


async def test_limits_of_the_account_travel_with_its_secrets(
    application: Application, owner: Caller
) -> None:
    """Each record replaces the previous one, so a change of one value must not lose the others."""
    async with application.client(owner) as client:
        await client.post(PATH, json=BODY)
        await client.post(ROTATE)

    def limit(session: Session) -> None:
        account = lock_owner(session, owner.owner_id)
        account.limits = {"alerts": 9}
        enqueue_owner(session, account)

    await application.database.run(limit)
    (_, rotated), (_, limited) = await outbox_of(application.database, CONFIG_OWNERS)
    first, second = (decode(OwnerConfig, value or b"") for value in (rotated, limited))
    assert second == msgspec.structs.replace(first, limits={"alerts": 9})
