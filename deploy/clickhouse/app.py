"""The HTTP side of the embedded ClickHouse server: an ASGI application."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import structlog

from deploy.clickhouse.analysts import Analysts, HourlyQuota
from deploy.clickhouse.answer import Answer, Send, ServerIdentity, send_text
from deploy.clickhouse.block_frames import FrameEncoder
from deploy.clickhouse.body import ClientGoneError, Receive, RequestBody
from deploy.clickhouse.engine import Engine
from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.execution import OpenAnswer, RunningInsert, start_insert, start_statement
from deploy.clickhouse.reader_bounds import ReaderBounds
from deploy.clickhouse.reader_statements import refuse_writing
from deploy.clickhouse.request import (
    Credentials,
    OwnerRows,
    QueryRequest,
    credentials_of,
    parse_form,
    parse_request,
)
from deploy.clickhouse.statement import InsertHead, insert_head, starts_insert

_log = structlog.get_logger(__name__)
_R = TypeVar("_R")

_STATEMENT_LIMIT_BYTES = 16 << 20
_INSERT_HEAD_BYTES = 4 << 10
_INSERT_HEAD_LIMIT_BYTES = 256 << 10
_INSERT_PIECE_BYTES = 1 << 20
# A longer one, a table that is restored for example, is gathered on the disk.
_INSERT_IN_MEMORY_BYTES = 16 << 20


@dataclass(frozen=True)
class Limits:
    """The server's concurrency."""

    concurrent_queries: int
    queue_seconds: float
    reader_queries: int = 1
    """Limit of those of the user who may only read."""


@dataclass(frozen=True)
class Account:
    """A user of the server."""

    credentials: Credentials
    reads_within: ReaderBounds | None = None
    """Bounds of one who may only read; None for the service itself."""
    owner: OwnerRows | None = None
    """The only rows that are read; None: all."""

    def applied_to(self, request: QueryRequest) -> QueryRequest:
        """Return the request as this user may make it.

        Raises:
            ClickHouseError: a setting or a database that it may not have.
        """
        if self.reads_within is None:
            return request
        request = self.reads_within.applied_to(request)
        if self.owner is None:
            return request
        return replace(request, owner=self.owner, database=request.database or self.owner.database)


@dataclass(frozen=True)
class OwnerReaders:
    """The users who may read one owner's rows, with the bounds of each."""

    analysts: Analysts
    bounds: ReaderBounds
    quota: HourlyQuota


class ClickHouseApp:
    """Serves one engine: statements at ``/``, readiness at ``/ping``."""

    def __init__(
        self,
        engine: Engine,
        accounts: Sequence[Account],
        limits: Limits,
        display_name: str,
        readers: OwnerReaders,
    ) -> None:
        self._engine = engine
        self._accounts = tuple(accounts)
        self._readers = readers
        # None of them takes all the turns of those who only read.
        self._turns: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(max(1, limits.reader_queries // 2))
        )
        self._limits = limits
        self._identity = ServerIdentity(display_name, engine.version, engine.time_zone)
        self._slots = asyncio.Semaphore(limits.concurrent_queries)
        self._reader_slots = asyncio.Semaphore(limits.reader_queries)
        self._threads = ThreadPoolExecutor(limits.concurrent_queries, thread_name_prefix="query")
        self._killers = ThreadPoolExecutor(1, thread_name_prefix="kill")

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        path, method = scope["path"], scope["method"]
        bare_get = method == "GET" and not scope["query_string"]
        if path == "/ping" or (path == "/" and bare_get):
            await send_text(send, HTTPStatus.OK, b"Ok.\n")
        elif path != "/" or method not in ("GET", "POST"):
            await send_text(send, HTTPStatus.NOT_FOUND, b"Nothing is served here\n")
        else:
            await self._serve(scope, receive, send)

    def close(self) -> None:
        """Wait for running calls into the engine; call it when no request is open any more."""
        self._threads.shutdown()
        self._killers.shutdown()

    async def _serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        answer = Answer(send, self._identity, "", "")
        try:
            request = parse_request(scope["method"], scope["query_string"], headers)
            answer = Answer(send, self._identity, request.query_id, request.accept_encoding)
            account = await self._admit(scope["query_string"], headers)
            request = account.applied_to(request)
            if request.frames_answer:
                answer.in_frames(FrameEncoder(request.settings))
            body = RequestBody(receive, request.content_encoding, is_framed=request.frames_body)
            await self._run_within_quota(request, body, answer)
        except ClickHouseError as error:
            _log.info("query_failed", code=error.code, query_id=answer.query_id)
            await answer.fail(error)
        except ClientGoneError:
            _log.info("client_gone", query_id=answer.query_id)
        except Exception:
            # The edge of a request: whatever it was, the client gets an answer in its form.
            _log.exception("request_failed", query_id=answer.query_id)
            await answer.fail(ClickHouseError.of(ErrorCode.UNKNOWN_EXCEPTION, "Internal error"))

    async def _admit(self, query_string: bytes, headers: Mapping[str, str]) -> Account:
        user, password = credentials_of(query_string, headers)
        found = [one for one in self._accounts if one.credentials.admit(user, password)]
        names = {one.credentials.user for one in self._accounts}
        if not found and user and password and user not in names:
            owner = await self._in_thread(self._readers.analysts.find, user, password)
            if owner is not None:
                return Account(Credentials(user, password), self._readers.bounds, owner)
        if not found:
            raise ClickHouseError.of(
                ErrorCode.AUTHENTICATION_FAILED,
                f"{user}: Authentication failed: password is incorrect, or there is no such user",
            )
        return found[0]

    async def _run_within_quota(
        self, request: QueryRequest, body: RequestBody, answer: Answer
    ) -> None:
        if request.owner is None:
            await self._run(request, body, answer)
            return
        quota, user = self._readers.quota, request.owner.user
        quota.admit(user)
        async with self._slot_of(self._turns[user]):
            started = time.monotonic()
            try:
                await self._run(request, body, answer)
            finally:
                quota.spend(user, time.monotonic() - started)

    async def _run(self, request: QueryRequest, body: RequestBody, answer: Answer) -> None:
        if request.is_form:
            form = parse_form(request.content_type, await body.rest(_STATEMENT_LIMIT_BYTES))
            parameters = {**request.parameters, **form.parameters}
            request = replace(request, parameters=parameters)
            await self._run_statement(request, request.query + form.query, body, answer)
            return
        start = request.query.encode() + b"\n" if request.query else b""
        text, head = await _read_head(body, start)
        if head is not None:
            if request.only_reads:
                refuse_writing()
            await self._run_insert(request, head, text[head.data_offset :], body, answer)
            return
        statement = await body.rest(_STATEMENT_LIMIT_BYTES, text)
        await self._run_statement(
            request, statement.decode("utf-8", "surrogateescape"), body, answer
        )

    async def _run_statement(
        self, request: QueryRequest, statement: str, body: RequestBody, answer: Answer
    ) -> None:
        async with self._slot(request), self._killed_with_client(request, body):
            result = await self._in_thread(start_statement, self._engine, request, statement)
            if isinstance(result, OpenAnswer):
                await self._send_open(result, answer)
            else:
                await answer.whole(result.body, result.summary, result.result_format)

    async def _send_open(self, result: OpenAnswer, answer: Answer) -> None:
        try:
            await answer.begin(result.result_format)
            block: bytes | None = result.buffered
            while block is not None:
                await answer.block(block)
                block = await self._in_thread(result.next_block)
            await answer.end()
        finally:
            await self._in_thread(result.close)

    async def _run_insert(
        self,
        request: QueryRequest,
        head: InsertHead,
        data: bytes,
        body: RequestBody,
        answer: Answer,
    ) -> None:
        async with self._slot(request):
            data += await body.next_piece(_INSERT_IN_MEMORY_BYTES - len(data))
            start = partial(start_insert, in_memory=len(data) < _INSERT_IN_MEMORY_BYTES)
            insert = await self._in_thread(start, self._engine, request, head)
            try:
                await self._push(insert, data, body)
                summary = await self._in_thread(insert.finish)
            finally:
                await self._in_thread(insert.close)
        await answer.whole(b"", summary, None)

    async def _push(self, insert: RunningInsert, data: bytes, body: RequestBody) -> None:
        while True:
            data += await body.next_piece(_INSERT_PIECE_BYTES - len(data))
            if not data:
                return
            await self._in_thread(insert.append, data)
            data = b""

    @asynccontextmanager
    async def _slot(self, request: QueryRequest) -> AsyncIterator[None]:
        needed = (self._reader_slots, self._slots) if request.only_reads else (self._slots,)
        async with self._slot_of(*needed):
            yield

    @asynccontextmanager
    async def _slot_of(self, *needed: asyncio.Semaphore) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._limits.queue_seconds):
                    for slots in needed:
                        await held.enter_async_context(slots)
            except TimeoutError as error:
                raise ClickHouseError.of(
                    ErrorCode.TOO_MANY_SIMULTANEOUS_QUERIES, "Too many simultaneous queries"
                ) from error
            yield

    @asynccontextmanager
    async def _killed_with_client(
        self, request: QueryRequest, body: RequestBody
    ) -> AsyncIterator[None]:
        watch = asyncio.create_task(self._kill_when_gone(request, body))
        try:
            yield
        finally:
            watch.cancel()

    async def _kill_when_gone(self, request: QueryRequest, body: RequestBody) -> None:
        await body.client_gone()
        if request.ends_with_client:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._killers, self._kill, request)

    def _kill(self, request: QueryRequest) -> None:
        try:
            self._engine.kill(request.tag)
        except ClickHouseError as error:
            _log.warning("kill_failed", query_id=request.query_id, error=error.text)

    async def _in_thread(self, function: Callable[..., _R], *arguments: object) -> _R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(function, *arguments))


async def _read_head(body: RequestBody, text: bytes) -> tuple[bytes, InsertHead | None]:
    """Read until it is clear whether an insert with data comes; return all that was read."""
    head = insert_head(text)
    while head is None and len(text) < _INSERT_HEAD_LIMIT_BYTES:
        piece = await body.next_piece(_INSERT_HEAD_BYTES)
        text += piece
        head = insert_head(text)
        if not piece or not starts_insert(text):
            break
    return text, head
