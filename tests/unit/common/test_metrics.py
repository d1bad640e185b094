"""Every metric name is described, once."""

from typing import get_args

import pytest
from prometheus_client import CollectorRegistry

from common.metric_catalogue import METRICS, MetricKind
from common.metric_names import MetricName
from common.metrics import counter, gauge, histogram


def test_every_name_is_described_once() -> None:
    assert sorted(metric.name for metric in METRICS) == sorted(get_args(MetricName))


def test_counters_are_named_as_prometheus_asks() -> None:
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name


def test_instruments_are_named_and_labelled_as_described() -> None:
    registry = CollectorRegistry()

    counter("platestream_ingest_frames_dropped_total", registry).labels("slow").inc()
    gauge("platestream_webhooks_pending_deliveries", registry).set(3)
    histogram("platestream_webhooks_attempt_seconds", registry, buckets=(1.0,)).observe(0.5)

    value = registry.get_sample_value
    assert value("platestream_ingest_frames_dropped_total", {"reason": "slow"}) == 1
    assert value("platestream_webhooks_pending_deliveries") == 3
    assert value("platestream_webhooks_attempt_seconds_bucket", {"le": "1.0"}) == 1


def test_a_metric_is_made_as_what_it_is() -> None:
    with pytest.raises(AssertionError, match="is a gauge"):
        counter("platestream_ingest_waiting_bytes", CollectorRegistry())
