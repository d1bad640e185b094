"""Enables tracing in a process, if configured."""

import atexit
from collections.abc import Callable
from importlib.metadata import version

from prometheus_client import CollectorRegistry

from common.metrics import counter
from common.telemetry.settings import TraceSettings
from common.telemetry.tracing import use_tracer

_stop: Callable[[], None] | None = None


def start_tracing(settings: TraceSettings, process: str, registry: CollectorRegistry) -> None:
    """Start tracing if an endpoint is configured. ``process`` is the name of this process.

    When the process exits, it sends queued spans for at most a second; all other spans are lost.
    """
    global _stop
    if not settings.traces_endpoint:
        return
    # Imported here because the import takes 0.4 s of CPU time and 16 MiB.
    from common.telemetry.otlp import otlp_provider

    provider = otlp_provider(
        settings.traces_endpoint,
        process=process,
        version=version("platestream"),
        spans=counter("platestream_traces_spans_total", registry),
    )
    use_tracer(provider.get_tracer("platestream"), settings.traces_sample_ratio)
    _stop = provider.shutdown
    atexit.register(stop_tracing)


def stop_tracing() -> None:
    """Stop tracing and send queued spans, in processes that exit without Python's finalisation."""
    global _stop
    stop, _stop = _stop, None
    if stop is not None:
        use_tracer(None)
        stop()
