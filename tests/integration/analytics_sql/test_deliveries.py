"""Delivery attempts written to and read from a real engine."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import pytest
from clickhouse_connect.driver import Client

from analytics_sql.client import ClickHouseClient
from analytics_sql.deliveries import (
    DeliveryChannel,
    DeliveryCursor,
    DeliveryFilter,
    EventFilter,
    WebhookSpan,
    get_delivery_content,
    insert_attempts,
    list_deliveries,
    list_deliveries_between,
    list_recognition_deliveries,
)
from common.records.codec import decode
from common.records.deliveries import (
    AppriseTarget,
    AttemptOutcome,
    Delivery,
    DeliveryAttempt,
    DeliveryCause,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
    recognition_delivery,
    trigger_delivery,
)
from common.records.ids import derived_uuid
from common.records.webhooks import EventName
from tests.records import OWNER, alert, alert_trigger, recognition
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

WEBHOOK = UUID("00000000-0000-4000-8000-00000000000a")
OTHER = UUID("00000000-0000-4000-8000-00000000000b")
START_MS = 1_793_491_200_000


@pytest.fixture
async def client(migrated_clickhouse: ClickHouseAddress) -> AsyncIterator[ClickHouseClient]:
    """A client of a database with this release's schema."""
    schema = migrated_clickhouse.client()
    _keep_old_rows(schema)
    schema.close()
    client = ClickHouseClient(migrated_clickhouse.settings())
    yield client
    await client.close()


def _keep_old_rows(schema: Client) -> None:
    """Stop merges, because three months after START_MS a merge would delete the rows of a test."""
    schema.command("SYSTEM STOP MERGES delivery_attempts")


def _delivery(number: int, webhook: UUID = WEBHOOK, **marks: object) -> Delivery:
    made = recognition(number, captured_ms=START_MS + number * 1000)
    return recognition_delivery(made, webhook, created_ms=START_MS, **marks)  # type: ignore[arg-type]


def _attempt(delivery: Delivery, number: int, outcome: AttemptOutcome) -> DeliveryAttempt:
    is_ok = outcome is AttemptOutcome.DELIVERED
    return DeliveryAttempt(
        id=derived_uuid(START_MS, str(delivery.id), str(delivery.requested_ms), str(number)),
        delivery=delivery,
        number=number,
        started_ms=delivery.occurred_ms + delivery.requested_ms + number * 100,
        duration_ms=7,
        outcome=outcome,
        status=200 if is_ok else 503,
        error=None if is_ok else "Received status 503.",
        next_attempt_ms=START_MS + 99 if outcome is AttemptOutcome.RETRYING else None,
    )


ONE, TWO, THREE = (_delivery(number) for number in (1, 2, 3))
AGAIN = _delivery(1, cause=DeliveryCause.REDELIVERY, requested_ms=500_000)
ATTEMPTS = (
    _attempt(ONE, 1, AttemptOutcome.RETRYING),
    _attempt(ONE, 2, AttemptOutcome.DEAD),
    _attempt(AGAIN, 1, AttemptOutcome.DELIVERED),
    _attempt(TWO, 1, AttemptOutcome.RETRYING),
    _attempt(THREE, 1, AttemptOutcome.DELIVERED),
    _attempt(_delivery(4, OTHER), 1, AttemptOutcome.DELIVERED),
)
HERE = DeliveryCursor(user_id=OWNER, webhook_id=WEBHOOK)
MINE = DeliveryFilter(cursor=HERE, from_ms=0)


async def test_each_delivery_has_the_outcome_of_its_last_attempt(client: ClickHouseClient) -> None:
    await insert_attempts(client, ATTEMPTS)
    await insert_attempts(client, ATTEMPTS)
    found = await list_deliveries(client, MINE, 10)

    assert [(one.id, one.outcome, one.attempts, one.status, one.cause) for one in found] == [
        (ONE.id, AttemptOutcome.DELIVERED, 3, 200, DeliveryCause.REDELIVERY),
        (THREE.id, AttemptOutcome.DELIVERED, 1, 200, DeliveryCause.EVENT),
        (TWO.id, AttemptOutcome.RETRYING, 1, 503, DeliveryCause.EVENT),
    ]
    assert (found[2].error, found[2].next_attempt_ms) == ("Received status 503.", START_MS + 99)
    assert (found[2].event_id, found[2].created_ms) == (TWO.event_id, START_MS)
    assert await list_deliveries(client, MINE, 2) == found[:2]
    later = replace(MINE, before_ms=found[1].last_attempt_ms)
    assert await list_deliveries(client, later, 10) == found[2:]
    retrying = replace(MINE, outcomes=(AttemptOutcome.RETRYING,))
    assert await list_deliveries(client, retrying, 10) == found[2:]
    assert await list_deliveries(client, replace(MINE, from_ms=TWO.occurred_ms), 10) == found[1:]
    stranger = replace(MINE, cursor=DeliveryCursor(user_id=WEBHOOK, webhook_id=WEBHOOK))
    assert await list_deliveries(client, stranger, 10) == ()


async def test_deliveries_of_events_to_all_their_targets(client: ClickHouseClient) -> None:
    other = _delivery(1, OTHER)
    mail, *_ = _notifications()
    await insert_attempts(client, [*ATTEMPTS, _attempt(other, 1, AttemptOutcome.DEAD)])
    await insert_attempts(client, [_attempt(mail, 1, AttemptOutcome.DELIVERED)])
    wanted = EventFilter(
        user_id=OWNER,
        event_ids=frozenset({ONE.event_id, mail.event_id}),
        from_ms=mail.occurred_ms,
        to_ms=ONE.occurred_ms,
    )

    found = await list_recognition_deliveries(client, wanted, 10)

    assert {(one.summary.id, one.webhook_id, one.alert_id) for one in found} == {
        (ONE.id, WEBHOOK, None),
        (other.id, OTHER, None),
        (mail.id, None, alert(1).alert_id),
    }
    assert [one.summary for one in found if one.webhook_id == WEBHOOK] == [
        (await list_deliveries(client, MINE, 10))[0]
    ]
    assert await list_recognition_deliveries(client, wanted, 1) == found[:1]
    assert await list_recognition_deliveries(client, replace(wanted, user_id=WEBHOOK), 10) == ()
    assert (
        await list_recognition_deliveries(client, replace(wanted, from_ms=wanted.to_ms + 1), 10)
        == ()
    )


async def test_what_was_to_be_delivered_is_read_as_written(client: ClickHouseClient) -> None:
    await insert_attempts(client, ATTEMPTS)
    content = await get_delivery_content(client, HERE, TWO.id)

    assert content is not None
    assert decode(Delivery, content) == TWO
    other = DeliveryCursor(user_id=OWNER, webhook_id=OTHER)
    assert await get_delivery_content(client, other, TWO.id) is None
    assert await get_delivery_content(client, HERE, UUID(int=2**128 - 1)) is None


async def test_the_events_of_a_time_in_order_once_each(client: ClickHouseClient) -> None:
    await insert_attempts(client, ATTEMPTS)

    async def between(from_ms: int, to_ms: int, *events: EventName) -> list[Delivery]:
        span = WebhookSpan(
            user_id=OWNER, webhook_id=WEBHOOK, events=events, from_ms=from_ms, to_ms=to_ms
        )
        found = await list_deliveries_between(client, span, 10)
        return [decode(Delivery, content) for content in found]

    wanted = EventName.RECOGNITION_CREATED
    assert await between(START_MS, START_MS + 9_000, wanted) == [ONE, TWO, THREE]
    assert await between(START_MS + 2_000, START_MS + 3_000, wanted) == [TWO]
    assert await between(START_MS, START_MS + 9_000, EventName.CAMERA_ONLINE) == []


def _notifications() -> tuple[Delivery, Delivery, Delivery]:
    """Return notifications of an alert to an email address, a URL and another service."""
    trigger = alert_trigger(alert(1), recognition(1, captured_ms=START_MS))
    mail = EmailTarget(alert_id=trigger.alert.alert_id, address_encrypted="a")
    url = UrlTarget(alert_id=trigger.alert.alert_id, url_encrypted="u", secret_encrypted="s")
    push = AppriseTarget(alert_id=trigger.alert.alert_id, url_encrypted="u")
    return (
        trigger_delivery(trigger, "email-1", mail),
        trigger_delivery(trigger, "url-1", url),
        trigger_delivery(trigger, "apprise-1", push),
    )


async def test_an_alerts_own_notifications_by_the_alert(client: ClickHouseClient) -> None:
    mail, url, push = _notifications()
    alert_delivery = trigger_delivery(mail.trigger, str(WEBHOOK), WebhookTarget(webhook_id=WEBHOOK))  # type: ignore[arg-type]
    attempts = [
        _attempt(each, 1, AttemptOutcome.DEAD) for each in (mail, url, push, alert_delivery)
    ]
    await insert_attempts(client, attempts)
    cursor = DeliveryCursor(user_id=OWNER, alert_id=alert(1).alert_id)
    found = await list_deliveries(client, DeliveryFilter(cursor=cursor, from_ms=0), 10)

    assert {(one.id, one.channel) for one in found} == {
        (mail.id, DeliveryChannel.EMAIL),
        (url.id, DeliveryChannel.HTTP),
        (push.id, DeliveryChannel.APPRISE),
    }
    content = await get_delivery_content(client, cursor, mail.id)
    assert content is not None
    assert decode(Delivery, content) == mail
    assert await get_delivery_content(client, cursor, alert_delivery.id) is None
    other = DeliveryCursor(user_id=OWNER, alert_id=alert(2).alert_id)
    assert await list_deliveries(client, DeliveryFilter(cursor=other, from_ms=0), 10) == ()
