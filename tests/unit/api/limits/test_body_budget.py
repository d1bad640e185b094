"""Bytes of request bodies that are in memory at the same time."""

from collections import Counter
from contextlib import ExitStack

import pytest

from api.errors import ApiError, ErrorCode
from api.limits.body_budget import BodyBounds, BodyBudget
from tests.unit.api.callers import caller, endless_limits

MIB = 1 << 20
BOUNDS = BodyBounds(in_all=10 * MIB, public=4 * MIB, per_address=3 * MIB)


def budget(mebibytes: int = 100, bounds: BodyBounds = BOUNDS) -> BodyBudget:
    """Return a budget with this many MiB per account."""
    return BodyBudget(bounds, endless_limits(body_mebibytes=mebibytes))


def test_what_a_call_holds_is_given_back() -> None:
    bodies = budget()
    with bodies.for_caller(caller("key"), 7) as share:
        assert bodies.held_bytes == 7
        # The announced size was too large. A body cannot grow beyond its reservation.
        share.resize(4)
        share.resize(9)
        assert bodies.held_bytes == 4
    assert bodies.held_bytes == 0

    with pytest.raises(ZeroDivisionError), bodies.for_address("192.0.2.1", 5):
        raise ZeroDivisionError
    assert bodies.held_bytes == 0


def test_all_together_have_a_bound() -> None:
    bodies = budget()
    with bodies.for_caller(caller("one"), 5 * MIB), bodies.for_caller(caller("other"), 2 * MIB):
        with pytest.raises(ApiError) as refused:
            bodies.for_caller(caller("third"), 3 * MIB)
        assert refused.value.code is ErrorCode.SERVICE_BUSY
        assert refused.value.retry_after_seconds
        # Rejected bytes do not count.
        with bodies.for_caller(caller("third"), MIB):
            assert bodies.held_bytes == 8 * MIB


def test_few_who_take_all_that_they_can_leave_room_for_others() -> None:
    bodies, held = budget(bounds=BodyBounds(256 * MIB, 64 * MIB, 32 * MIB)), Counter[str]()
    with ExitStack() as stack:
        for _ in range(30):
            for name in "abcdefghij":
                try:
                    stack.enter_context(bodies.for_caller(caller(name), 10 * MIB))
                except ApiError as error:
                    assert error.code is ErrorCode.SERVICE_BUSY
                else:
                    held[name] += 1
        assert len(held) == 10
        assert max(held.values()) == 3
        for newcomer in "kl":
            stack.enter_context(bodies.for_caller(caller(newcomer), 10 * MIB))


def test_who_holds_more_than_is_left_still_sends_what_is_little() -> None:
    bodies = budget()
    with bodies.for_caller(caller("one"), 5 * MIB), bodies.for_caller(caller("other"), 2 * MIB):
        with pytest.raises(ApiError):
            bodies.for_caller(caller("one"), 1)
        with bodies.for_caller(caller("one"), 0):
            assert bodies.held_bytes == 7 * MIB


def test_an_owner_with_many_keys_has_a_bound() -> None:
    bodies = budget(mebibytes=2)
    first, second = caller("first", "owner"), caller("second", "owner")
    with bodies.for_caller(first, 2 * MIB):
        with pytest.raises(
            ApiError, match="limit of 2 MiB of concurrent request bodies"
        ) as refused:
            bodies.for_caller(second, 1)
        assert refused.value.code is ErrorCode.RATE_LIMITED
        with bodies.for_caller(caller("a stranger's"), 2 * MIB):
            assert bodies.held_bytes == 4 * MIB


def test_callers_without_a_credential_have_a_part() -> None:
    bodies = budget()
    with bodies.for_address("192.0.2.1", 3 * MIB):
        with pytest.raises(ApiError, match="from this address") as refused:
            bodies.for_address("192.0.2.1", 1)
        assert refused.value.code is ErrorCode.RATE_LIMITED
        with pytest.raises(ApiError) as refused:
            bodies.for_address("192.0.2.2", 1 * MIB + 1)
        assert refused.value.code is ErrorCode.SERVICE_BUSY
        with bodies.for_address("192.0.2.2", 1 * MIB), bodies.for_caller(caller("key"), 3 * MIB):
            assert bodies.held_bytes == 7 * MIB
