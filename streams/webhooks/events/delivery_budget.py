"""Limits an account's deliveries per minute, and its alert deliveries per recognition.

Deliveries are counted by the time of their event, so that delayed events after an outage do not
exceed the limit. Each worker counts the deliveries that it has created since it started.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from cachetools import LRUCache

from common.owner_limits import ALERT_DESTINATIONS, DeliveryLimitSettings, LimitUsageGauge
from common.records.deliveries import Delivery

_MINUTE_MS = 60_000
_COUNTS = 20_000


class DeliveryLimit(StrEnum):
    """The limits of an account's deliveries."""

    PER_MINUTE = "deliveries_per_minute"
    ALERT_DESTINATIONS = "alert_destinations"


_SENTENCES: Mapping[DeliveryLimit, str] = {
    DeliveryLimit.PER_MINUTE: "deliveries for events that occur within one minute",
    DeliveryLimit.ALERT_DESTINATIONS: "alert deliveries per recognition",
}


Plan = Callable[[], Delivery]
"""Creates a delivery. Creation encrypts URLs, which takes longer than planning the delivery."""


@dataclass(frozen=True)
class Share:
    """The created deliveries of an event, the first dropped delivery, and the reason."""

    made: tuple[Delivery, ...]
    left_out: Delivery | None = None
    reason: str = ""


class DeliveryBudget:
    """Counts the deliveries of all accounts. Use the budget on one event loop."""

    def __init__(
        self,
        settings: DeliveryLimitSettings,
        own_limits: Callable[[UUID], Mapping[str, int]],
        near: LimitUsageGauge,
    ) -> None:
        """``own_limits`` returns an account's own limits, which override the settings."""
        self._per_minute = settings.deliveries_per_minute_per_owner
        self._own_limits = own_limits
        self._near = near
        self._counts: LRUCache[Hashable, int] = LRUCache(_COUNTS)
        # A repeated event, for example after an outage of Kafka, counts once.
        self._decided: LRUCache[UUID, _Allowance] = LRUCache(_COUNTS)

    def share(self, plans: Sequence[Plan]) -> Share:
        """Create and return the deliveries of one event, within the limits."""
        if not plans:
            return Share(())
        first = plans[0]()
        allowance = self._decided.get(first.event_id)
        if allowance is None:
            allowance = self._decided[first.event_id] = self._allow(first, len(plans))
        count = min(allowance.count, len(plans))
        made = [first] if count else []
        made += [plan() for plan in plans[1:count]]
        if count == len(plans):
            return Share(tuple(made))
        left = len(plans) - count - 1
        others = f" and {left:,} more were" if left else " was"
        reason = (
            f"The account has reached its limit of {allowance.size:,} "
            f"{_SENTENCES[allowance.limit]}; this delivery{others} not sent."
        )
        return Share(tuple(made), plans[count]() if count else first, reason)

    def _allow(self, event: Delivery, wanted: int) -> "_Allowance":
        own, owner = self._own_limits(event.owner_id), event.owner_id
        found = _Allowance(wanted, DeliveryLimit.PER_MINUTE, 0)
        keys = _keys(event)
        for limit, key in keys.items():
            size = ALERT_DESTINATIONS
            if limit is DeliveryLimit.PER_MINUTE:
                size = own.get(limit.value, self._per_minute)
            used = self._counts.get(key, 0)
            self._near.record_peak(limit.value, owner, used + wanted, size)
            if size - used < found.count:
                found = _Allowance(max(0, size - used), limit, size)
        for key in keys.values():
            self._counts[key] = self._counts.get(key, 0) + found.count
        return found


@dataclass(frozen=True)
class _Allowance:
    """The number of deliveries allowed for an event, and the limit that determines it."""

    count: int
    limit: DeliveryLimit
    size: int


def _keys(event: Delivery) -> dict[DeliveryLimit, Hashable]:
    """Return, for each limit, the key under which the deliveries of an event are counted."""
    owner = event.owner_id
    keys: dict[DeliveryLimit, Hashable] = {
        DeliveryLimit.PER_MINUTE: (owner, event.occurred_ms // _MINUTE_MS)
    }
    if event.trigger is not None:
        keys[DeliveryLimit.ALERT_DESTINATIONS] = (owner, event.trigger.recognition.id)
    return keys
