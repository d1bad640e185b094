"""Traces the work of a process for one frame or one request, as OpenTelemetry spans.

A trace starts with a camera's frame or with a request to the API, where the sampling decision is
made. An unsampled trace is not propagated, so it costs nothing in other processes. Another process
continues a trace by its ``traceparent`` (see :mod:`common.telemetry.messaging`). Without
:func:`use_tracer`, no spans are created and the SDK is not imported.

Spans contain IDs of cameras, recognitions and deliveries, but never plates, names, addresses or
error messages, which may contain any of these.
"""

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    format_span_id,
    format_trace_id,
    get_current_span,
    set_span_in_context,
    use_span,
)

TRACEPARENT: Final = "traceparent"
"""The name of the header, both in HTTP and in Kafka messages."""

MAX_LINKS: Final = 16
"""Maximum number of links of a span."""

Attributes = Mapping[str, str | int | float | bool]

_VERSION_00 = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})\Z", re.ASCII)
_GIVEN_A_SECOND: Final = 10


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A sampled span for another process to continue: hexadecimal IDs of 32 and 16 digits."""

    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        """The value of the header."""
        return f"00-{self.trace_id}-{self.span_id}-01"


@dataclass(slots=True)
class _Tracing:
    """The tracing configuration of this process."""

    tracer: Tracer
    sample_ratio: float
    given: int = 0
    given_second: int = 0

    def takes_given(self) -> bool:
        """Count a client's trace; return whether the limit per second allows it to be continued."""
        second = int(time.monotonic())
        if second != self.given_second:
            self.given, self.given_second = 0, second
        self.given += 1
        return self.given <= _GIVEN_A_SECOND


_tracing: _Tracing | None = None


def use_tracer(tracer: Tracer | None, sample_ratio: float = 1.0) -> None:
    """Trace a fraction (0 to 1) of frames and requests. A tracer of None stops tracing."""
    global _tracing
    _tracing = None if tracer is None else _Tracing(tracer, sample_ratio)


def is_tracing() -> bool:
    """Return whether this process creates traces."""
    return _tracing is not None


def parse_traceparent(value: object) -> TraceContext | None:
    """Return the span in a header, or None if the header is invalid or the span is not sampled.

    **Source:** W3C Trace Context, section 3.2 (version 00; all-zero IDs are invalid).
    """
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    found = _VERSION_00.match(text) if isinstance(text, str) else None
    if found is None or not int(found[3], 16) & TraceFlags.SAMPLED:
        return None
    trace_id, span_id = found[1], found[2]
    return TraceContext(trace_id, span_id) if int(trace_id, 16) and int(span_id, 16) else None


def trace_of(span: Span) -> TraceContext:
    """Return the context with which other processes continue a span."""
    found = span.get_span_context()
    return TraceContext(format_trace_id(found.trace_id), format_span_id(found.span_id))


def begin_trace(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes | None = None,
    *,
    start_ms: int | None = None,
    given: str | bytes | None = None,
) -> Span | None:
    """Start a trace, or return None if it is not sampled. The caller ends the returned span.

    ``start_ms`` (Unix ms, UTC) is the trace's start, by default now. ``given`` is a client's
    ``traceparent``. If the client's trace is sampled, it is continued (at most ten per second).
    """
    tracing = _tracing
    if tracing is None:
        return None
    parent = parse_traceparent(given)
    if parent is not None and not tracing.takes_given():
        parent = None
    if parent is None and random.random() >= tracing.sample_ratio:
        return None
    start_ns = None if start_ms is None else start_ms * 1_000_000
    context = Context() if parent is None else _context(parent)
    return tracing.tracer.start_span(name, context, kind, attributes, start_time=start_ns)


def start_span(
    name: str,
    kind: SpanKind,
    parent: TraceContext | None,
    attributes: Attributes | None = None,
    links: Sequence[TraceContext] = (),
) -> Span | None:
    """Start a span of a trace, or return None without a trace. The caller ends the span."""
    tracing = _tracing
    if tracing is None or parent is None:
        return None
    others = [Link(_span_context(link)) for link in links if link != parent][:MAX_LINKS]
    return tracing.tracer.start_span(name, _context(parent), kind, attributes, others)


def _context(parent: TraceContext) -> Context:
    return set_span_in_context(NonRecordingSpan(_span_context(parent)), Context())


def _span_context(trace: TraceContext) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace.trace_id, 16), int(trace.span_id, 16), True, flags)


def current_trace() -> TraceContext | None:
    """Return the caller's current span, or None outside of traces."""
    if _tracing is None:
        return None
    span = get_current_span()
    return trace_of(span) if span.get_span_context().is_valid else None


def traced(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes | None = None,
    *,
    parent: TraceContext | None = None,
    links: Sequence[TraceContext] = (),
) -> AbstractContextManager[Span | None]:
    """Return a context manager for a span in the trace of ``parent`` or of the caller.

    It yields the span, or None without a trace. An exception marks the span as failed.
    """
    span = start_span(name, kind, parent or current_trace(), attributes, links)
    return nullcontext() if span is None else within(span)


@contextmanager
def within(span: Span) -> Iterator[Span]:
    """Run a block in a span and end the span. Log lines in the block contain the span's IDs."""
    try:
        with activated(span):
            yield span
    except Exception as error:
        fail(span, type(error).__name__)
        raise
    finally:
        span.end()


def activated(span: Span | None) -> AbstractContextManager[Span]:
    """Return a context manager that activates a span, or no span, and does not end the span."""
    return use_span(
        INVALID_SPAN if span is None else span,
        record_exception=False,
        set_status_on_exception=False,
    )


def outside_traces() -> AbstractContextManager[Span | None]:
    """Return a context manager for work outside of all traces."""
    return nullcontext() if current_trace() is None else activated(None)


def fail(span: Span, error_type: str) -> None:
    """Mark a span as failed, with the type of error: a class, or a status."""
    span.set_attribute("error.type", error_type)
    span.set_status(StatusCode.ERROR)


def log_fields(trace: TraceContext | None) -> dict[str, str]:
    """Return the fields of a log line about a span, or no fields without a trace."""
    if trace is None:
        return {}
    return {"trace_id": trace.trace_id, "span_id": trace.span_id}
