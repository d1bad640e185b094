"""Export of spans to a collector: a real HTTP server, or an unavailable one."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from common.metrics import counter
from common.telemetry.otlp import otlp_provider
from common.telemetry.tracing import (
    TraceContext,
    begin_trace,
    fail,
    trace_of,
    traced,
    use_tracer,
    within,
)
from deploy.local.ports import free_ports
from tests.recorded_spans import SOME_TRACE
from tests.services.traces import TraceCollector

pytestmark = pytest.mark.integration


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture(autouse=True)
def _untraced() -> Iterator[None]:
    yield
    use_tracer(None)


def _provider(endpoint: str, registry: CollectorRegistry) -> TracerProvider:
    spans = counter("platestream_traces_spans_total", registry)
    provider = otlp_provider(endpoint, process="testing", version="1.2.3", spans=spans)
    use_tracer(provider.get_tracer("platestream"))
    return provider


@contextmanager
def _closing(endpoint: str, registry: CollectorRegistry) -> Iterator[TracerProvider]:
    provider = _provider(endpoint, registry)
    yield provider
    provider.shutdown()


def _count(registry: CollectorRegistry, outcome: str) -> float | None:
    return registry.get_sample_value("platestream_traces_spans_total", {"outcome": outcome})


def test_spans_come_as_they_were_made(registry: CollectorRegistry) -> None:
    with TraceCollector() as collector, _closing(collector.endpoint, registry) as provider:
        root = begin_trace("capture frame", start_ms=1_700_000_000_000)
        assert root is not None
        with within(root):
            link = TraceContext(f"{7:032x}", f"{7:016x}")
            with traced("ask", SpanKind.CLIENT, {"number": 3}, links=[link]) as inner:
                assert inner is not None
                fail(inner, "TimeoutError")
        provider.force_flush()
        spans = {span.name: span for span in collector.spans}

    assert set(spans) == {"capture frame", "ask"}
    first, ask = spans["capture frame"], spans["ask"]
    assert first.process == "platestream-testing"
    assert first.parent_id == ""
    assert first.trace_id == trace_of(root).trace_id
    assert first.begin_ns == 1_700_000_000_000_000_000 < first.end_ns
    assert (ask.kind, ask.parent_id, ask.trace_id) == ("CLIENT", first.span_id, first.trace_id)
    assert ask.attributes == {"number": "3", "error.type": "TimeoutError"}
    assert ask.is_failed
    assert ask.links == (f"{7:032x}",)
    assert (_count(registry, "created"), _count(registry, "sent")) == (2, 2)


def test_an_unavailable_endpoint_is_logged_once_and_again_when_it_recovers(
    registry: CollectorRegistry,
) -> None:
    (port,) = free_ports(1)
    endpoint = f"http://127.0.0.1:{port}/v1/traces"
    with _closing(endpoint, registry) as provider, capture_logs() as logs:
        for _ in range(3):
            with traced("frame", parent=SOME_TRACE):
                pass
            provider.force_flush()
        assert _count(registry, "failed") == 3
        with TraceCollector(port) as back:
            with traced("frame", parent=SOME_TRACE):
                pass
            provider.force_flush()
            assert [span.name for span in back.spans] == ["frame"]

    assert [line["event"] for line in logs] == ["trace_export_failed", "trace_export_recovered"]
    assert _count(registry, "sent") == 1


def test_a_silent_endpoint_delays_no_caller(registry: CollectorRegistry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        provider = _provider(f"http://127.0.0.1:{mute.getsockname()[1]}/v1/traces", registry)
        began = time.monotonic()
        for _ in range(20_000):
            with traced("frame", parent=SOME_TRACE):
                pass
        made = time.monotonic() - began
        began_close = time.monotonic()
        provider.shutdown()
        closed = time.monotonic() - began_close

    assert _count(registry, "created") == 20_000
    # The collector blocks the exporter for five seconds, but neither the callers nor the shutdown.
    assert made < 60
    assert closed < 4
