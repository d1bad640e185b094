"""Deliveries of a webhook, redelivery, replays and test events, with a real database."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from analytics_sql.deliveries import AddressedDelivery, DeliveryChannel, DeliverySummary
from analytics_sql.recognitions import RecognitionRow, recognition_row
from analytics_sql.triggers import RecognitionTrigger
from api.db.database import Database
from common.records.codec import decode, encode
from common.records.deliveries import (
    AttemptOutcome,
    Delivery,
    DeliveryCause,
    WebhookStatus,
    recognition_delivery,
)
from common.records.ids import event_id
from common.records.topics import CONFIG_WEBHOOKS, DELIVERIES
from common.records.webhooks import EventName, WebhookConfig
from tests.integration.api.application import (
    NOW_MS,
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.outbox import outbox_of
from tests.records import recognition

pytestmark = pytest.mark.integration

PATH = "/api/webhooks"
BODY = {
    "name": "Gate",
    "url": "https://receiver.example.com/plates",
    "events": ["camera.online", "recognition.created", "alert.triggered"],
}

RETRYING = DeliverySummary(
    id=UUID(int=1),
    event_id=UUID(int=2),
    event=EventName.RECOGNITION_CREATED,
    channel=DeliveryChannel.HTTP,
    cause=DeliveryCause.EVENT,
    created_ms=1_790_000_000_000,
    attempts=2,
    last_attempt_ms=1_790_000_005_000,
    last_duration_ms=12,
    outcome=AttemptOutcome.RETRYING,
    status=503,
    error="Received status 503.",
    next_attempt_ms=1_790_000_035_000,
)


@pytest.fixture
async def webhook(client: httpx.AsyncClient) -> dict[str, Any]:
    """A webhook as the API returns it."""
    made: dict[str, Any] = (await client.post(PATH, json=BODY)).json()["webhook"]
    return made


async def _queued(application: Application) -> list[Delivery]:
    rows = await outbox_of(application.database, DELIVERIES)
    found = [(key, decode(Delivery, value or b"")) for key, value in rows]
    assert all(key == delivery.endpoint for key, delivery in found)
    return [delivery for _, delivery in found]


async def test_deliveries_are_listed(
    client: httpx.AsyncClient, stored: StandInStore, webhook: dict[str, Any]
) -> None:
    stored.summaries = (RETRYING,)
    path = f"{PATH}/{webhook['id']}/deliveries"
    answer = await client.get(path, params={"outcome": "retrying", "limit": 5})

    assert answer.json() == {
        "deliveries": [
            {
                "id": str(UUID(int=1)),
                "eventId": str(UUID(int=2)),
                "event": "recognition.created",
                "channel": "http",
                "cause": "event",
                "outcome": "retrying",
                "attempts": 2,
                "createdAt": "2026-09-21T14:13:20.000Z",
                "lastAttemptAt": "2026-09-21T14:13:25.000Z",
                "lastDurationMs": 12,
                "lastStatus": 503,
                "lastError": "Received status 503.",
                "nextAttemptAt": "2026-09-21T14:13:55.000Z",
            }
        ]
    }
    assert stored.asked[0].outcomes == (AttemptOutcome.RETRYING,)
    assert stored.asked[0].from_ms == NOW_MS - 7 * 86_400_000
    await client.get(path, params={"from": "1969-01-01T00:00:00Z"})
    assert stored.asked[1].from_ms == 0
    for wrong in (
        {"limit": 0},
        {"limit": 201},
        {"outcome": "lost"},
        {"before": "soon"},
        {"from": "1"},
    ):
        assert (await client.get(path, params=wrong)).status_code == 400


@pytest.mark.parametrize("event", [None, EventName.ALERT_TRIGGERED], ids=str)
async def test_a_test_event_is_queued(
    application: Application,
    client: httpx.AsyncClient,
    webhook: dict[str, Any],
    event: EventName | None,
) -> None:
    body = {} if event is None else {"event": event.value}
    answer = await client.post(f"{PATH}/{webhook['id']}/test", json=body)
    (queued,) = await _queued(application)

    assert answer.status_code == 202
    assert answer.json()["delivery"] == {
        "id": str(queued.id),
        "eventId": str(queued.event_id),
        "event": (event or EventName.CAMERA_ONLINE).value,
        "cause": "test",
    }
    assert queued.event is (event or EventName.CAMERA_ONLINE)
    assert (queued.cause, queued.endpoint) == (DeliveryCause.TEST, webhook["id"])


async def test_a_delivery_is_sent_again_with_its_ids(
    application: Application,
    client: httpx.AsyncClient,
    stored: StandInStore,
    webhook: dict[str, Any],
) -> None:
    dead = recognition_delivery(recognition(1), UUID(webhook["id"]), created_ms=5)
    stored.contents[dead.id] = encode(dead)
    path = f"{PATH}/{webhook['id']}/deliveries"
    answer = await client.post(f"{path}/{dead.id}/redeliver", json={})
    (queued,) = await _queued(application)

    assert answer.status_code == 202
    assert (queued.id, queued.event_id, queued.created_ms) == (dead.id, dead.event_id, 5)
    assert (queued.cause, queued.requested_ms) == (DeliveryCause.REDELIVERY, NOW_MS)
    stored.contents[dead.id] = b""
    for unknown in (dead.id, uuid.uuid4(), "1"):
        assert (await client.post(f"{path}/{unknown}/redeliver", json={})).status_code == 404


async def test_a_replay_sends_past_events_marked_and_in_order(
    application: Application,
    client: httpx.AsyncClient,
    stored: StandInStore,
    webhook: dict[str, Any],
) -> None:
    before = recognition(1, captured_ms=1_789_000_000_000)
    stored.recognitions = tuple(recognition_row(made) for made in (recognition(2), before))
    path = f"{PATH}/{webhook['id']}/replay"
    period = {"from": "2026-09-01T00:00:00Z", "to": "2026-10-01T00:00:00+02:00"}
    answer = await client.post(path, json=period)
    queued = await _queued(application)

    assert (answer.status_code, answer.json()) == (202, {"queued": 2})
    original = recognition_delivery(before, UUID(webhook["id"]), created_ms=0)
    assert (queued[0].id, queued[0].event_id) == (original.id, original.event_id)
    assert [one.cause for one in queued] == [DeliveryCause.REPLAY] * 2
    for wrong in ({}, period | {"to": period["from"]}, {"from": "x", "to": "y"}):
        assert (await client.post(path, json=wrong)).status_code == 400


async def test_waiting_replays_of_an_account_are_limited(
    client: httpx.AsyncClient, stored: StandInStore, webhook: dict[str, Any]
) -> None:
    path = f"{PATH}/{webhook['id']}/replay"
    period = {"from": "2026-09-01T00:00:00Z", "to": "2026-10-01T00:00:00Z"}
    # An empty replay does not count as pending.
    assert (await client.post(path, json=period)).json() == {"queued": 0}
    stored.recognitions = (recognition_row(recognition(1, captured_ms=1_789_000_000_000)),)
    answers = [await client.post(path, json=period) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
    refused = answers[-1]
    assert refused.json()["error"].endswith("limit of 3 pending replays.")
    assert refused.headers["Retry-After"] == "10"


async def test_a_new_secret_with_an_overlap(
    application: Application, client: httpx.AsyncClient, webhook: dict[str, Any]
) -> None:
    path = f"{PATH}/{webhook['id']}/rotate-secret"
    first = (await client.post(path, json={"overlapHours": 2})).json()["webhook"]
    until = datetime.fromisoformat(first["previousSecretUntil"])
    second = (await client.post(path, json={"secret": "my own secret", "overlapHours": 0})).json()

    assert first["secret"] not in (webhook["secret"], "")
    assert timedelta(hours=1, minutes=59) < until - datetime.now(UTC) <= timedelta(hours=2)
    assert second["webhook"]["secret"] == "my own secret"
    assert second["webhook"]["previousSecretUntil"] is None
    published = [
        decode(WebhookConfig, value or b"")
        for _, value in await outbox_of(application.database, CONFIG_WEBHOOKS)
    ]
    rotated = published[1]
    assert rotated.previous_secret_encrypted is not None
    assert application.box.decrypt(rotated.previous_secret_encrypted) == webhook["secret"]
    assert rotated.previous_secret_until_ms == round(until.timestamp() * 1000)
    assert published[2].previous_secret_encrypted is None
    await client.post(path, json={"overlapHours": 2})
    put = await client.put(f"{PATH}/{webhook['id']}", json={"secret": "set outright"})
    assert put.json()["webhook"]["previousSecretUntil"] is None


def _status(webhook: dict[str, Any], **fields: Any) -> WebhookStatus:
    return WebhookStatus(
        webhook_id=UUID(webhook["id"]), owner_id=UUID(int=1), attempts_offset=1, **fields
    )


async def test_how_deliveries_went_is_shown(
    application: Application, client: httpx.AsyncClient, webhook: dict[str, Any]
) -> None:
    status = _status(
        webhook,
        failure_count=12,
        given_up_count=3,
        last_delivery_ms=1_790_000_000_000,
        last_delivery_status=503,
    )
    application.webhook_board.post([(status.webhook_id, status)])
    (shown,) = (await client.get(PATH)).json()["webhooks"]

    assert shown == webhook | {
        "failureCount": 3,
        "failedAttempts": 12,
        "lastDeliveryAt": "2026-09-21T14:13:20.000Z",
        "lastDeliveryStatus": 503,
    }


async def test_a_webhook_disabled_by_the_stage_stays_disabled_until_enabled(
    application: Application, client: httpx.AsyncClient, webhook: dict[str, Any]
) -> None:
    status = _status(webhook, failure_count=20, disabled_revision=1, disabled_reason="Why.")
    application.webhook_board.post([(status.webhook_id, status)])
    (shown,) = (await client.get(PATH)).json()["webhooks"]
    assert (shown["enabled"], shown["disabledReason"]) == (False, "Why.")

    assert await application.services.webhooks.sweep() == 1
    assert await application.services.webhooks.sweep() == 0
    (shown,) = (await client.get(PATH)).json()["webhooks"]
    assert (shown["enabled"], shown["disabledReason"]) == (False, "Why.")

    put = await client.put(f"{PATH}/{webhook['id']}", json={"enabled": True})
    assert put.json()["webhook"]["enabled"] is True
    assert put.json()["webhook"]["disabledReason"] is None
    # The stage reports the failure again, for an older configuration.
    application.webhook_board.post([(status.webhook_id, status)])
    assert await application.services.webhooks.sweep() == 0
    (shown,) = (await client.get(PATH)).json()["webhooks"]
    assert (shown["enabled"], shown["disabledReason"]) == (True, None)


async def test_switching_on_before_the_row_says_off(
    application: Application, client: httpx.AsyncClient, webhook: dict[str, Any]
) -> None:
    status = _status(webhook, failure_count=20, disabled_revision=1, disabled_reason="Why.")
    application.webhook_board.post([(status.webhook_id, status)])
    put = await client.put(f"{PATH}/{webhook['id']}", json={"enabled": True})

    assert put.json()["webhook"]["enabled"] is True
    assert await application.services.webhooks.sweep() == 0
    rows = await outbox_of(application.database, CONFIG_WEBHOOKS)
    assert decode(WebhookConfig, rows[-1][1] or b"").revision == 2


class OneRecognition(StandInStore):
    """Has one recognition with an early trigger."""

    def __init__(self, trigger: UUID) -> None:
        super().__init__()
        self.row = recognition_row(recognition(1))
        self.trigger = RecognitionTrigger(
            alert_id=UUID(int=9),
            id=trigger,
            triggered_ms=self.row.captured_ms - 700,
            decided_ms=self.row.captured_ms,
            is_late=False,
        )

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        return self.row if recognition_id == self.row.id else None

    async def triggers_for(
        self, owner_id: UUID, recognition_id: UUID, captured_ms: int
    ) -> tuple[RecognitionTrigger, ...]:
        return (self.trigger,)


async def test_deliveries_of_a_recognition_are_listed(database: Database) -> None:
    store = OneRecognition(UUID(int=77))
    store.addressed = (
        AddressedDelivery(summary=RETRYING, webhook_id=None, alert_id=UUID(int=9)),
        AddressedDelivery(summary=RETRYING, webhook_id=UUID(int=8), alert_id=None),
    )
    path = f"/api/recognitions/{store.row.id}/deliveries"
    async with running_application(database, Options(store=store)) as app:
        caller = await app.new_owner()
        async with app.client(caller) as client:
            answer = await client.get(path, params={"limit": 1})
            both = (await client.get(path)).json()["deliveries"]
            unknown = await client.get(f"/api/recognitions/{UUID(int=5)}/deliveries")
            wrong = await client.get(path, params={"limit": 0})
            body = {"name": "narrow", "scopes": ["recognitions:read", "webhooks:read"]}
            key = (await client.post("/api/api-keys", json=body)).json()["plainKey"]
            async with app.client(Caller(UUID(int=0), key)) as narrow:
                refused = await narrow.get(path)

    assert [one["alertId"] for one in answer.json()["deliveries"]] == [str(UUID(int=9))]
    assert [one["webhookId"] for one in both] == [None, str(UUID(int=8))]
    assert [one["lastStatus"] for one in both] == [503, 503]
    assert (unknown.status_code, wrong.status_code, refused.status_code) == (404, 400, 403)
    (wanted, _) = store.events
    captured_ms, early_ms = store.row.captured_ms, store.trigger.triggered_ms
    assert wanted.event_ids == {
        event_id(captured_ms, EventName.RECOGNITION_CREATED, str(store.row.id)),
        event_id(early_ms, EventName.ALERT_TRIGGERED, str(UUID(int=77))),
        event_id(captured_ms, EventName.ALERT_CONFIRMED, str(UUID(int=77))),
        event_id(captured_ms, EventName.ALERT_CORRECTED, str(UUID(int=77))),
    }
    assert wanted.from_ms < early_ms < captured_ms < wanted.to_ms
