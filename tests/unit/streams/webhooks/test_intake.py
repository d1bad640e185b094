"""What the agents do with what cannot be taken in just now."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
import pytest
from cryptography.fernet import Fernet

from contracts.alert_records import AlertTrigger
from contracts.deliveries import AttemptOutcome, Delivery, DeliveryAttempt, WebhookTarget
from contracts.early import TriggerPhase
from contracts.errors import MisconfiguredError
from contracts.records import DeadLetter, decode, encode
from contracts.secrets import SecretBox
from contracts.webhooks import EventName
from streams.common.app import Event
from streams.common.dead_letters import UNEXPECTED
from streams.common.guard import DeadLetterSender, Guard
from streams.common.retry import RetryPolicy
from streams.webhooks.directory import Directory
from streams.webhooks.intake import DeliveryIntake, FanOut, StatusKeeper
from streams.webhooks.status import SwitchOffRules
from tests.records import OWNER, alert, recognition
from tests.unit.streams.common.fakes import FakeApp, FakeTopic, event
from tests.unit.streams.webhooks.builders import BOX, WEBHOOK, delivery, webhook


async def _none(key: bytes | None, value: bytes) -> None:
    raise AssertionError("nothing is to be dead-lettered")


def _guard(app: FakeApp, send: DeadLetterSender = _none) -> Guard:
    return Guard(
        app.as_app(),
        stage="webhooks",
        send_dead_letter=send,
        retry=RetryPolicy(),
        dead_letters_per_minute=2,
        max_dead_letter_bytes=1_000,
    )


def _attempt(started_ms: int) -> DeliveryAttempt:
    return DeliveryAttempt(
        id=WEBHOOK,
        delivery=delivery(1),
        number=1,
        started_ms=started_ms,
        duration_ms=1,
        outcome=AttemptOutcome.RETRYING,
        status=503,
    )


async def test_a_delivery_that_cannot_be_taken_is_put_aside_and_the_next_one_is_taken() -> None:
    app, offered = FakeApp(), list[Delivery]()
    letters: list[DeadLetter] = []

    async def send(key: bytes | None, value: bytes) -> None:
        letters.append(decode(DeadLetter, value))

    async def offer(taken: Delivery, _: Event) -> None:
        if taken == delivery(2):
            raise KeyError("a fault of ours")
        offered.append(taken)

    intake = DeliveryIntake(_guard(app, send), offer)
    for offset, value in enumerate([None, encode(delivery(2)), encode(delivery(3))]):
        await intake.take(event(offset, value))

    assert offered == [delivery(3)]
    assert [(letter.offset, letter.code) for letter in letters] == [
        (0, "unreadable_record"),
        (1, UNEXPECTED),
    ]
    # What was taken is acknowledged by who tries it.
    assert app.released == [0, 1]


@pytest.mark.parametrize("is_earlier_done", [False, True])
async def test_an_attempt_does_not_overtake_one_that_was_given_up(is_earlier_done: bool) -> None:
    app, directory = FakeApp(), Directory(BOX)
    guard = _guard(app)
    rules = SwitchOffRules(failures=20, over_ms=86_400_000)
    keeper = StatusKeeper(guard, directory, FakeTopic().as_topic(), rules)
    earlier, later = event(7), event(8)
    app.deliver(earlier, later)
    if is_earlier_done:
        app.release(earlier)

    async def take(events: Any) -> None:
        await keeper.take([(one, _attempt(5)) for one in events])

    await guard.run_batch([later], take)

    assert (directory.status(WEBHOOK) is not None) is is_earlier_done
    assert (8 in app.released) is is_earlier_done


async def test_webhooks_are_told_of_an_alert_whose_addresses_cannot_be_read() -> None:
    published: list[Delivery] = []

    async def publish(deliveries: Sequence[Delivery]) -> None:
        published.extend(deliveries)

    directory = Directory(BOX)
    directory.take_webhooks([(WEBHOOK, webhook())])
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
    told = [(event(number), trigger) for number, trigger in enumerate(triggers)]
    for one, _ in told:
        one.message.timestamp = 1_800_000_000.0
    fan_out = FanOut(directory, BOX, publish)

    with pytest.raises(MisconfiguredError):
        await fan_out.triggers(told)
    # The guard finds out which one is at fault: nothing is published twice for it.
    assert published == []
    with pytest.raises(MisconfiguredError):
        await fan_out.triggers(told[1:])
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
async def test_which_subscription_hears_of_a_phase(phase: TriggerPhase, wanted: EventName) -> None:
    published: list[Delivery] = []

    async def publish(deliveries: Sequence[Delivery]) -> None:
        published.extend(deliveries)

    directory = Directory(BOX)
    by_event = {name: UUID(int=number) for number, name in enumerate(EventName)}
    for name, identifier in by_event.items():
        config = msgspec.structs.replace(webhook(), webhook_id=identifier, events=(name,))
        directory.take_webhooks([(identifier, config)])
    trigger = AlertTrigger(
        id=recognition(1).id,
        owner_id=OWNER,
        alert=alert(1, notifications_encrypted=BOX.encrypt("[]")),
        recognition=recognition(1),
        decided_ms=1,
        phase=phase,
    )
    told = event(1)
    told.message.timestamp = 1_800_000_000.0
    await FanOut(directory, BOX, publish).triggers([(told, trigger)])
    assert [one.target for one in published] == [WebhookTarget(webhook_id=by_event[wanted])]
