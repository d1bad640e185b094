"""Every metric name is described."""

import re
from pathlib import Path
from uuid import UUID

from prometheus_client import CollectorRegistry

from api.middleware.request_context import MetricName as ApiMetricName
from common.metrics import (
    METRICS,
    OTHER_CAMERAS,
    CameraLabels,
    MetricKind,
    counter,
    gauge,
    histogram,
)

ROOT = Path(__file__).parents[3]
ROOMS = ("analytics_sql", "api", "common", "ingest", "recognition", "streams")
NAME = re.compile(
    r'"(platestream_(?:ingest|stream|recognition|webhooks|alerts|mqtt|relay|traces|api)_\w+)"'
)


def test_every_name_that_is_used_is_described() -> None:
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    texts = [path.read_text() for path in paths]
    used = {name for text in texts for name in NAME.findall(text)}

    assert METRICS.keys() <= used
    assert used - METRICS.keys() <= set(ApiMetricName)


def test_counters_are_named_as_prometheus_asks() -> None:
    for metric in METRICS.values():
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


def test_camera_labels_are_limited_and_unused_ones_are_reused() -> None:
    seconds, dropped = 0.0, list[str]()
    labels = CameraLabels(2, dropped.append, lambda: seconds)
    one, two, three = (UUID(int=number) for number in (1, 2, 3))
    assert [labels.of(each) for each in (one, two, three)] == [str(one), str(two), OTHER_CAMERAS]
    seconds += 3599
    assert (labels.of(one), labels.of(three)) == (str(one), OTHER_CAMERAS)
    seconds += 1
    assert (labels.of(three), labels.of(two)) == (str(three), OTHER_CAMERAS)
    labels.drop(one)
    labels.drop(one)
    assert labels.of(two) == str(two)
    assert dropped == [str(two), str(one)]
    assert CameraLabels(0, dropped.append).of(one) == OTHER_CAMERAS
