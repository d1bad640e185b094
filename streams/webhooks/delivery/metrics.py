"""Prometheus metrics of deliveries."""

from prometheus_client import CollectorRegistry

from common.metrics import counter, gauge, histogram
from common.records.deliveries import (
    AppriseTarget,
    AttemptOutcome,
    Delivery,
    DeliveryAttempt,
    DeliveryCause,
    EmailTarget,
)

_ATTEMPT_BUCKETS_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_AGE_BUCKETS_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 10.0, 60.0, 3600.0, 86_400.0)


class DeliveryMetrics:
    """The metrics of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Register the metrics in ``registry``, or in a new registry."""
        registry = registry or CollectorRegistry()
        self._attempts = counter("platestream_webhooks_attempts_total", registry)
        self._held_back = counter("platestream_webhooks_rate_limited_total", registry)
        self._seconds = histogram(
            "platestream_webhooks_attempt_seconds", registry, buckets=_ATTEMPT_BUCKETS_SECONDS
        )
        self._age = histogram(
            "platestream_webhooks_event_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )
        self._pending = gauge("platestream_webhooks_pending_deliveries", registry)
        self._waiting = gauge("platestream_webhooks_queued_deliveries", registry)

    def attempted(self, attempt: DeliveryAttempt, now_ms: int, *, is_held_back: bool) -> None:
        """Count an attempt that has just ended, and record its duration.

        ``is_held_back``: an hourly limit prevented sending.
        """
        delivery, outcome = attempt.delivery, attempt.outcome
        self._attempts.labels(_channel(delivery), outcome.value).inc()
        if is_held_back:
            self._held_back.labels(_channel(delivery)).inc()
        self._seconds.observe(attempt.duration_ms / 1000)
        if outcome is AttemptOutcome.DELIVERED and delivery.cause is DeliveryCause.EVENT:
            self._age.observe(max(0, now_ms - delivery.created_ms) / 1000)

    def show(self, *, pending: int, waiting: int) -> None:
        """Set the numbers of deliveries that wait for a retry and for their turn."""
        self._pending.set(pending)
        self._waiting.set(waiting)


def _channel(delivery: Delivery) -> str:
    match delivery.target:
        case EmailTarget():
            return "email"
        case AppriseTarget():
            return "apprise"
        case _:
            return "http"
