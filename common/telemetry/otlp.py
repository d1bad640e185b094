"""Exports spans over OTLP/HTTP with OpenTelemetry's SDK, in a thread with a bounded queue.

This module is only imported if tracing is enabled.
"""

import logging
from collections.abc import Sequence
from typing import Final

import structlog
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from prometheus_client import Counter

from common.telemetry.tracing import MAX_LINKS

log = structlog.get_logger(__name__)
# The SDK logs a traceback for each failed attempt, and a line for each span that does not fit into
# the queue. We log one line instead.
logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)

_QUEUE_SPANS: Final = 2048
_BATCH_SPANS: Final = 512
_BATCH_MS: Final = 2_000
_EXPORT_SECONDS: Final = 5.0
_CLOSE_MS: Final = 1_000


class _Processor(BatchSpanProcessor):
    """The SDK's queue and thread. Counts created spans, and shuts down within a second."""

    def __init__(self, exporter: OTLPSpanExporter, spans: Counter) -> None:
        super().__init__(
            exporter,
            max_queue_size=_QUEUE_SPANS,
            schedule_delay_millis=_BATCH_MS,
            max_export_batch_size=_BATCH_SPANS,
        )
        self._made = spans.labels("created")

    def on_end(self, span: ReadableSpan) -> None:
        self._made.inc()
        super().on_end(span)

    def shutdown(self) -> None:
        self._batch_processor.shutdown(timeout_millis=_CLOSE_MS)


class _Exporter(OTLPSpanExporter):
    """Counts exported spans. Logs once when the export fails, and once when it recovers."""

    def __init__(self, endpoint: str, spans: Counter) -> None:
        super().__init__(endpoint, timeout=_EXPORT_SECONDS, compression=Compression.Gzip)
        self._sent = spans.labels("sent")
        self._failed = spans.labels("failed")
        self._is_away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans and return the result. Never raises. Spans that cannot be sent are lost."""
        try:
            result = super().export(spans)
        # This is the outermost level of the thread, which would only print the exception.
        except Exception as error:
            log.debug("trace_exporter_error", error=type(error).__name__)
            result = SpanExportResult.FAILURE
        is_sent = result is SpanExportResult.SUCCESS
        (self._sent if is_sent else self._failed).inc(len(spans))
        if is_sent and self._is_away:
            log.info("trace_export_recovered")
        elif not is_sent and not self._is_away:
            log.warning(
                "trace_export_failed", reason="PLATESTREAM_TRACES_ENDPOINT does not accept spans"
            )
        self._is_away = not is_sent
        return result


def otlp_provider(endpoint: str, *, process: str, version: str, spans: Counter) -> TracerProvider:
    """Return the provider that creates and exports this process's spans. Makes no connection.

    ``spans`` counts by outcome: created, sent, failed. The standard variables
    ``OTEL_EXPORTER_OTLP_HEADERS``, ``…_CERTIFICATE`` and ``OTEL_RESOURCE_ATTRIBUTES`` apply. The
    provider's ``shutdown`` sends queued spans for at most a second; all other spans are lost.
    """
    provider = TracerProvider(
        resource=Resource.create(
            {
                "service.namespace": "platestream",
                "service.name": f"platestream-{process}",
                "service.version": version,
            }
        ),
        # The sampling decision has already been made.
        sampler=ALWAYS_ON,
        span_limits=SpanLimits(max_attributes=32, max_links=MAX_LINKS, max_attribute_length=256),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(_Processor(_Exporter(endpoint, spans), spans))
    return provider
