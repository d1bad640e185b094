"""What became of an alert's own notifications, over a real database."""

import uuid
from typing import Any
from uuid import UUID

import httpx
import pytest

from analytics_sql.deliveries import DeliveryChannel, DeliveryPlace, DeliverySummary
from common.records.alerts import AlertTrigger
from common.records.codec import decode, encode
from common.records.deliveries import (
    AttemptOutcome,
    Delivery,
    DeliveryCause,
    EmailTarget,
    trigger_delivery,
)
from common.records.topics import DELIVERIES
from common.records.webhooks import EventName
from tests.integration.api.application import (
    NOW_MS,
    Application,
    StandInDeliveries,
)
from tests.integration.api.outbox import outbox_of
from tests.records import OWNER, recognition
from tests.records import alert as alert_record

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
    error="The SMTP server answered 550.",
    next_attempt_ms=None,
)


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """Where the notifications of an alert are."""
    made: dict[str, Any] = (await client.post("/api/alertas", json={"name": "Gate"})).json()
    return f"/api/alertas/{made['alert']['id']}/deliveries"


async def test_notifications_are_listed(
    client: httpx.AsyncClient, stored: StandInDeliveries, path: str
) -> None:
    stored.summaries = (DEAD,)
    answer = await client.get(path, params={"outcome": "dead"})

    (shown,) = answer.json()["deliveries"]
    assert (shown["channel"], shown["lastStatus"], shown["outcome"]) == ("email", 550, "dead")
    (asked,) = stored.asked
    alert_id = UUID(path.split("/")[3])
    assert asked.place == DeliveryPlace(user_id=asked.place.user_id, alert_id=alert_id)
    assert (asked.outcomes, asked.from_ms) == ((AttemptOutcome.DEAD,), NOW_MS - 7 * 86_400_000)


async def test_a_notification_is_sent_again_with_its_ids(
    application: Application, client: httpx.AsyncClient, stored: StandInDeliveries, path: str
) -> None:
    trigger = AlertTrigger(
        id=recognition(1).id,
        owner_id=OWNER,
        alert=alert_record(1),
        recognition=recognition(1),
        decided_ms=5,
    )
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


async def test_notifications_of_another_owners_alert_do_not_exist(
    application: Application, stored: StandInDeliveries, path: str
) -> None:
    stored.contents[DEAD.id] = b"{}"
    async with application.client(await application.new_owner()) as other:
        listed = await other.get(path)
        sent = await other.post(f"{path}/{DEAD.id}/redeliver", json={})

    assert (listed.status_code, sent.status_code) == (404, 404)
    assert await outbox_of(application.database, DELIVERIES) == []
