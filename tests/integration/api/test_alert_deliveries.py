"""Deliveries of an alert's notifications, with a real database."""

import uuid
from typing import Any
from uuid import UUID

import httpx
import pytest

from analytics_sql.deliveries import DeliveryChannel, DeliveryCursor, DeliverySummary
from api.db.database import Database
from api.security.permissions import Scope
from common.records.codec import decode, encode
from common.records.deliveries import (
    AttemptOutcome,
    Delivery,
    DeliveryCause,
    EmailTarget,
    UrlTarget,
    trigger_delivery,
)
from common.records.topics import DELIVERIES
from common.records.webhooks import EventName
from tests.integration.api.application import (
    NOW_MS,
    Application,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.outbox import outbox_of
from tests.integration.api.test_write_only_webhooks import having
from tests.records import alert as alert_record
from tests.records import alert_trigger, recognition

pytestmark = pytest.mark.integration

DEAD = DeliverySummary(
    id=UUID(int=1),
    event_id=UUID(int=2),
    event=EventName.ALERT_TRIGGERED,
    channel=DeliveryChannel.EMAIL,
    cause=DeliveryCause.EVENT,
    created_ms=1_790_000_000_000,
    attempts=1,
    last_attempt_ms=1_790_000_005_000,
    last_duration_ms=12,
    outcome=AttemptOutcome.DEAD,
    status=550,
    error="The SMTP server responded with 550.",
    next_attempt_ms=None,
)


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """The path of a new alert's deliveries."""
    made: dict[str, Any] = (await client.post("/api/alertas", json={"name": "Gate"})).json()
    return f"/api/alertas/{made['alert']['id']}/deliveries"


async def test_notifications_are_listed(
    client: httpx.AsyncClient, stored: StandInStore, path: str
) -> None:
    stored.summaries = (DEAD,)
    answer = await client.get(path, params={"outcome": "dead"})

    (shown,) = answer.json()["deliveries"]
    assert (shown["channel"], shown["lastStatus"], shown["outcome"]) == ("email", 550, "dead")
    (asked,) = stored.asked
    alert_id = UUID(path.split("/")[3])
    assert asked.cursor == DeliveryCursor(user_id=asked.cursor.user_id, alert_id=alert_id)
    assert (asked.outcomes, asked.from_ms) == ((AttemptOutcome.DEAD,), NOW_MS - 7 * 86_400_000)


async def test_a_notification_is_sent_again_with_its_ids(
    application: Application, client: httpx.AsyncClient, stored: StandInStore, path: str
) -> None:
    trigger = alert_trigger(alert_record(1), recognition(1))
    target = EmailTarget(alert_id=trigger.alert.alert_id, address_encrypted="a")
    dead = trigger_delivery(trigger, "email-1", target)
    stored.contents[dead.id] = encode(dead)
    answer = await client.post(f"{path}/{dead.id}/redeliver", json={})
    ((key, value),) = await outbox_of(application.database, DELIVERIES)
    queued = decode(Delivery, value or b"")

    assert answer.status_code == 202
    assert answer.json()["delivery"]["id"] == str(dead.id)
    assert (key, queued.id, queued.target) == ("email-1", dead.id, target)
    assert (queued.cause, queued.requested_ms) == (DeliveryCause.REDELIVERY, NOW_MS)
    stored.contents[dead.id] = b""
    for unknown in (dead.id, uuid.uuid4(), "1"):
        assert (await client.post(f"{path}/{unknown}/redeliver", json={})).status_code == 404


async def test_a_notification_is_sent_again_by_who_may_read_it(
    application: Application, client: httpx.AsyncClient, path: str
) -> None:
    for scopes in (
        {Scope.ALERTS_WRITE},
        {Scope.ALERTS_WRITE, Scope.ALERTS_READ},
        {Scope.ALERTS_WRITE, Scope.RECOGNITIONS_READ},
    ):
        async with having(application, client, *scopes) as narrow:
            answer = await narrow.post(f"{path}/{DEAD.id}/redeliver", json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")


async def test_each_notification_can_be_tried(
    application: Application, client: httpx.AsyncClient
) -> None:
    notifications = [
        {"type": "email", "addresses": ["a@example.com", "A@example.com", "b@example.com"]},
        {"type": "webhook", "url": "https://receiver.example.com/alerts"},
    ]
    body = {"name": "Gate", "enabled": False, "notifications": notifications}
    made = (await client.post("/api/alertas", json=body)).json()["alert"]
    path = f"/api/alertas/{made['id']}/notifications/test"
    emails = await client.post(path)
    url = await client.post(path, json={"notification": 1})
    beyond = await client.post(path, json={"notification": 2})
    queued = [
        (key, decode(Delivery, value or b""))
        for key, value in await outbox_of(application.database, DELIVERIES)
    ]

    assert (emails.status_code, url.status_code, beyond.status_code) == (202, 202, 400)
    assert [field["path"] for field in beyond.json()["fields"]] == ["notification"]
    answered = [*emails.json()["deliveries"], *url.json()["deliveries"]]
    assert [one["id"] for one in answered] == [str(delivery.id) for _, delivery in queued]
    assert [type(one.target) for _, one in queued] == [EmailTarget, EmailTarget, UrlTarget]
    for key, delivery in queued:
        assert (key, delivery.cause) == (delivery.endpoint, DeliveryCause.TEST)
        assert delivery.trigger is not None
        assert delivery.trigger.alert.alert_id == UUID(made["id"])
        assert delivery.trigger.alert.is_reference


async def test_an_alert_without_notifications_has_none_to_try(
    client: httpx.AsyncClient, path: str
) -> None:
    assert (await client.post(path.replace("deliveries", "notifications/test"))).status_code == 400


async def test_the_list_of_alerts_says_whether_email_is_sent(database: Database) -> None:
    for host in ("", "mail.example.com"):
        async with (
            running_application(database, Options(smtp_host=host)) as application,
            application.client(await application.new_owner()) as client,
        ):
            listed = await client.get("/api/alertas")
        assert listed.json()["sendsEmail"] is bool(host)
