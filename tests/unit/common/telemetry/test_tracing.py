"""Start and continuation of traces, and ignored trace headers."""

from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import SpanKind
from pydantic import ValidationError

from common.logs import add_trace_ids
from common.telemetry.settings import TraceSettings
from common.telemetry.tracing import (
    TraceContext,
    begin_trace,
    current_trace,
    outside_traces,
    parse_traceparent,
    start_span,
    trace_of,
    traced,
    within,
)
from tests.recorded_spans import SOME_TRACE, recorded_spans

GIVEN = SOME_TRACE.traceparent


def test_the_example_of_the_specification_is_read_and_written() -> None:
    text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    assert SOME_TRACE.traceparent == text
    assert parse_traceparent(text) == SOME_TRACE
    assert parse_traceparent(text.encode()) == SOME_TRACE
    # Bits that version 00 does not define are ignored.
    assert parse_traceparent(text[:-2] + "ff") == SOME_TRACE


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "garbage",
        GIVEN[:-2] + "00",
        GIVEN.upper(),
        "01" + GIVEN[2:],
        "ff" + GIVEN[2:],
        GIVEN + "-more",
        GIVEN + "\n",
        " " + GIVEN,
        GIVEN[:-1],
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
        b"\xff\xfe" + GIVEN.encode(),
        GIVEN.replace("a", "\u0661"),
        42,
    ],
)
def test_garbage_and_what_is_not_sampled_is_no_trace(text: object) -> None:
    assert parse_traceparent(text) is None


@given(st.one_of(st.text(), st.binary()))
def test_no_header_raises(value: str | bytes) -> None:
    assert parse_traceparent(value) is None


def test_without_a_tracer_there_are_no_spans() -> None:
    assert begin_trace("frame") is None
    assert start_span("more", SpanKind.INTERNAL, SOME_TRACE) is None
    with traced("more", parent=SOME_TRACE) as span:
        assert span is None
        assert current_trace() is None


@pytest.mark.parametrize(("ratio", "made"), [(0.0, 0), (1.0, 200)])
def test_none_is_sampled_at_0_and_all_at_1(ratio: float, made: int) -> None:
    with recorded_spans(ratio) as tracer:
        begun = [begin_trace("frame", start_ms=17) for _ in range(200)]

    assert len(tracer.spans) == made == sum(span is not None for span in begun)
    assert {span.start_ns for span in tracer.spans} <= {17_000_000}


def test_what_follows_goes_on_and_what_has_no_trace_begins_none() -> None:
    with recorded_spans() as tracer:
        with traced("of nothing") as nothing:
            assert nothing is None
        with traced("first", parent=SOME_TRACE) as first, traced("second", SpanKind.CLIENT):
            pass
        assert current_trace() is None

    assert tracer.names == ["first", "second"]
    assert first is not None
    assert tracer.spans[0].parent == SOME_TRACE
    assert tracer.spans[1].parent == trace_of(first)
    assert [span.ends for span in tracer.spans] == [1, 1]


def test_an_error_marks_the_span_with_its_kind_alone() -> None:
    with (
        recorded_spans() as tracer,
        pytest.raises(ValueError, match="ABC1234"),
        traced("read", parent=SOME_TRACE),
    ):
        raise ValueError("ABC1234")

    assert tracer.spans[0].error == "ValueError"
    assert "ABC1234" not in repr(tracer.spans)


def test_a_block_can_leave_the_trace() -> None:
    with recorded_spans(), traced("first", parent=SOME_TRACE) as first:
        with outside_traces():
            assert current_trace() is None
        assert first is not None
        assert current_trace() == trace_of(first)


def test_links_are_bounded_and_name_no_parent() -> None:
    links = [SOME_TRACE, *(TraceContext(f"{n:032x}", f"{n:016x}") for n in range(1, 40))]
    with recorded_spans() as tracer, traced("many", parent=SOME_TRACE, links=links):
        pass

    assert len(tracer.spans[0].links) == 16
    assert SOME_TRACE not in tracer.spans[0].links


def test_a_clients_trace_is_gone_on_with_where_it_is_sampled() -> None:
    with recorded_spans(0.0) as tracer:
        assert begin_trace("request", given=GIVEN[:-2] + "00") is None
        assert begin_trace("request", given="garbage") is None
        assert begin_trace("request", given=GIVEN) is not None

    assert tracer.spans[0].parent == SOME_TRACE


def test_clients_can_have_few_traces_made(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [100.0]
    monkeypatch.setattr("common.telemetry.tracing.time.monotonic", lambda: seconds[0])
    with recorded_spans(0.0) as tracer:
        for _ in range(1_000):
            begin_trace("request", given=GIVEN)
        assert len(tracer.spans) == 10
        seconds[0] += 1
        begin_trace("request", given=GIVEN)

    assert len(tracer.spans) == 11


def test_log_lines_have_the_ids_of_the_span() -> None:
    with recorded_spans():
        span = begin_trace("frame")
        assert span is not None
        with within(span):
            outer = _logged()
            with traced("inner") as inner:
                assert inner is not None
                assert _logged()["span_id"] == trace_of(inner).span_id
            assert _logged() == outer
        assert _logged() == {}

    assert outer == {"trace_id": trace_of(span).trace_id, "span_id": trace_of(span).span_id}


def _logged() -> Any:
    """Return the fields that a log line gets from its trace."""
    return add_trace_ids(structlog.get_logger(), "info", {})


@pytest.mark.parametrize("endpoint", ["collector:4318", "ftp://collector", "http://u:p@collector"])
def test_an_address_that_is_none_is_refused(endpoint: str) -> None:
    with pytest.raises(ValidationError):
        TraceSettings.model_validate({"traces_endpoint": endpoint})
