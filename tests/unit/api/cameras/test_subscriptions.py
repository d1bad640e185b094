"""Refunds and renewals of camera subscriptions."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.cameras.repository import PERIOD, Subscription, renewed

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("credits", "left", "unused"),
    [
        (30, PERIOD, 30),
        (30, PERIOD - SECOND, 29),
        (30, timedelta(days=15), 15),
        (31, timedelta(days=15), 15),
        (30, timedelta(days=1), 1),
        (30, timedelta(days=1) - SECOND, 0),
        (1, PERIOD - SECOND, 0),
        (30, timedelta(0), 0),
        (30, -SECOND, 0),
        (0, PERIOD, 0),
        (30, 2 * PERIOD, 30),
        (10**15, timedelta(days=10), 10**15 // 3),
    ],
)
def test_the_unused_share_is_rounded_down(credits: int, left: timedelta, unused: int) -> None:
    assert Subscription(credits, NOW + left).unused_credits(NOW) == unused


def test_nothing_is_refunded_of_what_was_never_paid() -> None:
    assert Subscription().unused_credits(NOW) == 0
    assert not Subscription().is_paid(NOW)


@given(st.integers(0, 10**12), st.timedeltas(-PERIOD, 2 * PERIOD))
def test_a_refund_is_never_more_than_was_paid_and_never_negative(
    credits: int, left: timedelta
) -> None:
    assert 0 <= Subscription(credits, NOW + left).unused_credits(NOW) <= credits


@pytest.mark.parametrize(
    ("ended", "paid_until"),
    [
        (None, NOW + PERIOD),
        (NOW, NOW + PERIOD),
        (NOW - timedelta(days=2), NOW - timedelta(days=2) + PERIOD),
        # The camera was disabled for a long time, which is not charged.
        (NOW - PERIOD, NOW + PERIOD),
        (NOW - 5 * PERIOD, NOW + PERIOD),
    ],
)
def test_a_renewed_subscription_is_paid_for_its_next_period(
    ended: datetime | None, paid_until: datetime
) -> None:
    assert renewed(Subscription(7, ended), 9, NOW) == Subscription(9, paid_until)
