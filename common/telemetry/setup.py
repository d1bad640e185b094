"""Has a process make traces, where its settings say so."""

import atexit
from collections.abc import Callable
from importlib.metadata import version

from prometheus_client import CollectorRegistry

from common.metrics import counter
from common.telemetry.settings import TraceSettings
from common.telemetry.tracing import use_tracer

_stop: Callable[[], None] | None = None


def start_tracing(settings: TraceSettings, process: str, registry: CollectorRegistry) -> None:
    """Make traces from now on, unless no address is set for them; ``process`` names this one.

    What waits to be sent when the process ends is sent within a second, or lost.
    """
    global _stop
    if not settings.traces_endpoint:
        return
    # Here, as it takes 0.4 s of processor and 16 MiB.
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
    """Make no more traces, and send what waits; for processes that end without Python's own end."""
    global _stop
    stop, _stop = _stop, None
    if stop is not None:
        use_tracer(None)
        stop()
