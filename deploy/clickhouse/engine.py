"""The ClickHouse engine in this process, by chDB. Every call blocks: call it from a thread."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from common.errors import MisconfiguredError
from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.statement import InsertHead

if TYPE_CHECKING:
    from chdb.state.sqlitelike import Connection

_MIB = 1 << 20
_CONFIG_FILE = "server.xml"

# Caches of the engine default to gigabytes; they fill with use, so that a stack that sits idle
# after a day's work would keep them. These sizes hold the indexes of some ten million recognitions.
_CACHE_BYTES = {
    "mark_cache_size": 64 * _MIB,
    "index_mark_cache_size": 32 * _MIB,
    "primary_index_cache_size": 64 * _MIB,
    "text_index_tokens_cache_size": 32 * _MIB,
    "text_index_header_cache_size": 64 * _MIB,
    "text_index_postings_cache_size": 64 * _MIB,
    "query_condition_cache_size": 16 * _MIB,
    "uncompressed_cache_size": 64 * _MIB,
    "compiled_expression_cache_size": 16 * _MIB,
}

_GATHERED = "_gathered_rows_of_this_insert"

# What a ClickHouse server has and chDB, made for the command line, has not.
_SERVER_LIKE_SETTINGS = {
    "implicit_select": "0",
    "allow_introspection_functions": "0",
    # An acknowledged insert is a part on the disk, at once: the sink batches already.
    "async_insert": "0",
}


@dataclass(frozen=True)
class EngineOptions:
    """The options the engine is opened with."""

    data_path: Path
    memory_bytes: int
    """Limit of queries and merges together."""
    query_seconds: int
    """A query that runs longer is ended; 0: never."""
    fsync: bool
    """True: inserts and merges reach the disk before they are acknowledged."""
    keep_free_bytes: int
    """With less room on the disk nothing is inserted or merged.

    chDB 4.4 puts a merged part in the place of its sources though its files found no room (seen:
    empty marks and columns.txt, the rows lost once the sources are removed), so it must not come
    to that. What fills this margin while a merge runs can still spoil it.
    """


@dataclass(frozen=True)
class Summary:
    """The counts of rows and bytes that a statement read and wrote."""

    read_rows: int = 0
    read_bytes: int = 0
    written_rows: int = 0
    written_bytes: int = 0
    result_rows: int = 0
    elapsed_seconds: float = 0.0


class Engine:
    """One data folder, opened by this process alone.

    Raises:
        MisconfiguredError: the folder cannot be opened, for example as another process has it.
    """

    def __init__(self, options: EngineOptions) -> None:
        options.data_path.mkdir(parents=True, exist_ok=True)
        config = options.data_path / _CONFIG_FILE
        config.write_text(_config_xml(options))
        self._path = str(options.data_path.resolve())
        self._defaults = _SERVER_LIKE_SETTINGS | {"max_execution_time": str(options.query_seconds)}
        try:
            # Held open until close(): the engine ends with its last connection.
            self._anchor = _connect(f"{self._path}?config-file={config.resolve()}")
            version, zone = _cells(self._anchor.query("SELECT version(), timezone()", "TSV"))
            functions = self._anchor.query("SELECT name FROM system.table_functions", "TSV")
        except RuntimeError as error:
            raise MisconfiguredError(
                f"cannot open the ClickHouse data folder {self._path}: {error} "
                "(is another process using it?)"
            ) from error
        self.version = version
        self.time_zone = zone
        self.table_functions = frozenset(functions.bytes().decode().lower().split())
        """Their names, in lower case."""

    def session(
        self, database: str, settings: Mapping[str, str], parameters: Mapping[str, str]
    ) -> "EngineSession":
        """Open a connection for one request; nothing of it outlives :meth:`EngineSession.close`.

        A connection costs 0.1 ms, so none is ever used twice and no state can leak.

        Raises:
            ClickHouseError: unknown database or setting.
        """
        session = EngineSession(_connect(self._path), parameters)
        try:
            session.prepare(database, self._defaults | dict(settings))
        except ClickHouseError:
            session.close()
            raise
        return session

    def kill(self, tag: str) -> None:
        """Ask the engine to end the query of the session whose ``log_comment`` is ``tag``.

        Raises:
            ClickHouseError: the engine could not be asked.
        """
        session = EngineSession(_connect(self._path), {"tag": tag})
        try:
            session.query("KILL QUERY WHERE Settings['log_comment'] = {tag:String} ASYNC", "TSV")
        finally:
            session.close()

    def close(self) -> None:
        """Stop merges and release the folder."""
        self._anchor.close()


def _connect(target: str) -> "Connection":
    # chDB imports pyarrow where it is installed, for answers as Arrow objects. Nobody here asks for
    # those, and without it the process is 40 MiB smaller.
    sys.modules.setdefault("pyarrow", None)  # type: ignore[arg-type]
    from chdb.state.sqlitelike import Connection

    return Connection(target)


def _cells(result: Any) -> list[str]:
    return str(result.bytes().decode()).rstrip("\n").split("\t")


def _config_xml(options: EngineOptions) -> str:
    fsync = int(options.fsync)
    server = _CACHE_BYTES | {"max_server_memory_usage": options.memory_bytes}
    merge_tree = {
        "fsync_after_insert": fsync,
        "fsync_part_directory": fsync,
        "min_rows_to_fsync_after_merge": fsync,
    }
    disk = {"keep_free_space_bytes": options.keep_free_bytes}
    return (
        f"<clickhouse>{_elements(server)}<merge_tree>{_elements(merge_tree)}</merge_tree>"
        f"<storage_configuration><disks><default>{_elements(disk)}</default></disks>"
        "</storage_configuration></clickhouse>\n"
    )


def _elements(values: Mapping[str, int]) -> str:
    return "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in values.items())


class EngineSession:
    """One request's connection: its settings, database and parameters."""

    def __init__(self, connection: "Connection", parameters: Mapping[str, str]) -> None:
        self._connection = connection
        self._parameters = dict(parameters)

    def prepare(self, database: str, settings: Mapping[str, str]) -> None:
        """Apply database and settings."""
        if database:
            self._query(f"USE {_quoted(database, '`')}")
        clauses = [f"{_setting_name(name)} = {_quoted(value)}" for name, value in settings.items()]
        self._query(f"SET {', '.join(clauses)}")

    def check_single(self, statement: str) -> None:
        """Refuse several statements in one text, as a server does; one costs 0.1 ms.

        Raises:
            ClickHouseError: there are several.
        """
        kind = self._connection._conn.classify_query(statement)
        if kind["statement_count"] > 1:
            raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "Multi-statements are not allowed")

    def as_the_engine_writes(self, statement: str) -> str:
        """Return a statement in the engine's own spelling: what its parser took it for.

        Raises:
            ClickHouseError: the parser does not take it.
        """
        given = {"statement": _escaped(statement)}
        asked = "SELECT formatQuery({statement:String})"
        try:
            result = self._connection.query(asked, "RawBLOB", params=given)
        except RuntimeError as error:
            # What follows tells of our question, not of the statement.
            raise ClickHouseError.from_engine(str(error).split(": In scope ")[0]) from error
        return bytes(result.bytes()).decode("utf-8", "surrogateescape")

    def query(self, statement: str, answer_format: str) -> tuple[bytes, Summary]:
        """Run one statement to its end and return the whole answer."""
        result = self._query(statement, answer_format)
        return result.bytes(), Summary(
            result.storage_rows_read(),
            result.storage_bytes_read(),
            result.rows_written(),
            result.bytes_written(),
            result.rows_read(),
            result.elapsed(),
        )

    def stream(self, statement: str, answer_format: str) -> "AnswerStream":
        """Start a query whose answer comes block by block."""
        try:
            result = self._connection.send_query(statement, answer_format, params=self._parameters)
        except RuntimeError as error:
            raise ClickHouseError.from_engine(str(error)) from error
        return AnswerStream(result)

    def insert(self, head: InsertHead, *, in_memory: bool) -> "InsertStream":
        """Start an insert whose data is pushed as encoded bytes; parameters are not applied.

        The bytes are gathered in a table of this session, in memory or on the disk.

        Raises:
            ClickHouseError: there is no such table, or the head is none.
        """
        # Named, or it would have the primary key of the target, and no sorting key that begins so.
        engine = "Memory" if in_memory else "MergeTree PRIMARY KEY tuple() ORDER BY tuple()"
        self._query(f"CREATE TEMPORARY TABLE {_GATHERED} ENGINE = {engine} AS {head.target}")
        columns = "" if head.columns == "*" else f" ({head.columns})"
        gather = f"INSERT INTO {_GATHERED}{columns} {head.options}"
        commit = (
            f"INSERT INTO {head.target}{columns} {head.options} "
            f"SELECT {head.columns} FROM {_GATHERED}"
        )
        try:
            inserter = self._connection.send_insert(gather, head.data_format)
        except RuntimeError as error:
            raise ClickHouseError.from_engine(str(error)) from error
        return InsertStream(self, inserter, commit)

    def close(self) -> None:
        """Give the connection back to the engine."""
        self._connection.close()

    def _query(self, statement: str, answer_format: str = "TSV") -> Any:
        try:
            return self._connection.query(statement, answer_format, params=self._parameters)
        except RuntimeError as error:
            raise ClickHouseError.from_engine(str(error)) from error


class AnswerStream:
    """A running query: blocks come out one by one."""

    def __init__(self, result: Any) -> None:
        self._result = result
        self.summary = Summary()

    def next_block(self) -> bytes | None:
        """Return the next block's bytes, or None after the last.

        Raises:
            ClickHouseError: the query failed on the way.
        """
        try:
            block = self._result.fetch()
        except RuntimeError as error:
            raise ClickHouseError.from_engine(str(error)) from error
        if block is None:
            return None
        self.summary = _added(self.summary, block)
        return bytes(block.bytes())

    def cancel(self) -> None:
        """End the query; harmless after its end."""
        self._result.cancel()


def _added(summary: Summary, block: Any) -> Summary:
    return Summary(
        read_rows=summary.read_rows + block.storage_rows_read(),
        read_bytes=summary.read_bytes + block.storage_bytes_read(),
        result_rows=summary.result_rows + block.rows_read(),
        elapsed_seconds=summary.elapsed_seconds + block.elapsed(),
    )


class InsertStream:
    """A running insert: encoded bytes go in, and count only once :meth:`finish` has returned.

    chDB says that a streaming insert is done even when its rows found no room on the disk (seen
    with 4.4: 516 of 1,152 acknowledged rows were gone), while a query that fails says so. So the
    stream only fills a table of the session, and one query brings what is there into the target.
    """

    def __init__(self, session: EngineSession, inserter: Any, commit: str) -> None:
        self._session = session
        self._inserter = inserter
        self._commit = commit

    def append(self, data: bytes) -> None:
        """Push the next bytes, cut anywhere.

        Raises:
            ClickHouseError: the engine refused what came so far.
        """
        try:
            self._inserter.append(data)
        except RuntimeError as error:
            raise ClickHouseError.from_engine(str(error)) from error

    def finish(self) -> Summary:
        """Commit; the rows are written when this returns.

        Raises:
            ClickHouseError: the insert failed.
        """
        try:
            pushed = self._inserter.finish().rows_written
        except RuntimeError as error:
            raise ClickHouseError.from_engine(str(error)) from error
        gathered, _ = self._session.query(f"SELECT count() FROM {_GATHERED}", "TSV")
        if int(gathered) != pushed:
            raise ClickHouseError.of(
                ErrorCode.NOT_ENOUGH_SPACE, f"{pushed} rows came, {int(gathered)} found room"
            )
        _, summary = self._session.query(self._commit, "TSV")
        return summary

    def cancel(self) -> None:
        """Drop what was not committed; harmless after the end."""
        self._inserter.cancel()


def _quoted(text: str, quote: str = "'") -> str:
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def _escaped(text: str) -> str:
    """Return a text as the value of a parameter. **Source:** ClickHouse, format TabSeparated."""
    for character, written in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\0", "\\0")):
        text = text.replace(character, written)
    return text


def _setting_name(name: str) -> str:
    if not name.replace("_", "a").isalnum() or not name.isascii():
        raise ClickHouseError.from_engine(
            f"Code: 115. DB::Exception: Unknown setting {_quoted(name)}. (UNKNOWN_SETTING)"
        )
    return name
