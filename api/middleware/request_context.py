"""ASGI middleware around every request: id, log line, metrics, last error handler, HEAD."""

import asyncio
import threading
import time
from collections.abc import Iterable
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import structlog
from opentelemetry.trace import SpanKind
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import ApiError, ErrorCode
from api.middleware.error_handlers import error_response
from api.middleware.request_state import HEADER, give_request_id, is_own_request_id, limit_headers
from api.security.permissions import permissions_in
from common.telemetry.tracing import TRACEPARENT, begin_trace, fail, within


class MetricName(StrEnum):
    """The names of the metrics, with what a rise means."""

    REQUESTS = "platestream_api_requests"
    """Requests by route, method and status; more 5xx: a dependency fails."""
    REQUEST_SECONDS = "platestream_api_request_seconds"
    """Seconds from the request's head to the last byte of its answer; a rise: slower answers."""


_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
_TRACEPARENT_KEY: Final = TRACEPARENT.encode("ascii")
_COLLECT_SECONDS: Final = 5.0
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ApiMetrics:
    """The counters of one application."""

    def __init__(self) -> None:
        """Make a registry of its own, so that several applications in one process do not mix."""
        self.registry = CollectorRegistry()
        self._requests = Counter(
            MetricName.REQUESTS,
            "Number of requests handled.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            MetricName.REQUEST_SECONDS,
            "Request duration in seconds.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def include(self, collector: Collector) -> None:
        """Add the metrics of ``collector``, which belongs to the running event loop."""
        self.registry.register(_OnLoop(collector, asyncio.get_running_loop()))

    def record_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        known = method if method in _METHODS else "OTHER"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(known, route).observe(seconds)


class _OnLoop(Collector):
    """Collects on an event loop from other threads. Yields nothing if the loop does not answer."""

    def __init__(self, collector: Collector, loop: asyncio.AbstractEventLoop) -> None:
        self._collector = collector
        self._loop = loop
        self._thread = threading.get_ident()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of the collector."""
        if threading.get_ident() == self._thread:
            return self._collector.collect()
        future = asyncio.run_coroutine_threadsafe(self._listed(), self._loop)
        try:
            return future.result(_COLLECT_SECONDS)
        except TimeoutError:
            future.cancel()
            return ()

    async def _listed(self) -> list[Metric]:
        return list(self._collector.collect())


log = structlog.get_logger()

_Header = tuple[bytes, bytes]
_NO_SNIFFING: _Header = (b"x-content-type-options", b"nosniff")


class RequestContext:
    """ASGI middleware around everything else."""

    def __init__(self, app: ASGIApp, metrics: ApiMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give the request its id, then handle it, log and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = give_request_id(scope)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        method = _known_method(scope)
        span = begin_trace(method, SpanKind.SERVER, given=_traceparent(scope))
        if span is None:
            await self._handle(scope, receive, send, request_id)
            return
        with within(span):
            if is_own_request_id(scope):
                span.set_attributes({"platestream.request.id": request_id})
            try:
                status = await self._handle(scope, receive, send, request_id)
            finally:
                # Also of one that was given up. The path and the query may hold plates.
                route = _route(scope)
                span.update_name(f"{method} {route}")
                span.set_attributes({"http.request.method": method, "http.route": route})
            if status:
                span.set_attributes({"http.response.status_code": status})
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                fail(span, str(status))

    async def _handle(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> int:
        """Handle a request; return the status of its answer, 0 where there was none."""
        started = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                header = (HEADER.lower().encode(), request_id.encode())
                headers = [*message.get("headers", ()), header, *limit_headers(scope), _NO_SNIFFING]
                message["headers"] = _not_cached(headers)
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception:
            log.exception("request_failed", method=scope["method"], route=_route(scope))
            if status:
                # Half an answer is out; only cutting the connection says that it is not whole.
                raise
            answer = error_response(ApiError(ErrorCode.INTERNAL_ERROR), request_id)
            await answer(scope, receive, send_with_id)
        finally:
            self._record(scope, status, time.perf_counter() - started)
        return status

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.record_request(scope["method"], route, status, seconds)
        # The route, not the query: that may hold plates.
        log.info(
            "request",
            method=scope["method"],
            route=route,
            status=status,
            duration_ms=round(seconds * 1000, 2),
        )


def _not_cached(headers: list[_Header]) -> list[_Header]:
    """Forbid caches to keep an answer that does not say what they may keep."""
    if any(name == b"cache-control" for name, _ in headers):
        return headers
    return [*headers, (b"cache-control", b"private, no-store")]


def _traceparent(scope: Scope) -> bytes | None:
    """Return the caller's own ``traceparent``; None where there is none, or more than one."""
    found = [value for name, value in scope["headers"] if name == _TRACEPARENT_KEY]
    return found[0] if len(found) == 1 else None


def _known_method(scope: Scope) -> str:
    """Return the method, of those that there are: a caller may send any text."""
    method = str(scope["method"])
    return method if method in _METHODS else "_OTHER"


def _route(scope: Scope) -> str:
    """Return the route's template, never the path as sent: that is unbounded."""
    return str(getattr(scope.get("route"), "path", "") or "(none)")


_HEAD = "HEAD"


class HeadRequests:
    """ASGI middleware that has a HEAD done as the GET of the same path, where there is one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do a HEAD as a GET; pass on everything else."""
        if not _is_answerable_head(scope):
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # A copy: the server has to know that it sends no body, whatever Content-Length says.
        asked = {**scope, "method": "GET"}
        try:
            await self._app(asked, receive, send_without_body)
        finally:
            scope["route"] = asked.get("route")


def _is_answerable_head(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == _HEAD
        and _HEAD in permissions_in(scope).allowed_methods(scope["path"])
    )
