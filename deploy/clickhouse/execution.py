"""Runs statements on the engine: the blocking half of a request."""

from collections.abc import Mapping
from dataclasses import dataclass

from deploy.clickhouse.analysts import OwnerView
from deploy.clickhouse.engine import AnswerStream, Engine, EngineSession, InsertStream, Summary
from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.native_blocks import for_protocol_version
from deploy.clickhouse.reader_statements import check_reads
from deploy.clickhouse.request import QueryRequest
from deploy.clickhouse.statement import InsertHead, is_streamable, leading_word, output_format

_BUFFER_BYTES = 1 << 20
_BUFFER_UNTIL_END_BYTES = 32 << 20
_WHOLE_ANSWER_LIMIT_BYTES = 128 << 20
_DEFAULT_QUERY_LIMIT_BYTES = 262_144
_SERVER_DATABASE = "default"
_GIVES_A_RESULT = frozenset(
    {"SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN", "CHECK", "KILL"}
)


@dataclass(frozen=True)
class WholeAnswer:
    """An answer that is complete in memory."""

    body: bytes
    summary: Summary
    result_format: str | None
    """None for a statement that has no result."""


@dataclass(frozen=True)
class OpenAnswer:
    """An answer that was too long to hold: its beginning, and the running query."""

    buffered: bytes
    result_format: str
    _stream: AnswerStream
    _session: EngineSession
    _protocol_version: int = 0

    def next_block(self) -> bytes | None:
        """Return the next bytes, or None after the last."""
        block = self._stream.next_block()
        return block and for_protocol_version(block, self._protocol_version)

    def close(self) -> None:
        """End the query, if it has not ended, and its session."""
        self._stream.cancel()
        self._session.close()


def start_statement(
    engine: Engine, request: QueryRequest, statement: str
) -> WholeAnswer | OpenAnswer:
    """Run a statement until it ends or its answer has outgrown the buffer.

    Raises:
        ClickHouseError: it failed before anything had to be sent.
    """
    _check_size(request, statement)
    result_format = output_format(statement, request.default_format)
    streams = is_streamable(statement, result_format)
    bounds = {} if streams else {"max_result_bytes": str(_WHOLE_ANSWER_LIMIT_BYTES)}
    view = None if request.owner is None else OwnerView.of(engine, request.owner)
    if view is not None:
        bounds["additional_table_filters"] = view.filters
    session = _open_session(engine, request, bounds)
    try:
        session.check_single(statement)
        if request.only_reads:
            written = session.as_the_engine_writes(statement)
            check_reads(written, request.parameters, engine.table_functions)
            if view is not None:
                view.check(session, written, request.database or _SERVER_DATABASE)
        if streams:
            return _start_stream(request, session, statement, result_format)
        answer = _whole(request, session, statement, result_format)
    except BaseException:
        session.close()
        raise
    session.close()
    return answer


def _start_stream(
    request: QueryRequest, session: EngineSession, statement: str, result_format: str
) -> WholeAnswer | OpenAnswer:
    stream = session.stream(statement, result_format)
    limit = _BUFFER_UNTIL_END_BYTES if request.waits_for_end else _BUFFER_BYTES
    version = _version_of(request, result_format)
    blocks: list[bytes] = []
    size = 0
    while (block := stream.next_block()) is not None:
        blocks.append(for_protocol_version(block, version))
        size += len(block)
        if size > limit:
            return OpenAnswer(b"".join(blocks), result_format, stream, session, version)
    session.close()
    return WholeAnswer(b"".join(blocks), stream.summary, result_format)


def _whole(
    request: QueryRequest, session: EngineSession, statement: str, result_format: str
) -> WholeAnswer:
    body, summary = session.query(statement, result_format)
    body = for_protocol_version(body, _version_of(request, result_format))
    has_result = leading_word(statement) in _GIVES_A_RESULT
    return WholeAnswer(body, summary, result_format if has_result else None)


def _version_of(request: QueryRequest, result_format: str) -> int:
    """Return the protocol version that blocks are written for: only those of Native have one."""
    return request.protocol_version if result_format.lower() == "native" else 0


def _check_size(request: QueryRequest, statement: str) -> None:
    limit = int(request.settings.get("max_query_size", _DEFAULT_QUERY_LIMIT_BYTES))
    if leading_word(statement) != "INSERT" and len(statement.encode("utf-8", "replace")) > limit:
        raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "Max query size exceeded")


class RunningInsert:
    """An insert whose data is on its way."""

    def __init__(self, session: EngineSession, stream: InsertStream) -> None:
        self._session = session
        self._stream = stream

    def append(self, data: bytes) -> None:
        """Push the next bytes."""
        self._stream.append(data)

    def finish(self) -> Summary:
        """Commit."""
        return self._stream.finish()

    def close(self) -> None:
        """Drop what was not committed, and end the session."""
        try:
            self._stream.cancel()
        finally:
            self._session.close()


def start_insert(
    engine: Engine, request: QueryRequest, head: InsertHead, *, in_memory: bool
) -> RunningInsert:
    """Open an insert that gathers its rows in memory, or on the disk, until it is committed.

    Raises:
        ClickHouseError: the statement cannot run, for example as there is no such table.
    """
    session = _open_session(engine, request, {})
    try:
        return RunningInsert(session, session.insert(head, in_memory=in_memory))
    except BaseException:
        session.close()
        raise


def _open_session(
    engine: Engine, request: QueryRequest, bounds: Mapping[str, str]
) -> EngineSession:
    settings = {**bounds, **request.settings, "log_comment": request.tag}
    if request.only_reads:
        # The last one: those before it could not be set behind it.
        settings["readonly"] = "1"
    elif request.is_read_only:
        settings["readonly"] = "2"
    return engine.session(request.database, settings, request.parameters)
