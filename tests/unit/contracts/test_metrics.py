"""Every metric name is described, once."""

from typing import get_args

from contracts.metrics import METRICS, MetricKind, MetricName


def test_every_name_is_described_once() -> None:
    assert sorted(metric.name for metric in METRICS) == sorted(get_args(MetricName))


def test_counters_are_named_as_prometheus_asks() -> None:
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name
