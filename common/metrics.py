"""Prometheus' objects of the metrics in the catalogue."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from common.metric_catalogue import Metric, MetricKind, described
from common.metric_names import MetricName


def counter(name: MetricName, registry: CollectorRegistry) -> Counter:
    """Return a counter with the labels that are described."""
    metric = _described(name, MetricKind.COUNTER)
    return Counter(metric.name, metric.rise, metric.labels, registry=registry)


def gauge(name: MetricName, registry: CollectorRegistry) -> Gauge:
    """Return a gauge with the labels that are described."""
    metric = _described(name, MetricKind.GAUGE)
    return Gauge(metric.name, metric.rise, metric.labels, registry=registry)


def histogram(
    name: MetricName, registry: CollectorRegistry, *, buckets: Sequence[float]
) -> Histogram:
    """Return a histogram; ``buckets`` are upper bounds in the unit that is described."""
    metric = _described(name, MetricKind.HISTOGRAM)
    return Histogram(metric.name, metric.rise, metric.labels, registry=registry, buckets=buckets)


def _described(name: MetricName, kind: MetricKind) -> Metric:
    metric = described(name)
    assert metric.kind is kind, f"{name} is a {metric.kind}"
    return metric
