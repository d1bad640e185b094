"""Bytes of request bodies that are held at once."""

import pytest

from api.errors import ApiError, ErrorCode
from api.limits.body_budget import BodyBounds, BodyBudget
from tests.unit.api.callers import caller, endless_limits

MIB = 1 << 20
BOUNDS = BodyBounds(in_all=10 * MIB, public=4 * MIB, per_address=3 * MIB)


def budget(mebibytes: int = 100) -> BodyBudget:
    """Return a budget with so much for an owner."""
    return BodyBudget(BOUNDS, endless_limits(body_mebibytes=mebibytes))


def test_what_a_call_holds_is_given_back() -> None:
    bodies = budget()
    with bodies.of_caller(caller("key")) as share:
        share.add(3)
        share.add(4)
        assert bodies.held_bytes == 7
    assert bodies.held_bytes == 0

    with pytest.raises(ZeroDivisionError), bodies.of_address("192.0.2.1") as share:
        share.add(5)
        raise ZeroDivisionError
    assert bodies.held_bytes == 0


def test_all_together_have_a_bound() -> None:
    bodies = budget()
    with bodies.of_caller(caller("one")) as one, bodies.of_caller(caller("other")) as other:
        one.add(6 * MIB)
        with pytest.raises(ApiError) as refused:
            other.add(4 * MIB + 1)
        assert refused.value.code is ErrorCode.SERVICE_BUSY
        assert refused.value.retry_after_seconds
        # What was refused is not held.
        other.add(4 * MIB)


def test_an_owner_with_many_keys_has_a_bound() -> None:
    bodies = budget(mebibytes=2)
    first, second = caller("first", "owner"), caller("second", "owner")
    with bodies.of_caller(first) as one, bodies.of_caller(second) as other:
        one.add(2 * MIB)
        with pytest.raises(ApiError, match="limit of 2 MiB of request bodies at once") as refused:
            other.add(1)
        assert refused.value.code is ErrorCode.RATE_LIMITED
        with bodies.of_caller(caller("a stranger's")) as share:
            share.add(2 * MIB)
    larger = caller("first", "owner", {"body_mebibytes": 3})
    with bodies.of_caller(larger) as one:
        one.add(3 * MIB)


def test_callers_without_a_credential_have_a_part() -> None:
    bodies = budget()
    with bodies.of_address("192.0.2.1") as one, bodies.of_address("192.0.2.2") as other:
        one.add(3 * MIB)
        with pytest.raises(ApiError, match="from this address") as refused:
            one.add(1)
        assert refused.value.code is ErrorCode.RATE_LIMITED
        with pytest.raises(ApiError) as refused:
            other.add(1 * MIB + 1)
        assert refused.value.code is ErrorCode.SERVICE_BUSY
        other.add(1 * MIB)
        with bodies.of_caller(caller("key")) as share:
            share.add(6 * MIB)
