"""Traces: what a process did for one frame or one request, as spans, by W3C's trace context.

A trace begins in two places, with a frame of a camera and with a request to the API, and is sampled
there: of what is not sampled nothing is handed on, so all that follows costs nothing. What follows
in another process goes on with the ``traceparent`` that it was given (see
:mod:`common.telemetry.messaging`). Until :func:`use_tracer` was called there are no traces at all,
and nothing of OpenTelemetry is imported.

Spans hold ids of cameras, recognitions and deliveries; never plates, names, addresses or texts of
errors, which may hold them.
"""

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Protocol

from structlog.contextvars import (
    bind_contextvars,
    get_contextvars,
    reset_contextvars,
    unbind_contextvars,
)

TRACEPARENT: Final = "traceparent"
"""The name of the header, of HTTP and of Kafka's messages alike."""

MAX_LINKS: Final = 16
"""A span has at most that many links to others."""

Attributes = Mapping[str, str | int | float | bool]

_VERSION_00 = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})\Z", re.ASCII)
_SAMPLED: Final = 0x01
_LOG_FIELDS: Final = ("trace_id", "span_id")
_GIVEN_A_SECOND: Final = 10


class SpanKind(Enum):
    """The kinds of spans, by OpenTelemetry's names."""

    INTERNAL = auto()
    SERVER = auto()
    CLIENT = auto()
    PRODUCER = auto()
    CONSUMER = auto()


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span that is sampled, as others go on with it: hexadecimal, 32 and 16 digits."""

    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        """The header's value."""
        return f"00-{self.trace_id}-{self.span_id}-01"


class Span(Protocol):
    """A span that was begun."""

    @property
    def context(self) -> TraceContext:
        """The span, as others go on with it."""

    def rename(self, name: str) -> None:
        """Give it another name."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""

    def fail(self, error_type: str) -> None:
        """Mark it as failed, with the kind of error: a class, or a status."""

    def end(self) -> None:
        """End it, now; a second time does nothing."""


class Tracer(Protocol):
    """The maker of spans (see :class:`common.telemetry.otlp.OtlpTracer`)."""

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


@dataclass(slots=True)
class _Tracing:
    """How this process traces."""

    tracer: Tracer
    sample_ratio: float
    given: int = 0
    given_second: int = 0

    def takes_given(self) -> bool:
        """Return whether one more trace of a client is followed in this second."""
        second = int(time.monotonic())
        if second != self.given_second:
            self.given, self.given_second = 0, second
        self.given += 1
        return self.given <= _GIVEN_A_SECOND


_tracing: _Tracing | None = None
_current: ContextVar[Span | None] = ContextVar("current_span", default=None)


def use_tracer(tracer: Tracer | None, sample_ratio: float = 1.0) -> None:
    """Have this process make traces of a share (0..1) of what begins one; None: no more."""
    global _tracing
    _tracing = None if tracer is None else _Tracing(tracer, sample_ratio)


def is_tracing() -> bool:
    """Return whether this process makes traces."""
    return _tracing is not None


def parse_traceparent(value: object) -> TraceContext | None:
    """Return the span that a header names; None where it is not sampled, or is no such header.

    **Source:** W3C Trace Context, section 3.2 (version 00; ids of zeros are none).
    """
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    found = _VERSION_00.match(text) if isinstance(text, str) else None
    if found is None or not int(found[3], 16) & _SAMPLED:
        return None
    trace_id, span_id = found[1], found[2]
    return TraceContext(trace_id, span_id) if int(trace_id, 16) and int(span_id, 16) else None


def begin_trace(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes | None = None,
    *,
    start_ms: int | None = None,
    given: str | bytes | None = None,
) -> Span | None:
    """Begin a trace, or None where this one is not sampled. The caller ends its first span.

    ``start_ms`` (Unix ms, UTC) is when it began, now unless given. ``given`` is a client's own
    ``traceparent``: where that is sampled it is gone on with, of ten requests a second at most.
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
    return tracing.tracer.start(name, kind, parent, attributes or {}, (), start_ns)


def start_span(
    name: str,
    kind: SpanKind,
    parent: TraceContext | None,
    attributes: Attributes | None = None,
    links: Sequence[TraceContext] = (),
) -> Span | None:
    """Begin a span of a trace, or None where there is no trace. The caller ends it."""
    tracing = _tracing
    if tracing is None or parent is None:
        return None
    others = [link for link in links if link != parent][:MAX_LINKS]
    return tracing.tracer.start(name, kind, parent, attributes or {}, others, None)


def current_trace() -> TraceContext | None:
    """Return the span in which the caller runs, None outside of traces."""
    span = _current.get()
    return None if span is None else span.context


def traced(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes | None = None,
    *,
    parent: TraceContext | None = None,
    links: Sequence[TraceContext] = (),
) -> AbstractContextManager[Span | None]:
    """Return a block that is a span: of ``parent``'s trace, or of the one that the caller is in.

    The block has the span, or None where there is no trace. An exception marks it as failed.
    """
    if _tracing is None:
        return nullcontext()
    span = start_span(name, kind, parent or current_trace(), attributes, links)
    return nullcontext() if span is None else within(span)


@contextmanager
def within(span: Span) -> Iterator[Span]:
    """Run a block in a span and end it then; log lines in the block have its ids."""
    try:
        with activated(span):
            yield span
    except Exception as error:
        span.fail(type(error).__name__)
        raise
    finally:
        span.end()


@contextmanager
def activated(span: Span | None) -> Iterator[None]:
    """Run a block in a span, or outside of all, which does not end with it.

    Log lines in the block have the span's ids, or none.
    """
    token = _current.set(span)
    try:
        with _log_ids(None if span is None else span.context):
            yield
    finally:
        _current.reset(token)


@contextmanager
def _log_ids(trace: TraceContext | None) -> Iterator[None]:
    if trace is not None:
        tokens = bind_contextvars(**log_fields(trace))
        try:
            yield
        finally:
            reset_contextvars(**tokens)
        return
    bound = get_contextvars()
    unbind_contextvars(*_LOG_FIELDS)
    try:
        yield
    finally:
        bind_contextvars(**{name: bound[name] for name in _LOG_FIELDS if name in bound})


def outside_traces() -> AbstractContextManager[None]:
    """Return a block that is in no trace, whatever the caller is in."""
    return nullcontext() if _current.get() is None else activated(None)


def log_fields(trace: TraceContext | None) -> dict[str, str]:
    """Return what a log line about a span has; nothing where there is none."""
    if trace is None:
        return {}
    return {"trace_id": trace.trace_id, "span_id": trace.span_id}
