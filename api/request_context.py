"""What surrounds every request: its id, its log line, its metrics, and the last net for faults."""

import time

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.error_handlers import error_response
from api.errors import ApiError, ErrorCode
from api.limit_headers import limit_headers
from api.metrics import ApiMetrics
from api.request_id import HEADER, give_request_id

log = structlog.get_logger()

_Header = tuple[bytes, bytes]
_NO_SNIFFING: _Header = (b"x-content-type-options", b"nosniff")


class RequestContext:
    """ASGI middleware around everything else."""

    def __init__(self, app: ASGIApp, metrics: ApiMetrics) -> None:
        """Wrap ``app``."""
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give the request its id, then handle it and note what came of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = give_request_id(scope)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        await self._handle(scope, receive, send, request_id)

    async def _handle(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        started = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                header = (HEADER.lower().encode(), request_id.encode())
                told = [*message.get("headers", ()), header, *limit_headers(scope), _NO_SNIFFING]
                message["headers"] = _unkept(told)
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
            self._note(scope, status, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.note_request(scope["method"], route, status, seconds)
        # The route, not the query: that may hold plates.
        log.info(
            "request",
            method=scope["method"],
            route=route,
            status=status,
            duration_ms=round(seconds * 1000, 2),
        )


def _unkept(headers: list[_Header]) -> list[_Header]:
    """Have nobody on the way keep an answer, unless it says what may be kept of it."""
    if any(name == b"cache-control" for name, _ in headers):
        return headers
    return [*headers, (b"cache-control", b"private, no-store")]


def _route(scope: Scope) -> str:
    """Return the route's template, never the path as sent: that is unbounded."""
    return str(getattr(scope.get("route"), "path", "") or "(none)")
