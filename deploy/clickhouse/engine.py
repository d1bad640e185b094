"""Runs the ClickHouse engine (chDB) in this process. Calls block, so make them in a thread."""

import json
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

from common.errors import MisconfiguredError
from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.statement import InsertHead

if TYPE_CHECKING:
    from chdb.state.sqlitelike import Connection

MEMORY_BYTES = 1 << 30
"""Memory limit for all queries and merges together."""
KEEP_FREE_BYTES: Final = 256 << 20
"""Free disk space below which inserts and merges stop (``server.xml``)."""

_CONFIG = Path(__file__).with_name("server.xml")
# Used if a client asks for `default`, in which the engine treats unknown tables as files.
_DEFAULT_DATABASE = "embedded_server"
_GATHERED = "_gathered_rows_of_this_insert"
# Parameter values use ClickHouse's TabSeparated format.
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\t": r"\t", "\0": r"\0"})

Summary = Counter[str]
"""Row and byte counts and the duration of a statement, under ClickHouse's names."""


class Engine:
    """The engine with its data folder, which only one process can open at a time.

    Raises:
        MisconfiguredError: the folder cannot be opened, for example because it is in use.
    """

    def __init__(self, data_path: Path) -> None:
        """Open the data folder, and create it if necessary."""
        self.data_path = data_path.resolve()
        self.data_path.mkdir(parents=True, exist_ok=True)
        config = self.data_path / "server.xml"
        config.write_text(
            Template(_CONFIG.read_text()).substitute(
                users=_CONFIG.with_name("users.xml"),
                memory_bytes=MEMORY_BYTES,
                keep_free_bytes=KEEP_FREE_BYTES,
                backups=self.data_path / "backups",
            )
        )
        try:
            # Keep this open until close(), because the engine stops with its last connection.
            self._anchor = _connect(f"{self.data_path}?config-file={config}")
            self._anchor.query(f"CREATE DATABASE IF NOT EXISTS {_DEFAULT_DATABASE}")
            about = self._anchor.query(
                "SELECT version(), timezone(), groupArray(lower(name)) FROM system.table_functions"
                " FORMAT JSONCompactEachRow"
            )
        except RuntimeError as error:
            raise MisconfiguredError(
                f"cannot open the ClickHouse data folder {self.data_path}: {error} "
                "(is another process using it?)"
            ) from error
        self.version, self.time_zone, names = json.loads(about.bytes())
        self.table_functions = frozenset(names)
        """Lower-case names of the engine's table functions."""

    @contextmanager
    def session(
        self, database: str, settings: Mapping[str, str], parameters: Mapping[str, str]
    ) -> Iterator["EngineSession"]:
        """Yield a new connection for one request. Opening a connection takes 0.1 ms.

        Raises:
            ClickHouseError: the database or a setting is unknown.
        """
        with closing(_connect(str(self.data_path))) as connection:
            session = EngineSession(connection, parameters)
            name = _DEFAULT_DATABASE if database in ("", "default") else database
            session.query(f"USE {_quoted(name, '`')}")
            values = (f"{_name(name)} = {_quoted(value)}" for name, value in settings.items())
            session.query(f"SET {', '.join(values)}")
            yield session

    def kill(self, tag: str) -> None:
        """Ask the engine to kill the query whose session has the ``log_comment`` ``tag``."""
        with self.session("", {"readonly": "0"}, {"tag": tag}) as session:
            session.query("KILL QUERY WHERE Settings['log_comment'] = {tag:String} ASYNC")

    def close(self) -> None:
        """Stop merges and release the data folder."""
        self._anchor.close()


def _connect(target: str) -> "Connection":
    # If pyarrow is installed, chDB imports it to return Arrow objects. This server never requests
    # Arrow objects, and the process is 40 MiB smaller without pyarrow.
    sys.modules.setdefault("pyarrow", None)  # type: ignore[arg-type]
    from chdb.state.sqlitelike import Connection

    return Connection(target)


class EngineSession:
    """One request's connection, with its settings, database and parameters."""

    def __init__(self, connection: "Connection", parameters: Mapping[str, str]) -> None:
        self._connection = connection
        self._parameters = dict(parameters)

    def only_reads(self, statement: str) -> bool:
        """Return whether the engine classifies a statement as read-only. The call takes 0.1 ms.

        Raises:
            ClickHouseError: the text contains several statements.
        """
        found = self._connection._conn.classify_query(statement)
        if found["statement_count"] > 1:
            raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "Multi-statements are not allowed")
        return bool(found["query_class"].name == "READ_ONLY")

    def formatted(self, statement: str) -> str:
        """Return a statement as parsed and formatted by the engine.

        Raises:
            ClickHouseError: the statement cannot be parsed.
        """
        sql, given = "SELECT formatQuery({sql:String})", {"sql": statement.translate(_ESCAPES)}
        try:
            result = self._connection.query(sql, "RawBLOB", params=given)
        except RuntimeError as error:
            # The rest of the message describes the formatting query, not the statement.
            raise ClickHouseError.from_engine(str(error).split(": In scope ")[0]) from error
        return bytes(result.bytes()).decode("utf-8", "surrogateescape")

    def query(self, statement: str, answer_format: str = "TSV") -> tuple[bytes, Summary]:
        """Run one statement to completion and return the whole result.

        Raises:
            ClickHouseError: the statement failed.
        """
        with _engine_errors():
            result = self._connection.query(statement, answer_format, params=self._parameters)
        summary = _read(result)
        summary["written_rows"] = result.rows_written()
        summary["written_bytes"] = result.bytes_written()
        return result.bytes(), summary

    def blocks(self, statement: str, answer_format: str) -> Generator[tuple[bytes, Summary]]:
        """Yield the result of a query block by block. Closing the generator cancels the query.

        Raises:
            ClickHouseError: the query failed.
        """
        with _engine_errors():
            given = self._parameters
            result: Any = self._connection.send_query(statement, answer_format, params=given)
            try:
                while (block := result.fetch()) is not None:
                    yield bytes(block.bytes()), _read(block)
            finally:
                result.cancel()

    def insert(self, head: InsertHead, path: str, *, in_memory: bool) -> Summary:
        """Insert all rows of a file, or none, and return the summary.

        The rows are inserted into a temporary table first (in memory if ``in_memory``), so that a
        parsing error does not leave some of them in the target.

        Raises:
            ClickHouseError: the table is missing, a row cannot be parsed, or the disk is full.
        """
        # Without an explicit key, the table would get the target's primary key, but no sorting key.
        engine = "Memory" if in_memory else "MergeTree PRIMARY KEY tuple() ORDER BY tuple()"
        self.query(f"CREATE TEMPORARY TABLE {_GATHERED} ENGINE = {engine} AS {head.target}")
        columns = "" if head.columns == "*" else f" ({head.columns})"
        self.query(
            f"INSERT INTO {_GATHERED}{columns} FROM INFILE {_quoted(path)} COMPRESSION 'none'"
            f" {head.options} FORMAT {head.data_format}"
        )
        return self.query(
            f"INSERT INTO {head.target}{columns} {head.options}"
            f" SELECT {head.columns} FROM {_GATHERED}"
        )[1]


@contextmanager
def _engine_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise ClickHouseError.from_engine(str(error)) from error


def _read(result: Any) -> Summary:
    return Summary(
        read_rows=result.storage_rows_read(),
        read_bytes=result.storage_bytes_read(),
        result_rows=result.rows_read(),
        elapsed_ns=int(result.elapsed() * 1e9),
    )


def _quoted(text: str, quote: str = "'") -> str:
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def _name(setting: str) -> str:
    if not setting.replace("_", "a").isalnum() or not setting.isascii():
        raise ClickHouseError.of(ErrorCode.UNKNOWN_SETTING, f"Unknown setting {_quoted(setting)}")
    return setting
