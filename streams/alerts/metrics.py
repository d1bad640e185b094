"""Prometheus metrics of the alerts stage."""

from prometheus_client import CollectorRegistry

from common.alerting.cooldown import CandidateOutcome
from common.metrics import counter, gauge, histogram

_AGE_BUCKETS_SECONDS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 20.0, 60.0)


class AlertMetrics:
    """The counters of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Make the metrics in ``registry``, or in one of their own."""
        registry = registry or CollectorRegistry()
        self._rules = gauge("platestream_alerts_rules", registry)
        self._faults = counter("platestream_alerts_rule_faults_total", registry)
        self._recognitions = counter("platestream_alerts_recognitions_total", registry)
        self._decisions = counter("platestream_alerts_decisions_total", registry)
        self._age = histogram(
            "platestream_alerts_trigger_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )
        self._cooldowns = gauge("platestream_alerts_cooldowns", registry)

    def rules_known(self, count: int) -> None:
        """Set the number of rules."""
        self._rules.set(count)

    def rule_fault(self) -> None:
        """Count a rule that cannot be evaluated."""
        self._faults.inc()

    def recognitions_matched(self, count: int) -> None:
        """Count recognitions that were matched with the rules."""
        self._recognitions.inc(count)

    def candidate_decided(self, outcome: CandidateOutcome) -> None:
        """Count a candidate."""
        self._decisions.labels(outcome.value).inc()

    def trigger_published(self, age_ms: int) -> None:
        """Note the age of a recognition on its topic when its alert was on its own."""
        self._age.observe(max(0, age_ms) / 1000)

    def cooldowns_kept(self, count: int) -> None:
        """Set the number of cooldowns in the table."""
        self._cooldowns.set(count)
