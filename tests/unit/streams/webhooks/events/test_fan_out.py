"""The deliveries that an event gives."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
import pytest
from cryptography.fernet import Fernet

from common.errors import MisconfiguredError
from common.records.alerts import (
    AlertTrigger,
    EmailNotification,
    TriggerPhase,
    WebhookNotification,
)
from common.records.deliveries import (
    Delivery,
    DeliveryTarget,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
)
from common.records.ids import uuid_unix_ms
from common.records.webhooks import EventName
from common.secrets import SecretBox
from streams.webhooks.events.fan_out import FanOut, trigger_deliveries
from streams.webhooks.events.subscription_cache import SubscriptionCache
from tests.records import CAMERAS, OWNER, alert, recognition
from tests.unit.streams.runtime.fakes import event
from tests.unit.streams.webhooks.builders import BOX, WEBHOOK, trigger_in_phase, webhook


async def test_webhooks_are_notified_of_an_alert_whose_addresses_cannot_be_read() -> None:
    published: list[Delivery] = []

    async def publish(deliveries: Sequence[Delivery]) -> None:
        published.extend(deliveries)

    subscriptions = SubscriptionCache(BOX)
    subscriptions.apply_webhooks([(WEBHOOK, webhook())])
    other = SecretBox(Fernet.generate_key().decode())
    triggers = [
        AlertTrigger(
            id=recognition(number).id,
            owner_id=OWNER,
            alert=alert(number, notifications_encrypted=box.encrypt("[]")),
            recognition=recognition(number),
            decided_ms=1,
        )
        for number, box in enumerate((BOX, other))
    ]
    batch = [(event(number), trigger) for number, trigger in enumerate(triggers)]
    for one, _ in batch:
        one.message.timestamp = 1_800_000_000.0
    fan_out = FanOut(subscriptions, BOX, publish)

    with pytest.raises(MisconfiguredError):
        await fan_out.publish_triggers(batch)
    # The guard finds out which one is at fault: nothing is published twice for it.
    assert published == []
    with pytest.raises(MisconfiguredError):
        await fan_out.publish_triggers(batch[1:])
    assert [one.trigger for one in published] == triggers[1:]
    assert [one.target for one in published] == [WebhookTarget(webhook_id=WEBHOOK)]


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
    published: list[Delivery] = []

    async def publish(deliveries: Sequence[Delivery]) -> None:
        published.extend(deliveries)

    subscriptions = SubscriptionCache(BOX)
    by_event = {name: UUID(int=number) for number, name in enumerate(EventName)}
    for name, identifier in by_event.items():
        config = msgspec.structs.replace(webhook(), webhook_id=identifier, events=(name,))
        subscriptions.apply_webhooks([(identifier, config)])
    trigger = AlertTrigger(
        id=recognition(1).id,
        owner_id=OWNER,
        alert=alert(1, notifications_encrypted=BOX.encrypt("[]")),
        recognition=recognition(1),
        decided_ms=1,
        phase=phase,
    )
    message = event(1)
    message.message.timestamp = 1_800_000_000.0
    await FanOut(subscriptions, BOX, publish).publish_triggers([(message, trigger)])
    assert [one.target for one in published] == [WebhookTarget(webhook_id=by_event[wanted])]


def test_the_same_trigger_gives_the_same_ids_and_an_address_is_notified_once() -> None:
    notifications = (
        EmailNotification(addresses=("a@example.com", "A@example.com", "b@example.com")),
        EmailNotification(addresses=("b@example.com",)),
        WebhookNotification(url="https://receiver.example.com/"),
        WebhookNotification(url="https://receiver.example.com/"),
    )
    encrypted = BOX.encrypt(msgspec.json.encode(notifications).decode())
    trigger = AlertTrigger(
        id=CAMERAS[1],
        owner_id=OWNER,
        alert=alert(1, notifications_encrypted=encrypted),
        recognition=recognition(2),
        decided_ms=1,
    )
    first, second = (trigger_deliveries(trigger, [], BOX) for _ in range(2))

    assert [one.id for one in first] == [one.id for one in second]
    assert len(first) == 3


@pytest.mark.parametrize(
    ("phase", "notified"),
    [
        (TriggerPhase.EARLY, {WebhookTarget: "alert.triggered", UrlTarget: "alert.triggered"}),
        (
            TriggerPhase.CONFIRMED,
            {WebhookTarget: "alert.confirmed", EmailTarget: "alert.triggered"},
        ),
        (
            TriggerPhase.CORRECTED,
            {
                WebhookTarget: "alert.corrected",
                UrlTarget: "alert.corrected",
                EmailTarget: "alert.triggered",
            },
        ),
        (TriggerPhase.WITHDRAWN, {WebhookTarget: "alert.corrected", UrlTarget: "alert.corrected"}),
    ],
)
def test_which_targets_are_notified_of_a_phase_and_by_which_event(
    phase: TriggerPhase, notified: dict[type[DeliveryTarget], str]
) -> None:
    made = trigger_deliveries(trigger_in_phase(phase), [webhook()], BOX)
    assert {type(one.target): one.event for one in made} == notified
    assert {uuid_unix_ms(one.id) == one.occurred_ms for one in made} == {True}
