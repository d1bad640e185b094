"""Limits of one account."""

import pytest
from prometheus_client import CollectorRegistry

from api.errors import ApiError, ErrorCode
from api.limits.owner_limits import OwnerLimit, OwnerLimits, installation_limits
from api.settings import OwnerLimitSettings
from common.settings import load_settings
from tests.unit.api.callers import endless_limits, named_id

OWNER = named_id("owner")


def shown(limits: OwnerLimits) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(limits)
    return {
        sample.labels["limit"]: sample.value
        for family in registry.collect()
        for sample in family.samples
    }


def test_each_limit_has_a_setting_and_a_sentence() -> None:
    limits = OwnerLimits(installation_limits(load_settings(OwnerLimitSettings)))
    for limit in OwnerLimit:
        size = limits.size(limit, {})
        limits.require(limit, OWNER, {}, size)
        with pytest.raises(ApiError, match=f"its limit of {size:,} "):
            limits.require(limit, OWNER, {}, size + 1)


def test_an_own_limit_goes_before_the_installations_where_it_can_be_adjusted() -> None:
    limits = endless_limits(cameras=2, people=2)
    with pytest.raises(ApiError) as refused:
        limits.require(OwnerLimit.CAMERAS, OWNER, {}, 3)
    assert refused.value.code is ErrorCode.LIMIT_REACHED

    limits.require(OwnerLimit.CAMERAS, OWNER, {"cameras": 3}, 3)
    limits.require(OwnerLimit.CAMERAS, OWNER, {"alerts": 1}, 2)
    with pytest.raises(ApiError):
        limits.require(OwnerLimit.PEOPLE, OWNER, {"people": 3}, 3)


def test_an_owner_near_a_limit_is_shown_for_ten_minutes() -> None:
    now = 0.0
    limits = OwnerLimits(dict.fromkeys(OwnerLimit, 10), lambda: now)
    limits.require(OwnerLimit.ALERTS, OWNER, {}, 7)
    limits.require(OwnerLimit.CAMERAS, OWNER, {}, 8)
    with pytest.raises(ApiError):
        limits.require(OwnerLimit.WEBHOOKS, OWNER, {}, 11)
    assert shown(limits) == {"cameras": 0.8, "webhooks": 1.0}

    limits.require(OwnerLimit.CAMERAS, OWNER, {}, 1)
    assert shown(limits) == {"webhooks": 1.0}
    now = 601.0
    assert shown(limits) == {}
