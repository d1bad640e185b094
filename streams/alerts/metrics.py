"""Prometheus metrics of the alerts stage."""

from prometheus_client import CollectorRegistry

from common.metrics import counter, gauge, histogram

_AGE_BUCKETS_SECONDS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 20.0, 60.0)


class AlertMetrics:
    """The metrics of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Register the metrics in ``registry``, or in a new registry."""
        registry = registry or CollectorRegistry()
        self.rules = gauge("platestream_alerts_rules", registry)
        self.rule_faults = counter("platestream_alerts_invalid_rules_total", registry)
        self.recognitions = counter("platestream_alerts_recognitions_total", registry)
        self.decisions = counter("platestream_alerts_decisions_total", registry)
        self.cooldowns = gauge("platestream_alerts_cooldowns", registry)
        self.trigger_age = histogram(
            "platestream_alerts_trigger_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )
        """Time from a recognition's publication to the publication of its alert."""
