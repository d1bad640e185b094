"""Spans of what is asked of databases, by OpenTelemetry's conventions: never its parameters."""

from contextlib import AbstractContextManager, nullcontext

from opentelemetry.trace import Span, SpanKind

from common.telemetry.messaging import other_traces
from common.telemetry.tracing import Attributes, current_trace, traced


def query_span(system: str, operation: str, table: str = "") -> AbstractContextManager[Span | None]:
    """Return a block that asks a database something, in the caller's trace if it is in one.

    ``operation`` is a command (``INSERT``, with its table) or the name of a statement of ours. What
    is done for several messages together is linked to the traces of all.
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
