"""OpenTelemetry's SDK: spans leave by OTLP over HTTP, from a thread and a bounded queue.

The only module that imports it; itself imported where traces are made.
"""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final

import structlog
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace import SpanKind as OtelSpanKind
from prometheus_client import Counter

from common.telemetry.tracing import MAX_LINKS, Attributes, Span, SpanKind, TraceContext

log = structlog.get_logger(__name__)
# Each failed try with its trace, and each span for which the queue has no room. What there is to
# say is said here, once.
logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)

_QUEUE_SPANS: Final = 2048
_BATCH_SPANS: Final = 512
_BATCH_MS: Final = 2_000
_EXPORT_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 1.0
_KINDS: Final = {kind: OtelSpanKind[kind.name] for kind in SpanKind}


class _OneSpan:
    """A span of the SDK's, as ours."""

    def __init__(self, span: OtelSpan) -> None:
        self._span = span
        found = span.get_span_context()
        self._context = TraceContext(f"{found.trace_id:032x}", f"{found.span_id:016x}")

    @property
    def context(self) -> TraceContext:
        return self._context

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def fail(self, error_type: str) -> None:
        self._span.set_attribute("error.type", error_type)
        self._span.set_status(StatusCode.ERROR)

    def end(self) -> None:
        if self._span.is_recording():
            self._span.end()


class _CountingProcessor(BatchSpanProcessor):
    """The SDK's queue and thread, with a count of what is put in."""

    def __init__(self, exporter: SpanExporter, spans: Counter) -> None:
        super().__init__(
            exporter,
            max_queue_size=_QUEUE_SPANS,
            schedule_delay_millis=_BATCH_MS,
            max_export_batch_size=_BATCH_SPANS,
        )
        self._made = spans.labels("made")

    def on_end(self, span: ReadableSpan) -> None:
        self._made.inc()
        super().on_end(span)


class TellingExporter(SpanExporter):
    """Counts what another exporter sent, and tells once that it cannot, and that it can again."""

    def __init__(self, inner: SpanExporter, spans: Counter) -> None:
        self._inner = inner
        self._sent = spans.labels("sent")
        self._failed = spans.labels("failed")
        self._is_away = False
        self._close_seconds: float | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; those that cannot be sent are lost. Never raises."""
        if self._is_closed():
            return SpanExportResult.FAILURE
        try:
            result = self._inner.export(spans)
        # The edge of the exporter's thread, which would print what it is.
        except Exception as error:
            log.debug("traces_exporter_failed", error=type(error).__name__)
            result = SpanExportResult.FAILURE
        is_sent = result is SpanExportResult.SUCCESS
        (self._sent if is_sent else self._failed).inc(len(spans))
        if is_sent is self._is_away:
            self._is_away = not is_sent
            self._tell()
        return result

    def close_within(self, seconds: float) -> None:
        """Send for so long yet what waits, and nothing where nobody takes it."""
        self._close_seconds = time.monotonic() + seconds
        if self._is_away:
            self._inner.shutdown()

    def shutdown(self) -> None:
        """Send nothing more."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True: nothing waits here."""
        return True

    def _is_closed(self) -> bool:
        closes = self._close_seconds
        return closes is not None and (self._is_away or time.monotonic() > closes)

    def _tell(self) -> None:
        if self._is_away:
            log.warning("traces_not_sent", reason="PLATESTREAM_TRACES_ENDPOINT does not take them")
        else:
            log.info("traces_sent_again")


class OtlpTracer:
    """Makes spans of this process, and sends them."""

    def __init__(self, endpoint: str, *, process: str, version: str, spans: Counter) -> None:
        """``spans`` counts by outcome: made, sent, failed. The endpoint is not asked yet.

        The standard variables ``OTEL_EXPORTER_OTLP_HEADERS``, ``…_CERTIFICATE`` and
        ``OTEL_RESOURCE_ATTRIBUTES`` have their effect.
        """
        inner = OTLPSpanExporter(endpoint, timeout=_EXPORT_SECONDS, compression=Compression.Gzip)
        self._exporter = TellingExporter(inner, spans)
        self._provider = TracerProvider(
            resource=Resource.create(
                {
                    "service.namespace": "platestream",
                    "service.name": f"platestream-{process}",
                    "service.version": version,
                }
            ),
            # What is sampled was decided before.
            sampler=ALWAYS_ON,
            span_limits=SpanLimits(
                max_attributes=32, max_links=MAX_LINKS, max_attribute_length=256
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(_CountingProcessor(self._exporter, spans))
        self._tracer = self._provider.get_tracer("platestream", version)
        self._closing, self._closed = threading.Event(), threading.Event()
        # Begun now: at the end of a process there can be none, and the SDK waits too long.
        threading.Thread(target=self._close, name="traces-end", daemon=True).start()

    def start(
        self,
        name: str,
        kind: SpanKind,
        parent: TraceContext | None,
        attributes: Attributes,
        links: Sequence[TraceContext],
        start_ns: int | None,
    ) -> Span:
        """Begin a span; without a parent it begins a trace."""
        # Not the SDK's own current span, which belongs to nobody here.
        context = set_span_in_context(NonRecordingSpan(_span_context(parent)))
        span = self._tracer.start_span(
            name,
            context,
            _KINDS[kind],
            attributes,
            [Link(_span_context(link)) for link in links],
            start_ns,
        )
        return _OneSpan(span)

    def flush(self) -> None:
        """Send what waits now."""
        self._provider.force_flush()

    def close(self) -> None:
        """Send what waits, within a second; what is left is lost."""
        self._exporter.close_within(_CLOSE_SECONDS)
        self._closing.set()
        self._closed.wait(_CLOSE_SECONDS)

    def _close(self) -> None:
        self._closing.wait()
        self._provider.shutdown()
        self._closed.set()


def _span_context(trace: TraceContext | None) -> SpanContext:
    if trace is None:
        return SpanContext(0, 0, is_remote=False)
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace.trace_id, 16), int(trace.span_id, 16), True, flags)
