"""Defines the limits of accounts, and checks and reports how much of a limit is used."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from api.errors import ApiError, ErrorCode
from api.settings import OwnerLimitSettings
from common.owner_limits import ALERT_DESTINATIONS, LimitUsageGauge


class LimitedCaller(Protocol):
    """A caller whose requests are counted. The actual class belongs to a higher layer."""

    @property
    def owner_id(self) -> UUID:
        """ID of the account."""

    @property
    def credential_id(self) -> UUID:
        """ID of the API key or session."""

    @property
    def limits(self) -> Mapping[str, int]:
        """The account's own limits, by name."""


class OwnerLimit(StrEnum):
    """The limits of an account, with their public names."""

    CAMERAS = "cameras"
    FRAMES_PER_SECOND = "frames_per_second"
    ALERTS = "alerts"
    WEBHOOKS = "webhooks"
    API_KEYS = "api_keys"
    PEOPLE = "people"
    STREAMS = "streams"
    REPLAYS = "replays"
    REQUESTS_PER_MINUTE = "requests_per_minute"
    IMAGE_CALLS_PER_MINUTE = "image_calls_per_minute"
    PICTURES_PER_MINUTE = "pictures_per_minute"
    IMAGE_CALLS_AT_ONCE = "image_calls_at_once"
    BODY_MEBIBYTES = "body_mebibytes"
    EXPORTS_PER_MINUTE = "exports_per_minute"
    EXPORTS_AT_ONCE = "exports_at_once"
    DELIVERIES_PER_MINUTE = "deliveries_per_minute"
    ALERT_DESTINATIONS = "alert_destinations"
    RULE_COST = "rule_cost"


@dataclass(frozen=True)
class _Rule:
    """The unit, the size (None if a setting defines the size) and the error of a limit."""

    unit: str
    size: int | None = None
    code: ErrorCode = ErrorCode.LIMIT_REACHED
    retry_after_seconds: int | None = None


_RATE = ErrorCode.RATE_LIMITED
_RULES: Mapping[OwnerLimit, _Rule] = {
    OwnerLimit.CAMERAS: _Rule("cameras"),
    OwnerLimit.FRAMES_PER_SECOND: _Rule("frames per second (the sum of sampleFps of its cameras)"),
    OwnerLimit.ALERTS: _Rule("alerts", 200),
    OwnerLimit.WEBHOOKS: _Rule("webhooks", 50),
    OwnerLimit.API_KEYS: _Rule("API keys", 50),
    OwnerLimit.REQUESTS_PER_MINUTE: _Rule("requests per minute", code=_RATE),
    OwnerLimit.IMAGE_CALLS_PER_MINUTE: _Rule("image calls per minute", code=_RATE),
    OwnerLimit.DELIVERIES_PER_MINUTE: _Rule("deliveries per minute", code=_RATE),
    OwnerLimit.PEOPLE: _Rule("people, including pending invitations", 100),
    OwnerLimit.REPLAYS: _Rule("pending replays", 5, _RATE, 10),
    OwnerLimit.PICTURES_PER_MINUTE: _Rule("image downloads per minute", 12_000, _RATE),
    OwnerLimit.EXPORTS_PER_MINUTE: _Rule("exports per minute", 30, _RATE),
    # The following limits apply per API process.
    OwnerLimit.STREAMS: _Rule("open event streams", 100, ErrorCode.TOO_MANY_STREAMS, 5),
    OwnerLimit.IMAGE_CALLS_AT_ONCE: _Rule("concurrent image calls", 200, _RATE, 1),
    OwnerLimit.BODY_MEBIBYTES: _Rule("MiB of concurrent request bodies", 64, _RATE, 2),
    OwnerLimit.EXPORTS_AT_ONCE: _Rule("concurrent exports", 2, _RATE, 5),
    # The webhooks stage enforces this limit.
    OwnerLimit.ALERT_DESTINATIONS: _Rule(
        "alert deliveries per recognition", ALERT_DESTINATIONS, _RATE
    ),
    # A unit is a microsecond of CPU time for the worst plate.
    OwnerLimit.RULE_COST: _Rule(
        "units of rule cost (wildcards and tolerances in alert lists)", 100_000
    ),
}

ADJUSTABLE = tuple(_RULES)[:8]
"""The limits that can be set per account (``platestream owner limits``)."""


def installation_limits(settings: OwnerLimitSettings) -> Mapping[OwnerLimit, int]:
    """Return the limits of the installation, which apply by default."""
    return {
        limit: rule.size or getattr(settings, f"{limit}_per_owner")
        for limit, rule in _RULES.items()
    }


def limit_error_message(limit: OwnerLimit, size: int) -> str:
    """Return the error message for exceeding a limit of ``size``."""
    return f"The account has reached its limit of {size:,} {_RULES[limit].unit}."


class OwnerLimits(Collector):
    """The limits of all accounts. ``/metrics`` shows accounts near a limit for ten minutes."""

    def __init__(
        self,
        installation: Mapping[OwnerLimit, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``installation`` contains the default limits. ``clock`` returns seconds."""
        self._installation = installation
        self._near = LimitUsageGauge("platestream_api_owner_limit_ratio", clock)
        self._active: Counter[tuple[OwnerLimit, UUID]] = Counter()

    def size(self, limit: OwnerLimit, own: Mapping[str, int]) -> int:
        """Return the size of a limit for an account with the limits ``own``."""
        size = self._installation[limit]
        return own.get(limit, size) if limit in ADJUSTABLE else size

    def require(
        self, limit: OwnerLimit, owner_id: UUID, own: Mapping[str, int], wanted: float
    ) -> None:
        """Require that a total of ``wanted``, including the request, is within the limit.

        Raises:
            ApiError: the total exceeds the limit. The message contains the limit and its size.
        """
        size = self.size(limit, own)
        self.record(limit, owner_id, wanted, size)
        if wanted > size:
            rule = _RULES[limit]
            raise ApiError(
                rule.code,
                limit_error_message(limit, size),
                retry_after_seconds=rule.retry_after_seconds,
            )

    @contextmanager
    def slot(self, limit: OwnerLimit, caller: LimitedCaller) -> Iterator[None]:
        """Count a call of an account as running until the block ends.

        Raises:
            ApiError: 429, the account has too many concurrent calls.
        """
        key = limit, caller.owner_id
        self.require(limit, caller.owner_id, caller.limits, self._active[key] + 1)
        self._active[key] += 1
        try:
            yield
        finally:
            # Subtracting a Counter drops entries that reach zero.
            self._active -= Counter((key,))

    def record(self, limit: OwnerLimit, owner_id: UUID, used: float, size: int) -> None:
        """Record how much of a limit of ``size`` an account uses, for the metrics."""
        self._near.record(limit.value, owner_id, used, size)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauge of accounts near a limit."""
        return self._near.collect()
