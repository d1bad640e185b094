"""ASGI middleware for all requests: request IDs, log entries, metrics, errors and HEAD."""

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
    """Names of the metrics, and what an increase means."""

    REQUESTS = "platestream_api_requests"
    """Requests by route, method and status. 5xx statuses rise if a dependency fails."""
    REQUEST_SECONDS = "platestream_api_request_seconds"
    """Seconds from a request's head to the response's last byte. Rises if responses are slower."""


_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
_TRACEPARENT_KEY: Final = TRACEPARENT.encode("ascii")
_COLLECT_SECONDS: Final = 5.0
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ApiMetrics:
    """The request metrics of one application."""

    def __init__(self) -> None:
        """Create a registry that other applications in the process do not share."""
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
    """Collects on an event loop from other threads. Yields nothing if the loop is blocked."""

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
    """The outermost ASGI middleware."""

    def __init__(self, app: ASGIApp, metrics: ApiMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Assign the request ID, then handle, log and count the request."""
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
                # This also runs after a cancellation. The path is omitted: it can contain plates.
                route = _route(scope)
                span.update_name(f"{method} {route}")
                span.set_attributes({"http.request.method": method, "http.route": route})
            if status:
                span.set_attributes({"http.response.status_code": status})
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                fail(span, str(status))

    async def _handle(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> int:
        """Handle a request. Return the status of the response, or 0 if there was no response."""
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
                # Part of the response was sent. Only aborting shows that the rest is missing.
                raise
            answer = error_response(ApiError(ErrorCode.INTERNAL_ERROR), request_id)
            await answer(scope, receive, send_with_id)
        finally:
            self._record(scope, status, time.perf_counter() - started)
        return status

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.record_request(scope["method"], route, status, seconds)
        # Only the route is logged, because path and query can contain plates.
        log.info(
            "request_completed",
            method=scope["method"],
            route=route,
            status=status,
            duration_ms=round(seconds * 1000, 2),
        )


def _not_cached(headers: list[_Header]) -> list[_Header]:
    """Add ``no-store`` if the response has no Cache-Control header."""
    if any(name == b"cache-control" for name, _ in headers):
        return headers
    return [*headers, (b"cache-control", b"private, no-store")]


def _traceparent(scope: Scope) -> bytes | None:
    """Return the caller's ``traceparent``, or None unless the caller sent exactly one."""
    found = [value for name, value in scope["headers"] if name == _TRACEPARENT_KEY]
    return found[0] if len(found) == 1 else None


def _known_method(scope: Scope) -> str:
    """Return a standard method, or ``_OTHER``: a caller can send any text."""
    method = str(scope["method"])
    return method if method in _METHODS else "_OTHER"


def _route(scope: Scope) -> str:
    """Return the route's template, never the path as sent, which has unlimited values."""
    return str(getattr(scope.get("route"), "path", "") or "(none)")


_HEAD = "HEAD"


class HeadRequests:
    """ASGI middleware that handles HEAD as GET of the same path, if the path supports GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle HEAD as GET. Pass on all other requests."""
        if not _is_answerable_head(scope):
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # The scope is copied, because the server must see HEAD to omit the body.
        get_scope = {**scope, "method": "GET"}
        try:
            await self._app(get_scope, receive, send_without_body)
        finally:
            scope["route"] = get_scope.get("route")


def _is_answerable_head(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == _HEAD
        and _HEAD in permissions_in(scope).allowed_methods(scope["path"])
    )
