"""Bytes in Kafka for one recognition, if the account reaches all limits."""

import random
import string
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import pytest

from common.owner_limits import DeliveryLimitSettings, LimitUsageGauge
from common.records.alerts import AlertConfig, WebhookNotification
from common.records.codec import Record, encode
from common.records.deliveries import AttemptOutcome, Delivery, DeliveryAttempt
from common.settings import load_settings
from streams.alerts.decisions import CandidateHandler
from streams.alerts.rules import RuleStore
from streams.alerts.state import ArrivedCandidate
from streams.runtime.alert_cache import AlertCache
from streams.webhooks.delivery.schedule import AttemptDecision, SendKind, SendResult, attempt_record
from streams.webhooks.events.delivery_budget import DeliveryBudget
from streams.webhooks.events.fan_out import FanOut
from streams.webhooks.events.subscription_cache import SubscriptionCache
from tests.records import alert, recognition
from tests.unit.streams.alerts.world import World
from tests.unit.streams.runtime.fakes import event
from tests.unit.streams.webhooks.builders import BOX, webhook

ALERTS, PLATES, DESTINATIONS = 200, 1_000, 100
SECRET = BOX.encrypt("the owner's one")
PARTITIONS = 4
MAX_BYTES = 200_000


def worst_alert(chance: random.Random, number: int) -> AlertConfig:
    def text(length: int) -> str:
        return "".join(chance.choices(string.ascii_letters, k=length))

    addresses = [
        WebhookNotification(url=f"https://{text(40)}.example/") for _ in range(DESTINATIONS)
    ]
    return alert(
        number,
        name=text(200),
        description=text(2_000),
        plates=tuple(text(16) for _ in range(PLATES)),
        cooldown_minutes=0,
        notifications_encrypted=BOX.encrypt(msgspec.json.encode(addresses).decode()),
        notification_secret_encrypted=SECRET,
        revision=1,
    )


def bytes_on_topic(records: Iterable[tuple[str, Record]]) -> int:
    """Return the size of records on their topic, compressed by partition as Kafka does."""
    batches: defaultdict[int, list[bytes]] = defaultdict(list)
    for key, record in records:
        batches[zlib.crc32(key.encode()) % PARTITIONS].append(key.encode() + encode(record))
    return sum(len(zlib.compress(b"".join(batch))) for batch in batches.values())


@pytest.mark.parametrize("webhooks", [0, 50])
async def test_a_recognition_of_the_worst_owner_takes_little_of_kafka(webhooks: int) -> None:
    chance = random.Random(1)
    rules = [worst_alert(chance, number) for number in range(ALERTS)]
    world = World()
    store = RuleStore(world.metrics)
    updates = [(rule.alert_id, rule) for rule in rules]
    store.apply(updates)
    seen = recognition(1, captured_ms=world.now_ms)
    await world.matching(store, early=False).handle([(seen, world.now_ms)])
    assert len(world.candidates) == ALERTS
    handler = CandidateHandler(
        world, world.publish_triggers, world.metrics, late_ms=1_000, now_ms=lambda: world.now_ms
    )
    await handler.handle([ArrivedCandidate(0, candidate) for candidate in world.candidates])

    book, subscriptions = AlertCache(), SubscriptionCache(BOX)
    book.apply(updates)
    hooks = [webhook(number) for number in range(webhooks)]
    subscriptions.apply_webhooks((hook.webhook_id, hook) for hook in hooks)
    made: list[Delivery] = []
    attempts: list[DeliveryAttempt] = []

    async def deliver(deliveries: Sequence[Delivery]) -> None:
        made.extend(deliveries)

    async def attempt(unmade: Sequence[DeliveryAttempt]) -> None:
        attempts.extend(unmade)

    near = LimitUsageGauge("platestream_webhooks_owner_limit_ratio")
    fan_out = FanOut(
        subscriptions,
        book,
        BOX,
        deliver,
        attempt,
        DeliveryBudget(load_settings(DeliveryLimitSettings), subscriptions.own_limits, near),
        sends_email=True,
        now_ms=lambda: world.now_ms,
    )
    message = event(1)
    message.message.timestamp = world.now_ms / 1000
    await fan_out.publish_triggers([(message, trigger) for trigger in world.triggers])
    assert len(made) == 100
    # One record for each alert whose deliveries were left out.
    assert len(attempts) == (ALERTS if webhooks else ALERTS - 1)
    result, decision = SendResult(kind=SendKind.ACCEPTED), AttemptDecision(AttemptOutcome.DELIVERED)
    attempts += [attempt_record(one, 1, result, decision, 1, 0.1) for one in made]

    taken = {
        "alert-candidates": bytes_on_topic((str(c.alert.alert_id), c) for c in world.candidates),
        "alerts": bytes_on_topic((str(t.alert.alert_id), t) for t in world.triggers),
        "deliveries": bytes_on_topic((d.endpoint, d) for d in made),
        "attempts": bytes_on_topic((a.delivery.endpoint, a) for a in attempts),
    }
    assert sum(taken.values()) <= MAX_BYTES, taken
