"""HTTP interface of the embedded ClickHouse server: an ASGI application."""

import asyncio
import hmac
import json
import math
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Any, TypeVar

import structlog

from deploy.clickhouse.encoding import ClientDisconnectedError, Receive, framed, received
from deploy.clickhouse.engine import Engine, Summary
from deploy.clickhouse.errors import ClickHouseError, ErrorCode, http_status
from deploy.clickhouse.execution import STATEMENT_LIMIT_BYTES, Result, run
from deploy.clickhouse.reader import as_reader
from deploy.clickhouse.request import QueryRequest, credentials_of, parse_request
from deploy.clickhouse.settings import ANALYST, ClickHouseServerSettings

_log = structlog.get_logger(__name__)
_R = TypeVar("_R")
Watch = asyncio.Task[None]
Send = Callable[[dict[str, Any]], Awaitable[None]]

CONCURRENT_QUERIES = 16
READER_QUERIES = 2
"""Maximum number of queries that the analyst can run concurrently."""
QUEUE_SECONDS = 10.0
"""Time for which a query can wait for a slot. After this time, the query is rejected."""


class Answer:
    """Sends one response, whole or block by block."""

    def __init__(self, send: Send, server: Mapping[str, str], version: str) -> None:
        """``server`` contains the header fields that every response has."""
        self._send = send
        self._server = server
        self._version = version
        self._tag = secrets.token_hex(8)
        self._is_started = False
        self.query_id = ""
        self.is_framed = False
        """Whether the response, including an error, is sent in ClickHouse's compressed frames."""

    async def begin(self, body: bytes, summary: Summary, result_format: str | None) -> None:
        """Start a successful response with its first bytes."""
        fields = {"x-clickhouse-format": result_format} if result_format else {}
        await self._start(HTTPStatus.OK, fields, summary)
        await self.block(body)

    async def block(self, data: bytes, *, is_last: bool = False) -> None:
        """Send the next bytes. Wait while the client is slow."""
        if data or is_last:
            body = framed(data) if self.is_framed else data
            await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})

    async def fail(self, error: ClickHouseError) -> None:
        """Send an error as the response, or after the blocks that have already been sent."""
        text = f"{error.text} (version {self._version})\n".encode()
        if self._is_started:
            tag, mark = self._tag.encode(), b"\r\n__exception__\r\n"
            text = b"%b%b\r\n%b%d %b%b" % (mark, tag, text, len(text), tag, mark)
        else:
            fields = {"x-clickhouse-exception-code": str(error.code)}
            await self._start(http_status(error.code), fields, Summary())
        await self.block(text, is_last=True)

    async def _start(self, status: HTTPStatus, more: Mapping[str, str], summary: Summary) -> None:
        self._is_started = True
        counts = {name: str(count) for name, count in summary.items()}
        fields = {
            **self._server,
            **more,
            "content-type": "text/plain; charset=UTF-8",
            "x-clickhouse-exception-tag": self._tag,
            "x-clickhouse-query-id": self.query_id,
            "x-clickhouse-summary": json.dumps(counts, separators=(",", ":")),
        }
        headers = [
            (name.encode(), text.encode("ascii", "replace")) for name, text in fields.items()
        ]
        await self._send({"type": "http.response.start", "status": int(status), "headers": headers})


async def send_text(send: Send, status: HTTPStatus, text: bytes) -> None:
    """Send a plain-text response to a request that is not a query."""
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": text})


class ClickHouseApp:
    """Serves an engine over HTTP: statements at ``/`` and readiness at ``/ping``."""

    def __init__(self, engine: Engine, settings: ClickHouseServerSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._passwords = {
            ANALYST: settings.clickhouse_server_reader_password,
            settings.clickhouse_user: settings.clickhouse_password,
        }
        self._server = {
            "x-clickhouse-server-display-name": socket.gethostname(),
            "x-clickhouse-timezone": engine.time_zone,
        }
        self._slots = asyncio.Semaphore(CONCURRENT_QUERIES)
        self._reader_slots = asyncio.Semaphore(READER_QUERIES)
        self._threads = ThreadPoolExecutor(CONCURRENT_QUERIES, thread_name_prefix="query")
        self._killers = ThreadPoolExecutor(1, thread_name_prefix="kill")

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle an ASGI request."""
        path, method = scope["path"], scope["method"]
        bare_get = method == "GET" and not scope["query_string"]
        if path == "/ping" or (path == "/" and bare_get):
            await send_text(send, HTTPStatus.OK, b"Ok.\n")
        elif path != "/" or method not in ("GET", "POST"):
            await send_text(send, HTTPStatus.NOT_FOUND, b"Not found\n")
        else:
            await self._serve(scope, receive, send)

    def close(self) -> None:
        """Wait for running engine calls. Must be called after all requests have ended."""
        self._threads.shutdown()
        self._killers.shutdown()

    async def _serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        answer = Answer(send, self._server, self._engine.version)
        try:
            request = self._request(scope)
            answer.query_id, answer.is_framed = request.query_id, request.is_framed
            limit = STATEMENT_LIMIT_BYTES if request.only_reads else math.inf
            async with (
                received(receive, self._engine.data_path, limit) as body,
                self._query_slot(request, receive) as watch,
            ):
                result = await self._in_thread(run, self._engine, request, body)
                await self._send(result, answer, watch)
        except ClickHouseError as error:
            _log.info("query_failed", code=error.code, query_id=answer.query_id)
            await answer.fail(error)
        except ClientDisconnectedError:
            _log.info("client_disconnected", query_id=answer.query_id)
        except Exception:
            # As the outermost handler, report every error to the client in ClickHouse's format.
            _log.exception("request_failed", query_id=answer.query_id)
            await answer.fail(ClickHouseError.of(ErrorCode.UNKNOWN_EXCEPTION, "Internal error"))

    def _request(self, scope: Mapping[str, Any]) -> QueryRequest:
        headers = {str(name, "latin-1"): str(text, "latin-1") for name, text in scope["headers"]}
        request = parse_request(scope["method"], scope["query_string"], headers)
        user, password = credentials_of(scope["query_string"], headers)
        # A user with an empty password does not exist.
        secret = self._passwords.get(user)
        expected = secret.get_secret_value() if secret else ""
        if not expected or not hmac.compare_digest(expected.encode(), password.encode()):
            raise ClickHouseError.of(
                ErrorCode.AUTHENTICATION_FAILED,
                f"{user}: Authentication failed: password is incorrect, or there is no such user",
            )
        is_service = user == self._settings.clickhouse_user
        return request if is_service else as_reader(request)

    async def _send(self, result: Result, answer: Answer, watch: Watch) -> None:
        try:
            await answer.begin(result.body, result.summary, result.result_format)
            while block := await self._in_thread(result.next_block):
                await answer.block(block)
            # Once the response is complete, the server reports a disconnect.
            watch.cancel()
            await answer.block(b"", is_last=True)
        finally:
            await self._in_thread(result.close)

    @asynccontextmanager
    async def _query_slot(self, request: QueryRequest, receive: Receive) -> AsyncIterator[Watch]:
        """Hold a query slot during the block. Kill the query on a disconnect if so requested."""
        needed = (self._reader_slots, self._slots) if request.only_reads else (self._slots,)
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(QUEUE_SECONDS):
                    for slots in needed:
                        await held.enter_async_context(slots)
            except TimeoutError as error:
                message = "Too many simultaneous queries"
                code = ErrorCode.TOO_MANY_SIMULTANEOUS_QUERIES
                raise ClickHouseError.of(code, message) from error
            watch = asyncio.create_task(self._kill_on_disconnect(request, receive))
            held.callback(watch.cancel)
            yield watch

    async def _kill_on_disconnect(self, request: QueryRequest, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if request.ends_with_client:
            loop = asyncio.get_running_loop()
            try:
                await loop.run_in_executor(self._killers, self._engine.kill, request.tag)
            except ClickHouseError as error:
                _log.warning("query_kill_failed", query_id=request.query_id, error=error.text)

    async def _in_thread(self, function: Callable[..., _R], *arguments: object) -> _R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, function, *arguments)
