"""A tracer that records spans for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import SpanContext, SpanKind, format_span_id, format_trace_id

from common.telemetry.tracing import TraceContext, trace_of, use_tracer


@dataclass
class RecordedSpan:
    """A span with all its recorded data."""

    span: Span
    ends: int = 0

    @property
    def name(self) -> str:
        return str(self.span.name)

    @property
    def kind(self) -> SpanKind:
        return self.span.kind

    @property
    def context(self) -> TraceContext:
        """The context of the span, for child spans."""
        return trace_of(self.span)

    @property
    def parent(self) -> TraceContext | None:
        return None if self.span.parent is None else _trace(self.span.parent)

    @property
    def links(self) -> tuple[TraceContext, ...]:
        """The spans that this span links to."""
        return tuple(_trace(link.context) for link in self.span.links)

    @property
    def start_ns(self) -> int | None:
        return self.span.start_time

    @property
    def attributes(self) -> dict[str, object]:
        """The attributes of the span, without the error type."""
        return {k: v for k, v in (self.span.attributes or {}).items() if k != "error.type"}

    @property
    def error(self) -> str:
        """The error type, or an empty string if the span did not fail."""
        return str((self.span.attributes or {}).get("error.type", ""))

    def __repr__(self) -> str:
        """Return all exported data of the span."""
        return str(self.span.to_json())


class RecordingTracer(SpanProcessor):
    """Records spans when they start."""

    def __init__(self) -> None:
        self.spans: list[RecordedSpan] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.spans.append(RecordedSpan(span))

    def on_end(self, span: ReadableSpan) -> None:
        (one,) = (each for each in self.spans if each.span.context == span.context)
        one.ends += 1

    @property
    def names(self) -> list[str]:
        """The names of the spans, in the order of their starts."""
        return [span.name for span in self.spans]


@contextmanager
def recorded_spans(sample_ratio: float = 1.0) -> Iterator[RecordingTracer]:
    """Enable tracing for a block, and yield the tracer that records the spans."""
    recorder, provider = RecordingTracer(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(recorder)
    use_tracer(provider.get_tracer("platestream"), sample_ratio)
    try:
        yield recorder
    finally:
        use_tracer(None)


def _trace(context: SpanContext) -> TraceContext:
    return TraceContext(format_trace_id(context.trace_id), format_span_id(context.span_id))


SOME_TRACE = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
"""The example in W3C's specification."""
