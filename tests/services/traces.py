"""A trace collector that is a real HTTP server and decodes the requests of the OTLP exporter."""

import gzip
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2

from deploy.local.ports import free_ports
from tests.blocks import RunsForABlock


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it arrived. IDs are hexadecimal; without a parent, the parent's ID is empty."""

    process: str
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: Mapping[str, str]
    links: tuple[str, ...]
    is_failed: bool
    begin_ns: int
    end_ns: int


@dataclass
class _State:
    spans: list[ReceivedSpan] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: _State

    def do_POST(self) -> None:  # noqa: N802 - the library's name
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.state.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.state.spans += _spans(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Do not log requests."""


def _spans(request: Any) -> list[ReceivedSpan]:
    return [
        _span(_texts(resource.resource.attributes)["service.name"], span)
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _span(process: str, span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        process=process,
        name=span.name,
        kind=trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=_texts(span.attributes),
        links=tuple(link.trace_id.hex() for link in span.links),
        is_failed=span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        begin_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
    )


def _texts(attributes: Any) -> dict[str, str]:
    return {
        each.key: str(getattr(each.value, each.value.WhichOneof("value"))) for each in attributes
    }


class TraceCollector(RunsForABlock):
    """A collector on a free port. Use the collector as a context manager."""

    def __init__(self, port: int | None = None) -> None:
        """Listen on ``port``, or on a free port."""
        self._state = _State()
        self.port = port or free_ports(1)[0]
        handler = type("Handler", (_Handler,), {"state": self._state})
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def endpoint(self) -> str:
        """The URL to which spans are sent."""
        return f"http://127.0.0.1:{self.port}/v1/traces"

    @property
    def spans(self) -> list[ReceivedSpan]:
        return list(self._state.spans)

    @property
    def headers(self) -> list[Mapping[str, str]]:
        return self._state.headers

    def trace(self, trace_id: str) -> list[ReceivedSpan]:
        """Return the spans of a trace, in the order of their starts."""
        found = [span for span in self.spans if span.trace_id == trace_id]
        return sorted(found, key=lambda span: span.begin_ns)

    def _begin(self) -> None:
        self._thread.start()

    def _end(self, error: BaseException | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
