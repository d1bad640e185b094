"""Defines limits that several processes apply, and the metric of accounts close to a limit."""

import time
from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

from cachetools import TTLCache
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from pydantic import Field

from common.metrics import METRICS
from common.settings import Fragment

NEAR_RATIO: Final = 0.8
"""Fraction of a limit above which an account appears in the metrics."""

ALERT_DESTINATIONS: Final = 100
"""Maximum number of an account's alert deliveries per recognition and webhooks worker."""

_NEAR_SECONDS = 600.0
_NEAR_OWNERS = 200


class DeliveryLimitSettings(Fragment):
    """Default limits on the deliveries of an account."""

    deliveries_per_minute_per_owner: int = Field(
        3000,
        ge=1,
        description="Maximum number of deliveries per account for events that occur within one "
        "minute, per webhooks worker. The rest are recorded as not sent.",
    )


class LimitUsageGauge(Collector):
    """Reports accounts close to a limit, with the fraction used. Each expires after ten minutes."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        """``name`` is the name of the gauge. ``clock`` is monotonic, in seconds."""
        self._name = name
        self._near: TTLCache[tuple[UUID, str], float] = TTLCache(_NEAR_OWNERS, _NEAR_SECONDS, clock)

    def record(self, limit: str, owner_id: UUID, used: float, size: int) -> None:
        """Record how much of a limit of ``size`` an account uses."""
        ratio = used / size if size else 1.0
        if ratio >= NEAR_RATIO:
            self._near[owner_id, limit] = min(ratio, 1.0)
        else:
            self._near.pop((owner_id, limit), None)

    def record_peak(self, limit: str, owner_id: UUID, used: float, size: int) -> None:
        """Record peak use of a limit of ``size``, for bursts. Lower values have no effect."""
        known = self._near.get((owner_id, limit), 0.0)
        if used >= max(NEAR_RATIO, known) * size:
            self.record(limit, owner_id, used, size)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauge of accounts close to a limit."""
        metric = METRICS[self._name]
        family = GaugeMetricFamily(metric.name, metric.rise, labels=metric.labels)
        for (owner_id, limit), ratio in list(self._near.items()):
            family.add_metric((str(owner_id), limit), ratio)
        yield family
