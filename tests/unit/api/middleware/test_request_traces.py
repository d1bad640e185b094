"""The span of a request: its attributes, its trace, and data that a span never contains."""

import asyncio
import re
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from opentelemetry.trace import SpanKind
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from api.middleware.request_context import ApiMetrics, RequestContext
from common.logs import add_trace_ids
from common.telemetry.tracing import TraceContext, current_trace
from tests.recorded_spans import SOME_TRACE, RecordingTracer, recorded_spans


class Application:
    """Responds with a status, or fails. Records the trace in which it was called."""

    def __init__(self, status: int = 200, error: BaseException | None = None) -> None:
        self.status = status
        self.error = error
        self.trace: TraceContext | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = SimpleNamespace(path="/api/plates/{plate}")
        self.trace = current_trace()
        if self.error is not None:
            raise self.error
        await PlainTextResponse("", self.status)(scope, receive, send)


async def _call(
    application: Application, *headers: tuple[bytes, bytes], method: str = "GET"
) -> None:
    scope = {
        "type": "http",
        "method": method,
        "path": "/api/plates/ABC1234",
        "raw_path": b"/api/plates/ABC1234",
        "query_string": b"plate=ABC1234",
        "headers": list(headers),
    }

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        assert message["type"].startswith("http.response")

    await RequestContext(application, ApiMetrics())(scope, receive, send)


def _only(tracer: RecordingTracer) -> Any:
    (span,) = tracer.spans
    assert span.ends == 1
    return span


async def test_neither_path_nor_query_is_in_the_span() -> None:
    application = Application()
    with recorded_spans() as tracer:
        await _call(application)

    span = _only(tracer)
    assert (span.name, span.kind) == ("GET /api/plates/{plate}", SpanKind.SERVER)
    assert application.trace == span.context
    attributes = span.attributes
    assert re.fullmatch("[0-9a-f]{32}", attributes.pop("platestream.request.id"))
    assert attributes == {
        "http.request.method": "GET",
        "http.route": "/api/plates/{plate}",
        "http.response.status_code": 200,
    }
    assert "ABC1234" not in repr(tracer.spans)
    assert not span.error


async def test_what_the_caller_calls_its_request_is_not_in_the_span() -> None:
    with recorded_spans() as tracer:
        await _call(Application(), (b"x-request-id", b"ABC1234"))

    assert "platestream.request.id" not in _only(tracer).attributes
    assert "ABC1234" not in repr(tracer.spans)


@pytest.mark.parametrize("error", [asyncio.CancelledError(), KeyboardInterrupt()])
async def test_an_aborted_request_is_named_and_ended(error: BaseException) -> None:
    with recorded_spans() as tracer, pytest.raises(type(error)):
        await _call(Application(error=error))

    span = _only(tracer)
    assert span.name == "GET /api/plates/{plate}"
    assert span.attributes["http.request.method"] == "GET"
    assert "http.response.status_code" not in span.attributes


@pytest.mark.parametrize(
    ("application", "status", "error"),
    [
        (Application(404), 404, ""),
        (Application(503), 503, "503"),
        (Application(error=ValueError("ABC1234")), 500, "500"),
    ],
)
async def test_a_fault_of_ours_fails_the_span(
    application: Application, status: int, error: str
) -> None:
    with recorded_spans() as tracer:
        await _call(application)

    span = _only(tracer)
    assert span.attributes["http.response.status_code"] == status
    assert span.error == error
    assert "ABC1234" not in repr(tracer.spans)


async def test_a_sampled_trace_of_the_caller_is_gone_on_with() -> None:
    given = (b"traceparent", SOME_TRACE.traceparent.encode())
    with recorded_spans(0.0) as tracer:
        await _call(Application(), given)

    assert _only(tracer).parent == SOME_TRACE


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"traceparent", b"garbage")],
        [(b"traceparent", b"\xff\x00" * 100_000)],
        [(b"traceparent", SOME_TRACE.traceparent[:-1].encode() + b"0")],
        [(b"traceparent", SOME_TRACE.traceparent.encode())] * 2,
        [(b"tracestate", b"a=b")],
    ],
)
async def test_nothing_else_of_the_caller_makes_a_trace(headers: list[tuple[bytes, bytes]]) -> None:
    application = Application()
    with recorded_spans(0.0) as tracer:
        await _call(application, *headers)

    assert tracer.spans == []
    assert application.trace is None


async def test_its_log_line_has_the_ids() -> None:
    with (
        recorded_spans() as tracer,
        structlog.testing.capture_logs([add_trace_ids]) as logs,
    ):
        await _call(Application())

    (line,) = logs
    assert line["event"] == "request_completed"
    assert line["trace_id"] == _only(tracer).context.trace_id
    assert line["span_id"] == _only(tracer).context.span_id
