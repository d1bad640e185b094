"""Deliveries that an event causes."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
import pytest
from cryptography.fernet import Fernet

from common.errors import MisconfiguredError, TransientError
from common.owner_limits import DeliveryLimitSettings, LimitUsageGauge
from common.records.alerts import (
    AlertTrigger,
    EmailNotification,
    TriggerPhase,
    WebhookNotification,
    by_reference,
)
from common.records.deliveries import (
    AppriseTarget,
    AttemptOutcome,
    Delivery,
    DeliveryAttempt,
    DeliveryTarget,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
)
from common.records.ids import trigger_id, uuid_unix_ms
from common.records.owners import OwnerConfig
from common.records.webhooks import EventName
from common.secrets import SecretBox
from streams.runtime.alert_cache import AlertCache
from streams.runtime.app import Event
from streams.webhooks.events import delivery_budget
from streams.webhooks.events.delivery_budget import DeliveryBudget
from streams.webhooks.events.fan_out import FanOut
from streams.webhooks.events.subscription_cache import SubscriptionCache
from tests.records import OWNER, alert, alert_trigger, recognition
from tests.unit.streams.runtime.fakes import event
from tests.unit.streams.webhooks.builders import (
    BOX,
    WEBHOOK,
    trigger_deliveries,
    trigger_in_phase,
    webhook,
)


class Topics:
    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.attempts: list[DeliveryAttempt] = []
        self.failing = False

    async def deliver(self, deliveries: Sequence[Delivery]) -> None:
        if self.failing:
            raise TransientError("Kafka is unavailable")
        self.deliveries.extend(deliveries)

    async def attempt(self, attempts: Sequence[DeliveryAttempt]) -> None:
        self.attempts.extend(attempts)

    def fan_out(
        self,
        subscriptions: SubscriptionCache,
        alerts: AlertCache | None = None,
        *,
        sends_email: bool = True,
        **limits: int,
    ) -> FanOut:
        settings = DeliveryLimitSettings.model_validate(
            {f"{name}_per_owner": size for name, size in limits.items()}
        )
        self.near = LimitUsageGauge("platestream_webhooks_owner_limit_ratio")
        return FanOut(
            subscriptions,
            alerts or AlertCache(),
            BOX,
            self.deliver,
            self.attempt,
            DeliveryBudget(settings, subscriptions.own_limits, self.near),
            sends_email=sends_email,
            now_ms=lambda: 1_800_000_000_000,
        )


def published(number: int) -> Event:
    made = event(number)
    made.message.timestamp = 1_800_000_000.0
    return made


async def test_webhooks_are_notified_of_an_alert_whose_addresses_cannot_be_read() -> None:
    topics = Topics()
    subscriptions = SubscriptionCache(BOX)
    subscriptions.apply_webhooks([(WEBHOOK, webhook())])
    other = SecretBox(Fernet.generate_key().decode())
    triggers = [
        alert_trigger(alert(number, notifications_encrypted=box.encrypt("[]")), recognition(number))
        for number, box in enumerate((BOX, other))
    ]
    batch = [(event(number), trigger) for number, trigger in enumerate(triggers)]
    for one, _ in batch:
        one.message.timestamp = 1_800_000_000.0
    fan_out = topics.fan_out(subscriptions)

    with pytest.raises(MisconfiguredError):
        await fan_out.publish_triggers(batch)
    # The guard retries the triggers one by one, so the failed batch must not publish any.
    assert topics.deliveries == []
    with pytest.raises(MisconfiguredError):
        await fan_out.publish_triggers(batch[1:])
    assert [one.trigger for one in topics.deliveries] == triggers[1:]
    assert [one.target for one in topics.deliveries] == [WebhookTarget(webhook_id=WEBHOOK)]


@pytest.mark.parametrize(
    ("phase", "wanted"),
    [
        (TriggerPhase.FINAL, EventName.ALERT_TRIGGERED),
        (TriggerPhase.EARLY, EventName.ALERT_TRIGGERED),
        (TriggerPhase.CONFIRMED, EventName.ALERT_CONFIRMED),
        (TriggerPhase.CORRECTED, EventName.ALERT_TRIGGERED),
        (TriggerPhase.WITHDRAWN, EventName.ALERT_TRIGGERED),
    ],
)
async def test_each_phase_reaches_the_subscription_of_its_event(
    phase: TriggerPhase, wanted: EventName
) -> None:
    topics = Topics()
    subscriptions = SubscriptionCache(BOX)
    by_event = {name: UUID(int=number) for number, name in enumerate(EventName)}
    for name, identifier in by_event.items():
        config = msgspec.structs.replace(webhook(), webhook_id=identifier, events=(name,))
        subscriptions.apply_webhooks([(identifier, config)])
    rule = alert(1, notifications_encrypted=BOX.encrypt("[]"))
    trigger = alert_trigger(rule, recognition(1), phase=phase)
    message = event(1)
    message.message.timestamp = 1_800_000_000.0
    await topics.fan_out(subscriptions).publish_triggers([(message, trigger)])
    assert [one.target for one in topics.deliveries] == [WebhookTarget(webhook_id=by_event[wanted])]


def test_the_same_trigger_gives_the_same_ids_and_an_address_is_notified_once() -> None:
    notifications = (
        EmailNotification(addresses=("a@example.com", "A@example.com", "b@example.com")),
        EmailNotification(addresses=("b@example.com",)),
        WebhookNotification(url="https://receiver.example.com/"),
        WebhookNotification(url="https://receiver.example.com/"),
    )
    encrypted = BOX.encrypt(msgspec.json.encode(notifications).decode())
    trigger = alert_trigger(alert(1, notifications_encrypted=encrypted), recognition(2))
    first, second = (trigger_deliveries(trigger, []) for _ in range(2))

    assert [one.id for one in first] == [one.id for one in second]
    assert len(first) == 3


@pytest.mark.parametrize(
    ("phase", "notified"),
    [
        (TriggerPhase.EARLY, {WebhookTarget: "alert.triggered", UrlTarget: "alert.triggered"}),
        (
            TriggerPhase.CONFIRMED,
            {
                WebhookTarget: "alert.confirmed",
                EmailTarget: "alert.triggered",
                AppriseTarget: "alert.triggered",
            },
        ),
        (
            TriggerPhase.CORRECTED,
            {
                WebhookTarget: "alert.corrected",
                UrlTarget: "alert.corrected",
                EmailTarget: "alert.triggered",
                AppriseTarget: "alert.triggered",
            },
        ),
        (TriggerPhase.WITHDRAWN, {WebhookTarget: "alert.corrected", UrlTarget: "alert.corrected"}),
    ],
)
def test_which_targets_are_notified_of_a_phase_and_by_which_event(
    phase: TriggerPhase, notified: dict[type[DeliveryTarget], str]
) -> None:
    made = trigger_deliveries(trigger_in_phase(phase), [webhook()])
    assert {type(one.target): one.event for one in made} == notified
    assert {uuid_unix_ms(one.id) == one.occurred_ms for one in made} == {True}


def trigger_of(number: int, *, addresses: int = 0, **changed: Any) -> AlertTrigger:
    """Return a trigger of an alert that notifies this many email addresses."""
    notifications = (
        EmailNotification(addresses=tuple(f"{n}@example.com" for n in range(addresses))),
    )
    encrypted = BOX.encrypt(msgspec.json.encode(notifications).decode())
    fields: dict[str, Any] = {"recognition": recognition(1), "decided_ms": 1} | changed
    return AlertTrigger(
        id=trigger_id(1, alert(number).alert_id, fields["recognition"].id),
        owner_id=OWNER,
        alert=alert(number, notifications_encrypted=encrypted),
        **fields,
    )


async def test_an_alert_by_reference_reaches_its_own_addresses_and_stays_one() -> None:
    topics, book = Topics(), AlertCache()
    whole = trigger_of(1, addresses=2)
    book.apply([(whole.alert.alert_id, whole.alert)])
    trigger = msgspec.structs.replace(whole, alert=by_reference(whole.alert))
    await topics.fan_out(SubscriptionCache(BOX), book).publish_triggers([(published(1), trigger)])
    assert len(topics.deliveries) == 2
    assert [one.trigger for one in topics.deliveries] == [trigger, trigger]


async def test_without_a_server_there_is_no_delivery_by_email() -> None:
    topics = Topics()
    subscriptions = SubscriptionCache(BOX)
    subscriptions.apply_webhooks([(WEBHOOK, webhook())])
    fan_out = topics.fan_out(subscriptions, sends_email=False)
    await fan_out.publish_triggers([(published(1), trigger_of(1, addresses=3))])
    assert [type(one.target) for one in topics.deliveries] == [WebhookTarget]
    assert topics.attempts == []


async def test_what_is_beyond_a_limit_is_recorded_once_for_each_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivery_budget, "ALERT_DESTINATIONS", 5)
    topics = Topics()
    fan_out = topics.fan_out(SubscriptionCache(BOX))
    triggers = [(published(n), trigger_of(n, addresses=4)) for n in range(3)]
    await fan_out.publish_triggers(triggers)
    assert len(topics.deliveries) == 5
    assert [attempt.outcome for attempt in topics.attempts] == [AttemptOutcome.CANCELLED] * 2
    assert [attempt.error for attempt in topics.attempts] == [
        "The account has reached its limit of 5 alert deliveries per recognition; this delivery "
        f"and {others} more were not sent."
        for others in (2, 3)
    ]
    # Another recognition has a separate limit.
    other = trigger_of(9, addresses=4, recognition=recognition(2))
    await fan_out.publish_triggers([(published(9), other)])
    assert len(topics.deliveries) == 9
    samples = [sample for family in topics.near.collect() for sample in family.samples]
    assert [(one.labels["limit"], one.value) for one in samples] == [("alert_destinations", 1)]


async def test_the_limit_of_a_minute_counts_when_things_happened_and_by_owner() -> None:
    topics = Topics()
    subscriptions = SubscriptionCache(BOX)
    subscriptions.apply_webhooks([(WEBHOOK, webhook())])
    subscriptions.apply_owners(
        [(OWNER, OwnerConfig(owner_id=OWNER, limits={"deliveries_per_minute": 2}))]
    )
    fan_out = topics.fan_out(subscriptions, deliveries_per_minute=1)
    start_ms = 1_795_000_020_000
    seen = [recognition(n, captured_ms=start_ms + n * 10_000) for n in range(9)]
    await fan_out.publish_recognitions([(published(n), one) for n, one in enumerate(seen)])
    minutes = [one.occurred_ms // 60_000 for one in topics.deliveries]
    assert [minutes.count(minute) for minute in sorted(set(minutes))] == [2] * len(set(minutes))
    assert len(topics.deliveries) + len(topics.attempts) == 9
    assert {attempt.delivery.target for attempt in topics.attempts} == {
        WebhookTarget(webhook_id=WEBHOOK)
    }
    subscriptions.apply_owners([(OWNER, None)])
    assert subscriptions.own_limits(OWNER) == {}


async def test_what_comes_again_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_budget, "ALERT_DESTINATIONS", 5)
    topics = Topics()
    fan_out = topics.fan_out(SubscriptionCache(BOX))
    batch = [(published(1), trigger_of(1, addresses=4))]
    topics.failing = True
    for _ in range(3):
        with pytest.raises(TransientError):
            await fan_out.publish_triggers(batch)
    topics.failing = False
    await fan_out.publish_triggers(batch)
    assert len(topics.deliveries) == 4
    assert topics.attempts == []
