"""Limits of one owner: their names, the installation's values, an owner's own, who is near one."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from api.errors import ApiError, ErrorCode
from api.settings import OwnerLimitSettings
from common.owner_limits import NearLimits


class LimitedCaller(Protocol):
    """A caller whose requests are counted; ``limits`` are those of the owner's own."""

    @property
    def owner_id(self) -> UUID:
        """Names the owner."""

    @property
    def credential_id(self) -> UUID:
        """Names the key or the session."""

    @property
    def limits(self) -> Mapping[str, int]:
        """Sizes by name."""


class OwnerLimit(StrEnum):
    """The limits; each name is that of its setting too, with ``_per_owner`` behind it."""

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
class _Refusal:
    """The answer beyond a limit: its code, the limit's unit, and seconds after which to try."""

    code: ErrorCode
    unit: str
    retry_after_seconds: int | None = None


_COUNT = ErrorCode.LIMIT_REACHED

_REFUSALS: Mapping[OwnerLimit, _Refusal] = {
    OwnerLimit.CAMERAS: _Refusal(_COUNT, "cameras"),
    OwnerLimit.FRAMES_PER_SECOND: _Refusal(
        _COUNT, "frames a second (the sum of sampleFps of its cameras)"
    ),
    OwnerLimit.ALERTS: _Refusal(_COUNT, "alerts"),
    OwnerLimit.WEBHOOKS: _Refusal(_COUNT, "webhooks"),
    OwnerLimit.API_KEYS: _Refusal(_COUNT, "API keys"),
    OwnerLimit.PEOPLE: _Refusal(_COUNT, "people, those invited included"),
    OwnerLimit.STREAMS: _Refusal(ErrorCode.TOO_MANY_STREAMS, "open streams", 5),
    OwnerLimit.REPLAYS: _Refusal(ErrorCode.RATE_LIMITED, "replays that wait to be sent", 10),
    OwnerLimit.REQUESTS_PER_MINUTE: _Refusal(ErrorCode.RATE_LIMITED, "requests a minute"),
    OwnerLimit.IMAGE_CALLS_PER_MINUTE: _Refusal(ErrorCode.RATE_LIMITED, "image calls a minute"),
    OwnerLimit.PICTURES_PER_MINUTE: _Refusal(ErrorCode.RATE_LIMITED, "pictures a minute"),
    OwnerLimit.IMAGE_CALLS_AT_ONCE: _Refusal(ErrorCode.RATE_LIMITED, "image calls at once", 1),
    OwnerLimit.BODY_MEBIBYTES: _Refusal(ErrorCode.RATE_LIMITED, "MiB of request bodies at once", 2),
    OwnerLimit.EXPORTS_PER_MINUTE: _Refusal(ErrorCode.RATE_LIMITED, "exports a minute"),
    OwnerLimit.EXPORTS_AT_ONCE: _Refusal(ErrorCode.RATE_LIMITED, "exports at once", 5),
    # These two are held where events are fanned out (streams.webhooks).
    OwnerLimit.DELIVERIES_PER_MINUTE: _Refusal(ErrorCode.RATE_LIMITED, "deliveries a minute"),
    OwnerLimit.ALERT_DESTINATIONS: _Refusal(
        ErrorCode.RATE_LIMITED, "deliveries of alerts for one recognition"
    ),
    OwnerLimit.RULE_COST: _Refusal(
        _COUNT, "units of rule cost (entries of alerts' lists, as far as they are slow to compare)"
    ),
}


def installation_limits(settings: OwnerLimitSettings) -> Mapping[OwnerLimit, int]:
    """Return the limits of owners who have none of their own."""
    return {limit: getattr(settings, f"{limit}_per_owner") for limit in OwnerLimit}


def refusal_sentence(limit: OwnerLimit, size: int) -> str:
    """Return the sentence that refuses what would be beyond a limit of ``size``."""
    return f"The account has reached its limit of {size:,} {_REFUSALS[limit].unit}."


class OwnerLimits(Collector):
    """The limits of all owners; owners near one are in ``/metrics`` for ten minutes."""

    def __init__(
        self,
        installation: Mapping[OwnerLimit, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``installation`` holds for owners without a value of their own; ``clock`` counts s."""
        self._installation = installation
        self._near = NearLimits("platestream_api_owner_limit_ratio", clock)

    def size(self, limit: OwnerLimit, own: Mapping[str, int]) -> int:
        """Return the size of a limit for an owner whose own values are ``own``."""
        return own.get(limit, self._installation[limit])

    def require(
        self, limit: OwnerLimit, owner_id: UUID, own: Mapping[str, int], wanted: float
    ) -> None:
        """Refuse an owner to use ``wanted`` of a limit in all, what is asked for included.

        Raises:
            ApiError: it is beyond the limit; the sentence names it and its size.
        """
        size = self.size(limit, own)
        self.note(limit, owner_id, wanted, size)
        if wanted > size:
            refusal = _REFUSALS[limit]
            raise ApiError(
                refusal.code,
                refusal_sentence(limit, size),
                retry_after_seconds=refusal.retry_after_seconds,
            )

    def note(self, limit: OwnerLimit, owner_id: UUID, used: float, size: int) -> None:
        """Note how much of a limit of ``size`` an owner uses, for the metrics."""
        self._near.note(limit.value, owner_id, used, size)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauge of the owners who are near a limit."""
        return self._near.collect()
