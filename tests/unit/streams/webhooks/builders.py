"""Sample webhooks and deliveries."""

from collections.abc import Iterable
from uuid import UUID

import msgspec
from cryptography.fernet import Fernet

from common.records.alerts import (
    AlertTrigger,
    AppriseNotification,
    EarlyTrigger,
    EmailNotification,
    TriggerPhase,
    WebhookNotification,
)
from common.records.deliveries import Delivery, recognition_delivery
from common.records.ids import trigger_id
from common.records.notifications import destinations_of
from common.records.payloads import notifications_of
from common.records.webhooks import WebhookConfig
from common.secrets import SecretBox
from common.telemetry.tracing import current_trace
from common.timestamps import now_ms
from streams.runtime.alert_cache import AlertCache
from streams.webhooks.delivery.http_sender import HttpSender, SignedRequest
from streams.webhooks.delivery.schedule import SendKind, SendResult
from streams.webhooks.delivery.sender import DeliverySender
from streams.webhooks.events.fan_out import trigger_plans
from streams.webhooks.events.subscription_cache import SubscriptionCache
from tests.records import OWNER, alert, recognition

BOX = SecretBox(Fernet.generate_key().decode())
WEBHOOK = UUID("11111111-2222-4333-8444-555555555555")


def webhook(number: int = 0, **changed: object) -> WebhookConfig:
    """Return a webhook of the account."""
    fields: dict[str, object] = {
        "webhook_id": UUID(int=WEBHOOK.int + number),
        "owner_id": OWNER,
        "name": f"webhook {number}",
        "url_encrypted": BOX.encrypt(f"https://receiver.example.com/{number}"),
        "secret_encrypted": BOX.encrypt("a secret"),
        "headers_encrypted": BOX.encrypt('{"X-Tenant":"north"}'),
        "events": ("recognition.created", "camera.online", "camera.offline", "alert.triggered"),
        "enabled": True,
        "revision": 1,
    }
    return WebhookConfig(**(fields | changed))  # type: ignore[arg-type]


def delivery(number: int, endpoint: int = 0) -> Delivery:
    """Return the delivery of a recognition to a webhook."""
    made = recognition(number)
    return recognition_delivery(made, webhook(endpoint).webhook_id, created_ms=made.captured_ms + 9)


def trigger_deliveries(trigger: AlertTrigger, webhooks: Iterable[WebhookConfig]) -> list[Delivery]:
    """Return the deliveries of a trigger that contains the full alert, not a reference."""
    alert = trigger.alert
    destinations = destinations_of(alert.owner_id, notifications_of(alert, BOX))
    return [plan() for plan, _ in trigger_plans(trigger, alert, destinations, webhooks, BOX)]


def trigger_in_phase(phase: TriggerPhase) -> AlertTrigger:
    """Return an alert's trigger in a phase. The vehicle is captured again two seconds later."""
    notifications = (
        EmailNotification(addresses=("a@example.com",)),
        WebhookNotification(url="https://receiver.example.com/"),
        AppriseNotification(url="ntfys://push.example.com/gate"),
    )
    encrypted = BOX.encrypt(msgspec.json.encode(notifications).decode())
    first = recognition(1)
    is_early = phase is TriggerPhase.EARLY
    early = EarlyTrigger(plate="AB12", captured_ms=first.captured_ms, decided_ms=2)
    return AlertTrigger(
        id=trigger_id(first.captured_ms, alert(1).alert_id, first.id),
        owner_id=OWNER,
        alert=alert(1, notifications_encrypted=encrypted),
        recognition=first if is_early else recognition(1, captured_ms=first.captured_ms + 2_000),
        decided_ms=1 if is_early else 3,
        phase=phase,
        early=None if is_early else early,
    )


class Transport(HttpSender):
    """Records requests with the trace of each, and responds as a test requires."""

    def __init__(self, answer: SendResult | None = None) -> None:
        self.requests: list[SignedRequest] = []
        self.traces: list[object] = []
        self._answer = answer or SendResult(kind=SendKind.ACCEPTED)

    async def post(self, request: SignedRequest) -> SendResult:
        self.requests.append(request)
        self.traces.append(current_trace())
        return self._answer

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        self.traces.append(current_trace())
        return self._answer


def delivery_sender(
    transport: Transport, subscriptions: SubscriptionCache, alerts: AlertCache | None = None
) -> DeliverySender:
    """Return a sender that uses ``transport`` for all kinds of destinations."""
    return DeliverySender(
        subscriptions=subscriptions,
        alerts=alerts or AlertCache(),
        box=BOX,
        http=transport,
        email=transport,
        services=transport,
        topic="deliveries",
        now_ms=now_ms,
    )
