"""The states of a delivery, and deliveries that are rejected."""

from itertools import product

import pytest

from common.records.codec import DeadLetter, decode, encode
from common.records.deliveries import Delivery
from streams.runtime.app import Event
from streams.runtime.stage_runner import UNEXPECTED
from streams.webhooks.delivery.job import (
    TRANSITIONS,
    DeliveryIntake,
    DeliveryJob,
    DeliveryState,
    ForbiddenTransitionError,
)
from streams.webhooks.delivery.pending import pending_key
from tests.unit.streams.runtime.fakes import FakeApp, event, guard_of
from tests.unit.streams.webhooks.builders import delivery


def _job(state: DeliveryState) -> DeliveryJob:
    made = delivery(1)
    return DeliveryJob(pending_key(made), made, partition=3, state=state)


@pytest.mark.parametrize(
    ("before", "after"), list(product(DeliveryState, DeliveryState)), ids=lambda state: state.name
)
def test_only_a_permitted_state_follows(before: DeliveryState, after: DeliveryState) -> None:
    job = _job(before)
    if after in TRANSITIONS[before]:
        job.enter(after)
        assert job.state is after
        return
    with pytest.raises(ForbiddenTransitionError, match=f"{before.name} -> {after.name}"):
        job.enter(after)
    assert job.state is before


def test_an_attempt_always_ends_in_a_record_and_what_is_over_stays_over() -> None:
    assert TRANSITIONS[DeliveryState.ATTEMPTING] == {DeliveryState.RECORDING}
    assert not TRANSITIONS[DeliveryState.DONE] | TRANSITIONS[DeliveryState.LEFT_TO_REPLAY]
    assert set(TRANSITIONS) == set(DeliveryState)


async def test_a_delivery_that_cannot_be_taken_is_put_aside_and_the_next_one_is_taken() -> None:
    app, offered = FakeApp(), list[Delivery]()
    letters: list[DeadLetter] = []

    async def send(key: bytes | None, value: bytes) -> None:
        letters.append(decode(DeadLetter, value))

    async def offer(taken: Delivery, _: Event) -> None:
        if taken == delivery(2):
            raise KeyError("a fault of ours")
        offered.append(taken)

    intake = DeliveryIntake(guard_of(app, send), offer)
    for offset, value in enumerate([None, encode(delivery(2)), encode(delivery(3))]):
        await intake.take(event(offset, value))

    assert offered == [delivery(3)]
    assert [(letter.offset, letter.code) for letter in letters] == [
        (0, "unreadable_record"),
        (1, UNEXPECTED),
    ]
    # The attempt acknowledges the accepted message.
    assert app.released == [0, 1]
