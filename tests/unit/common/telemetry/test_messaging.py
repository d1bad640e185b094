"""Traces across Kafka messages."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.trace import SpanKind

from common.telemetry.messaging import (
    headers_of,
    message_trace,
    other_traces,
    processing,
    processing_all,
    query_span,
    send_span,
    sending,
    trace_about,
)
from common.telemetry.tracing import TraceContext, current_trace
from tests.recorded_spans import SOME_TRACE, recorded_spans

ONE, TWO, THREE = (UUID(int=number) for number in (1, 2, 3))


def message(traceparent: bytes | None, offset: int = 7) -> Any:
    """Return a message as aiokafka returns it."""
    headers = () if traceparent is None else (("other", b"x"), ("traceparent", traceparent))
    return SimpleNamespace(topic="frames", partition=3, offset=offset, headers=headers)


def trace(number: int) -> TraceContext:
    return TraceContext(f"{number:032x}", f"{number:016x}")


def test_a_message_goes_on_with_the_trace_of_its_header() -> None:
    came = message(SOME_TRACE.traceparent.encode())
    with recorded_spans() as tracer, processing(came, "stage"), sending("readings") as span:
        headers = headers_of(span)

    processed, sent = tracer.spans
    assert (processed.name, processed.kind) == ("process frames", SpanKind.CONSUMER)
    assert processed.parent == SOME_TRACE
    assert processed.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "frames",
        "messaging.consumer.group.name": "stage",
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 7,
    }
    assert (sent.name, sent.kind, sent.parent) == (
        "send readings",
        SpanKind.PRODUCER,
        processed.context,
    )
    assert headers == {"traceparent": sent.context.traceparent.encode()}
    assert message_trace(message(headers["traceparent"])) is None


@pytest.mark.parametrize("header", [None, b"", b"garbage", b"00-0-0-01", b"\xff" * 55])
def test_what_has_no_trace_is_handled_without_a_span(header: bytes | None) -> None:
    with recorded_spans() as tracer, processing(message(header), "stage"):
        assert current_trace() is None
        with sending("readings") as span, query_span("clickhouse", "SELECT"):
            assert headers_of(span) == {}
        assert send_span("readings", None) is None
        with processing_all([(message(header), ONE)], "stage"):
            assert trace_about(ONE) is None

    assert tracer.spans == []


def test_messages_together_keep_their_own_traces() -> None:
    batch = [
        (message(trace(1).traceparent.encode(), 1), ONE),
        (message(None, 2), TWO),
        (message(trace(3).traceparent.encode(), 3), THREE),
    ]
    with recorded_spans() as tracer, processing_all(batch, "stage"):
        one, three = trace_about(ONE), trace_about(THREE)
        assert trace_about(TWO) is None
        assert trace_about(None) is None
        with query_span("clickhouse", "INSERT", "recognitions"):
            assert current_trace() is not None
        others = other_traces()

    first, third, insert = tracer.spans
    assert (one, three) == (first.context, third.context)
    assert (first.parent, third.parent) == (trace(1), trace(3))
    assert others == [third.context]
    assert (insert.name, insert.kind, insert.parent) == (
        "INSERT recognitions",
        SpanKind.CLIENT,
        first.context,
    )
    assert insert.links == (third.context,)
    assert insert.attributes == {
        "db.system.name": "clickhouse",
        "db.operation.name": "INSERT",
        "db.query.summary": "INSERT recognitions",
        "db.collection.name": "recognitions",
    }
    assert [span.ends for span in tracer.spans] == [1, 1, 1]


def test_a_batch_that_fails_fails_all_its_spans() -> None:
    batch = [(message(trace(n).traceparent.encode(), n), None) for n in (1, 2)]
    with recorded_spans() as tracer, pytest.raises(KeyError), processing_all(batch, "stage"):
        raise KeyError("ABC1234")

    assert [(span.error, span.ends) for span in tracer.spans] == [("KeyError", 1)] * 2
