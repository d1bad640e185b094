"""A tracer that remembers its spans, for tests of what makes them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from common.telemetry.tracing import Attributes, Span, SpanKind, TraceContext, use_tracer


@dataclass
class RecordedSpan:
    """A span with all that became of it."""

    name: str
    kind: SpanKind
    parent: TraceContext | None
    links: tuple[TraceContext, ...]
    start_ns: int | None
    context: TraceContext
    attributes: dict[str, object] = field(default_factory=dict)
    error: str = ""
    ends: int = 0

    def rename(self, name: str) -> None:
        """Take another name."""
        self.name = name

    def set(self, attributes: Attributes) -> None:
        """Take more attributes."""
        self.attributes.update(attributes)

    def fail(self, error_type: str) -> None:
        """Remember the kind of error."""
        self.error = error_type

    def end(self) -> None:
        """Count the ends."""
        self.ends += 1


class RecordingTracer:
    """Makes spans with ids that count up."""

    def __init__(self) -> None:
        self.spans: list[RecordedSpan] = []
        self._ids = count(1)

    def start(
        self,
        name: str,
        kind: SpanKind,
        parent: TraceContext | None,
        attributes: Attributes,
        links: Sequence[TraceContext],
        start_ns: int | None,
    ) -> Span:
        """Begin a span."""
        number = next(self._ids)
        trace_id = f"{number:032x}" if parent is None else parent.trace_id
        span = RecordedSpan(
            name,
            kind,
            parent,
            tuple(links),
            start_ns,
            TraceContext(trace_id, f"{number:016x}"),
            dict(attributes),
        )
        self.spans.append(span)
        return span

    @property
    def names(self) -> list[str]:
        """The names of the spans, in the order in which they began."""
        return [span.name for span in self.spans]


@contextmanager
def recorded_spans(sample_ratio: float = 1.0) -> Iterator[RecordingTracer]:
    """Have traces made in a block, and remember their spans."""
    tracer = RecordingTracer()
    use_tracer(tracer, sample_ratio)
    try:
        yield tracer
    finally:
        use_tracer(None)


SOME_TRACE = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
"""The example of W3C's text."""
