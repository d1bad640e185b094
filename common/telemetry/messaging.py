"""Creates spans of Kafka messages and database queries.

Traces cross Kafka through ``traceparent`` in message headers. Names and attributes follow
OpenTelemetry's conventions. Database spans never contain query parameters.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol
from uuid import UUID

from opentelemetry.trace import Span, SpanKind

from common.telemetry.tracing import (
    TRACEPARENT,
    Attributes,
    TraceContext,
    activated,
    current_trace,
    fail,
    is_tracing,
    parse_traceparent,
    start_span,
    trace_of,
    traced,
)

Headers = Mapping[str, bytes]


class IncomingMessage(Protocol):
    """The parts of a received message that this module uses, from any client library."""

    @property
    def topic(self) -> str:
        """The full name of the topic."""

    @property
    def partition(self) -> int:
        """The partition."""

    @property
    def offset(self) -> int:
        """The offset."""

    @property
    def headers(self) -> Mapping[str, bytes] | Collection[tuple[str, bytes]] | None:
        """The headers."""


@dataclass(frozen=True)
class _Batch:
    """The spans of messages that are processed together, as a list and by ID."""

    about: Mapping[UUID, TraceContext] = field(default_factory=dict)
    traces: tuple[TraceContext, ...] = ()


_NO_BATCH: Final = _Batch()
_batch: ContextVar[_Batch] = ContextVar("batch_traces", default=_NO_BATCH)


def headers_of(span: Span | None) -> dict[str, bytes]:
    """Return the headers of a message sent within a span, or no headers without a span."""
    return {} if span is None else {TRACEPARENT: trace_of(span).traceparent.encode("ascii")}


def message_trace(message: IncomingMessage) -> TraceContext | None:
    """Return the trace that a message continues, or None."""
    if not is_tracing() or not message.headers:
        return None
    return parse_traceparent(dict(message.headers).get(TRACEPARENT))


def send_span(topic: str, parent: TraceContext | None) -> Span | None:
    """Start the span of sending a message, or return None if ``parent`` is None.

    The caller must end the span once Kafka has acknowledged the message.
    """
    if parent is None:
        return None
    return start_span(f"send {topic}", SpanKind.PRODUCER, parent, about_topic("send", topic))


def sending(topic: str) -> AbstractContextManager[Span | None]:
    """Return a context manager for sending one message in the caller's trace, if any."""
    if current_trace() is None:
        return nullcontext()
    return traced(f"send {topic}", SpanKind.PRODUCER, about_topic("send", topic))


def processing(message: IncomingMessage, group: str) -> AbstractContextManager[Span | None]:
    """Return a context manager for processing one message in the message's trace, if any."""
    trace = message_trace(message)
    if trace is None:
        return nullcontext()
    attributes = _about_message(message, group)
    return traced(f"process {message.topic}", SpanKind.CONSUMER, attributes, parent=trace)


def processing_all(
    messages: Iterable[tuple[IncomingMessage, UUID | None]], group: str
) -> AbstractContextManager[None]:
    """Return a context manager for processing messages, each given with its subject's ID.

    Each message has a span in its own trace. In the block, :func:`trace_about` returns the trace of
    a subject. Work for all messages is in the first trace, with links to the other traces.
    """
    if not is_tracing():
        return nullcontext()
    found = [
        (message, subject, trace)
        for message, subject in messages
        if (trace := message_trace(message)) is not None
    ]
    return _processing_all(found, group) if found else nullcontext()


@contextmanager
def _processing_all(
    messages: Sequence[tuple[IncomingMessage, UUID | None, TraceContext]], group: str
) -> Iterator[None]:
    spans: list[tuple[Span, UUID | None]] = []
    for message, subject, trace in messages:
        attributes = _about_message(message, group)
        span = start_span(f"process {message.topic}", SpanKind.CONSUMER, trace, attributes)
        if span is not None:
            spans.append((span, subject))
    about = {subject: trace_of(span) for span, subject in spans if subject is not None}
    token = _batch.set(_Batch(about, tuple(trace_of(span) for span, _ in spans)))
    try:
        with activated(spans[0][0] if spans else None):
            yield
    except Exception as error:
        for span, _ in spans:
            fail(span, type(error).__name__)
        raise
    finally:
        _batch.reset(token)
        for span, _ in spans:
            span.end()


def trace_about(subject: UUID | None) -> TraceContext | None:
    """Return the trace of the message about a subject within :func:`processing_all`, or None."""
    return None if subject is None else _batch.get().about.get(subject)


def other_traces() -> list[TraceContext]:
    """Return the traces of the messages that are processed together with the current message."""
    current = current_trace()
    return [trace for trace in _batch.get().traces if trace != current]


def query_span(system: str, operation: str, table: str = "") -> AbstractContextManager[Span | None]:
    """Return a context manager for a database query in the caller's trace, if any.

    ``operation`` is a command (``INSERT``, with its table) or the name of one of our statements.
    Work for several messages is linked to all their traces.
    """
    if current_trace() is None:
        return nullcontext()
    summary = f"{operation} {table}".rstrip()
    about: Attributes = {
        "db.system.name": system,
        "db.operation.name": operation,
        "db.query.summary": summary,
        **({"db.collection.name": table} if table else {}),
    }
    return traced(summary, SpanKind.CLIENT, about, links=other_traces())


def about_topic(operation: str, topic: str) -> dict[str, str]:
    """Return the attributes of a span that sends to or processes from a topic (full name)."""
    return {
        "messaging.system": "kafka",
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "messaging.destination.name": topic,
    }


def _about_message(message: IncomingMessage, group: str) -> Attributes:
    return {
        **about_topic("process", message.topic),
        "messaging.consumer.group.name": group,
        "messaging.destination.partition.id": str(message.partition),
        "messaging.kafka.offset": message.offset,
    }
