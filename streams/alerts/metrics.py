"""Prometheus' side of the alerts stage: what is counted."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from alert_rules.cooldown import Outcome
from contracts.metrics import METRICS, Metric, MetricName

_AGE_BUCKETS_SECONDS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 20.0, 60.0)


class AlertMetrics:
    """The counters of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Make the metrics in ``registry``, or in one of their own."""
        registry = registry or CollectorRegistry()
        rules = _metric("platestream_alerts_rules")
        self._rules = Gauge(rules.name, rules.rise, registry=registry)
        faults = _metric("platestream_alerts_rule_faults_total")
        self._faults = Counter(faults.name, faults.rise, registry=registry)
        recognitions = _metric("platestream_alerts_recognitions_total")
        self._recognitions = Counter(recognitions.name, recognitions.rise, registry=registry)
        decisions = _metric("platestream_alerts_decisions_total")
        self._decisions = Counter(
            decisions.name, decisions.rise, decisions.labels, registry=registry
        )
        age = _metric("platestream_alerts_trigger_age_seconds")
        self._age = Histogram(age.name, age.rise, registry=registry, buckets=_AGE_BUCKETS_SECONDS)
        cooldowns = _metric("platestream_alerts_cooldowns")
        self._cooldowns = Gauge(cooldowns.name, cooldowns.rise, registry=registry)

    def rules_known(self, count: int) -> None:
        """Take how many rules there are."""
        self._rules.set(count)

    def rule_fault(self) -> None:
        """Count a rule that cannot be evaluated."""
        self._faults.inc()

    def recognitions_matched(self, count: int) -> None:
        """Count recognitions that were held against the rules."""
        self._recognitions.inc(count)

    def decided(self, outcome: Outcome) -> None:
        """Count a candidate."""
        self._decisions.labels(outcome.value).inc()

    def trigger_published(self, age_ms: int) -> None:
        """Take how old a recognition was, on its topic, when its alert was on its own."""
        self._age.observe(max(0, age_ms) / 1000)

    def cooldowns_remembered(self, count: int) -> None:
        """Take how many cooldowns are remembered."""
        self._cooldowns.set(count)


def _metric(name: MetricName) -> Metric:
    return next(metric for metric in METRICS if metric.name == name)
