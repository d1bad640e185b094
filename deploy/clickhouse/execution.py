"""Runs statements on the engine, which is the blocking part of a request."""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from typing import IO, Final

from deploy.clickhouse.encoding import Body, check_size, copied, decoded, read
from deploy.clickhouse.engine import Engine, EngineSession, Summary
from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.reader import check_reads, reject_writing
from deploy.clickhouse.request import QueryRequest, parse_form
from deploy.clickhouse.statement import insert_head, is_streamable, leading_word, output_format

STATEMENT_LIMIT_BYTES: Final = 16 << 20
_INSERT_HEAD_BYTES = 256 << 10
# Size above which the rows of an insert are parsed into a table on disk.
_INSERT_IN_MEMORY_BYTES = 16 << 20
_BUFFER_BYTES = 1 << 20
_WHOLE_ANSWER_LIMIT_BYTES = 128 << 20
_DEFAULT_QUERY_LIMIT_BYTES = 262_144
_GIVES_A_RESULT = ("SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN", "KILL")


@dataclass(frozen=True)
class Result:
    """All bytes of a result, or the first bytes of a long one. The caller must close the result."""

    body: bytes
    summary: Summary
    result_format: str | None
    """Output format of the result, or None if the statement has no result."""
    rest: Generator[bytes] | None = None

    def next_block(self) -> bytes:
        """Return the next bytes after ``body``, or ``b""`` at the end."""
        return next(self.rest, b"") if self.rest else b""

    def close(self) -> None:
        """Cancel the query if it is still running."""
        if self.rest:
            self.rest.close()


def run(engine: Engine, request: QueryRequest, received: IO[bytes]) -> Result:
    """Run a request. Return the result when it is complete, or when it is too long to be buffered.

    Raises:
        ClickHouseError: the request failed before any part of the result was returned.
    """
    body = decoded(received, request.content_encoding)
    if request.content_type.lower().startswith("multipart/form-data"):
        query, parameters = parse_form(request.content_type, _remaining(body))
        request = replace(request, parameters={**request.parameters, **parameters})
        return _run_statement(engine, request, request.query + query)
    start = request.query.encode() + b"\n" if request.query else b""
    text = start + read(body, _INSERT_HEAD_BYTES)
    head = insert_head(text)
    if head is None:
        statement = _remaining(body, text).decode("utf-8", "surrogateescape")
        return _run_statement(engine, request, statement)
    if request.only_reads:
        reject_writing()
    with (
        _session(engine, request) as session,
        copied(text[head.data_offset :], body, engine.data_path) as rows,
    ):
        in_memory = os.stat(rows.fileno()).st_size < _INSERT_IN_MEMORY_BYTES
        path = f"/proc/self/fd/{rows.fileno()}"
        return Result(b"", session.insert(head, path, in_memory=in_memory), None)


def _remaining(body: Body, start: bytes = b"") -> bytes:
    text = start + read(body, STATEMENT_LIMIT_BYTES)
    check_size(len(text), STATEMENT_LIMIT_BYTES)
    return text


def _run_statement(engine: Engine, request: QueryRequest, statement: str) -> Result:
    word = leading_word(statement)
    limit = int(request.settings.get("max_query_size", _DEFAULT_QUERY_LIMIT_BYTES))
    if word != "INSERT" and len(statement.encode("utf-8", "replace")) > limit:
        raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "Max query size exceeded")
    result_format = output_format(statement, request.default_format)
    streams = is_streamable(statement, result_format)
    if not streams:
        bounds = {"max_result_bytes": str(_WHOLE_ANSWER_LIMIT_BYTES)}
        request = replace(request, settings={**bounds, **request.settings})
    with ExitStack() as opened:
        session = opened.enter_context(_session(engine, request))
        _check(engine, session, request, statement)
        if streams:
            return _stream(session, statement, result_format, opened.pop_all())
        body, summary = session.query(statement, result_format)
    return Result(body, summary, result_format if word in _GIVES_A_RESULT else None)


def _check(engine: Engine, session: EngineSession, request: QueryRequest, statement: str) -> None:
    only_reads = session.only_reads(statement)
    if request.only_reads:
        formatted = session.formatted(statement)
        if not only_reads:
            reject_writing()
        check_reads(formatted, engine.table_functions)


def _stream(
    session: EngineSession, statement: str, result_format: str, opened: ExitStack
) -> Result:
    """Return the result of a query. ``opened`` is closed at the end of the result."""
    summary = Summary()

    def blocks() -> Generator[bytes]:
        with opened, closing(session.blocks(statement, result_format)) as found:
            for block, counts in found:
                summary.update(counts)
                if block:
                    yield block

    rest, first, size = blocks(), list[bytes](), 0
    for block in rest:
        first.append(block)
        size += len(block)
        if size > _BUFFER_BYTES:
            return Result(b"".join(first), summary, result_format, rest)
    return Result(b"".join(first), summary, result_format)


def _session(engine: Engine, request: QueryRequest) -> AbstractContextManager[EngineSession]:
    settings = {**request.settings, "log_comment": request.tag}
    given = settings.pop("readonly", "0")
    # This setting must come last, because it prevents further changes to settings.
    settings["readonly"] = "1" if request.only_reads else "2" if request.is_read_only else given
    return engine.session(request.database, settings, request.parameters)
