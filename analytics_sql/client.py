"""Connects to ClickHouse, runs named statements, inserts rows, and converts errors.

This is the only module of the service that imports clickhouse-connect.
"""

import asyncio
import logging
import math
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import urlsplit

import clickhouse_connect
from clickhouse_connect.driver import options
from clickhouse_connect.driver.asyncclient import AsyncClient
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import (
    ClickHouseError,
    DatabaseError,
    DataError,
    InternalError,
    NotSupportedError,
    ProgrammingError,
)

from analytics_sql.cluster import (
    CLUSTER_SETTINGS,
    cluster_of,
    cluster_parameters,
    cluster_statements,
)
from analytics_sql.rows import Table
from common.errors import MisconfiguredError, PlatestreamError, TransientError
from common.settings import ClickHouseSettings
from common.telemetry.messaging import query_span

# If pandas and pyarrow are installed, as with the embedded server, clickhouse-connect imports both
# on the first insert or result, which takes 90 MiB and blocks the event loop for seconds. The
# service uses neither.
for _unused in ("pd", "pd_time_test", "arrow", "pl"):
    setattr(options, _unused, None)
# The library logs every refused connection with a traceback, in addition to raising an error.
logging.getLogger("clickhouse_connect").setLevel(logging.ERROR)

_CONNECT_SECONDS = 5
_SCHEMA_SECONDS = 600
_INSERT_SECONDS = 60
_KEPT_DAYS_SECONDS = 60.0
_SERVER_DATABASE = "default"
_OPTIONAL_LINE = re.compile(r"^(?P<sql>.*?) +-- if (?P<parameter>\w+)$", re.MULTILINE)

# Error codes of a wrong configuration: a missing table or database, denied access, or missing
# columns (16, 47), for example while migrations run.
_MISCONFIGURED_CODES = frozenset({16, 47, 60, 81, 192, 193, 194, 497, 516})
# Error codes of temporary problems: timeouts, network errors, read-only tables, a full queue,
# memory or disk, too many parts or mutations (692), and failed or killed mutations (341).
_TRANSIENT_CODES = frozenset(
    {3, 23, 74, 75, 159, 198, 202, 203, 209, 210, 225, 241, 242, 243, 252, 279, 319, 341, 394, 425}
    | {439, 499, 668, 692, 999}
)

# Part of the error message if a mutation still needs the dropped column. The code is generic.
_MUTATION_AT_WORK = "affected by mutation"

# Errors that the client itself raises, before or after the server's response. Retries do not help.
_CLIENT_FAULTS = (ProgrammingError, DataError, NotSupportedError, InternalError)


class QueryFailedError(PlatestreamError):
    """ClickHouse rejected a statement for a reason other than availability or settings."""


R = TypeVar("R")
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class QueryResult:
    """The result of a query: values row by row, in the order of ``columns``."""

    columns: tuple[str, ...]
    rows: Rows

    def named(self) -> Iterator[dict[str, Any]]:
        """Return each row as a mapping from column names to values."""
        columns = self.columns
        return (dict(zip(columns, row, strict=False)) for row in self.rows)


class ClickHouseClient:
    """The connections to the service's database, for any number of concurrent tasks.

    The first call connects, and so does the next call after a failed connection. Every call raises
    TransientError if ClickHouse is unavailable or busy, MisconfiguredError if the user, password,
    database or table is wrong, and QueryFailedError if ClickHouse rejects the statement.
    """

    def __init__(self, settings: ClickHouseSettings, *, query_seconds: int = 60) -> None:
        """``query_seconds`` is the time limit of a call. ClickHouse continues a timed-out query."""
        self._settings = settings
        self._query_seconds = query_seconds
        self._driver: AsyncClient | None = None
        self._connecting = asyncio.Lock()
        self._retention_days = (-math.inf, 0)

    async def retention_days(self) -> int:
        """Return the minimum retention in days, or 0 if it is unlimited. Cached for a minute."""
        asked_at, days = self._retention_days
        if time.monotonic() - asked_at > _KEPT_DAYS_SECONDS:
            asked_at, days = time.monotonic(), await self.count("kept_days", {})
            self._retention_days = (asked_at, days)
        return days

    async def connect(self) -> None:
        """Connect now, to detect wrong settings before the first query."""
        with clickhouse_errors():
            await self._connected()

    async def query(
        self,
        name: str,
        parameters: Mapping[str, object] | None = None,
        *,
        settings: Mapping[str, int] | None = None,
    ) -> QueryResult:
        """Return the result of ``queries/<name>.sql`` with the lines that ``parameters`` select."""
        text = query_with(name, frozenset(parameters or ()))
        with query_span("clickhouse", name):
            return await self.run(text, parameters, settings=settings)

    async def rows(self, name: str, parameters: Mapping[str, object] | None = None) -> Rows:
        """Return the result rows of ``queries/<name>.sql``."""
        return (await self.query(name, parameters)).rows

    async def count(self, name: str, parameters: Mapping[str, object]) -> int:
        """Return the single number in the result of ``queries/<name>.sql``."""
        return int((await self.rows(name, parameters))[0][0])

    async def run(
        self,
        statement: str,
        parameters: Mapping[str, object] | None = None,
        *,
        settings: Mapping[str, int] | None = None,
    ) -> QueryResult:
        """Return the result of a statement given as text."""
        with clickhouse_errors():
            driver = await self._connected()
            result = await driver.query(
                statement,
                parameters=dict(parameters or {}),
                settings=None if settings is None else dict(settings),
            )
        return QueryResult(tuple(result.column_names), result.result_rows)

    @asynccontextmanager
    async def stream(
        self,
        statement: str,
        parameters: Mapping[str, object],
        *,
        answer_format: str,
        settings: Mapping[str, str],
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield a result in one of ClickHouse's formats, in chunks."""
        with clickhouse_errors():
            driver = await self._connected()
            answer = await driver.raw_stream(
                statement, parameters=dict(parameters), settings=dict(settings), fmt=answer_format
            )
            async with answer as pieces:
                yield pieces

    async def command(self, name: str, parameters: Mapping[str, object]) -> None:
        """Run ``queries/<name>.sql``, which has no result. In a cluster, it runs on all servers."""
        cluster, text = cluster_of(self._settings), query_text(name)
        given = cluster_parameters(text, parameters, cluster)
        with query_span("clickhouse", name), clickhouse_errors():
            driver = await self._connected()
            for statement in cluster_statements(text, cluster):
                await driver.command(statement, parameters=given)

    async def insert(self, table: Table[R], rows: Sequence[R]) -> None:
        """Write rows and return once they are stored. Rewriting a row does not duplicate it.

        Raises:
            TransientError: ClickHouse is unavailable or busy; the rows can be written again.
            QueryFailedError: ClickHouse rejected at least one row.
        """
        if not rows:
            return
        with query_span("clickhouse", "INSERT", table.name), clickhouse_errors():
            driver = await self._connected()
            await driver.insert(
                table.name,
                table.column_values(rows),
                column_names=[column.name for column in table.columns],
                column_type_names=[column.type for column in table.columns],
                column_oriented=True,
                settings={
                    # Allow a single insert to contain rows from any number of months.
                    "max_partitions_per_insert_block": 0,
                    # Readers of rollups rely on this limit: SETTLE_MS of
                    # analytics_sql.traffic.frequent_plates.
                    "max_execution_time": _INSERT_SECONDS,
                },
            )

    async def close(self) -> None:
        """Close the connections."""
        if self._driver is not None:
            driver, self._driver = self._driver, None
            await driver.close()

    async def _connected(self) -> AsyncClient:
        if self._driver is not None:
            return self._driver
        # Several tasks can make the first call, but only one of them opens the pool.
        async with self._connecting:
            if self._driver is None:
                self._driver = await self._open()
            return self._driver

    async def _open(self) -> AsyncClient:
        parts = urlsplit(self._settings.clickhouse_url)
        return await clickhouse_connect.get_async_client(
            host=parts.hostname,
            port=_port(self._settings.clickhouse_url),
            interface=parts.scheme,
            username=self._settings.clickhouse_user,
            password=self._settings.clickhouse_password.get_secret_value(),
            database=self._settings.clickhouse_database,
            # A session allows one query at a time. Our queries do not need a session.
            autogenerate_session_id=False,
            connect_timeout=_CONNECT_SECONDS,
            send_receive_timeout=self._query_seconds,
            settings=_session_settings(self._settings),
            show_clickhouse_errors="scrub",
        )


class MutationAtWorkError(TransientError):
    """A column, projection or index cannot be dropped until a running mutation has finished."""


SchemaClient = Client
"""The blocking client of clickhouse-connect, for migrations and analysts."""


def connect_for_schema(settings: ClickHouseSettings) -> SchemaClient:
    """Open a blocking client to the default database. The service's database may not exist yet.

    Raises:
        TransientError: the server is not responding.
        MisconfiguredError: the user or password is wrong.
    """
    parts = urlsplit(settings.clickhouse_url)
    with clickhouse_errors():
        return clickhouse_connect.get_client(
            host=parts.hostname,
            port=_port(settings.clickhouse_url),
            interface=parts.scheme,
            username=settings.clickhouse_user,
            password=settings.clickhouse_password.get_secret_value(),
            database=_SERVER_DATABASE,
            autogenerate_session_id=False,
            connect_timeout=_CONNECT_SECONDS,
            send_receive_timeout=_SCHEMA_SECONDS,
            settings=_session_settings(settings),
            show_clickhouse_errors="scrub",
        )


def _session_settings(settings: ClickHouseSettings) -> dict[str, Any]:
    return {} if cluster_of(settings) is None else dict(CLUSTER_SETTINGS)


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


@contextmanager
def clickhouse_errors() -> Iterator[None]:
    """Convert exceptions of clickhouse-connect into exceptions of the service.

    Raises:
        TransientError: the network failed, or ClickHouse returned the code of a temporary problem.
        MisconfiguredError: ClickHouse returned the code of a wrong configuration.
        QueryFailedError: ClickHouse returned any other code, or the client itself failed.
    """
    try:
        yield
    except DatabaseError as error:
        raise _translated(error) from error
    except ClickHouseError as error:
        raise QueryFailedError(f"ClickHouse: {error}") from error


def _translated(error: DatabaseError) -> PlatestreamError:
    message = f"ClickHouse: {error}"
    if isinstance(error, _CLIENT_FAULTS):
        return QueryFailedError(message)
    if _MUTATION_AT_WORK in message:
        return MutationAtWorkError(message)
    if error.code is None or error.code in _TRANSIENT_CODES:
        return TransientError(message)
    if error.code in _MISCONFIGURED_CODES:
        return MisconfiguredError(message)
    return QueryFailedError(message)


@cache
def query_text(name: str) -> str:
    """Return the statement in ``queries/<name>.sql``."""
    return files(__package__).joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")


@cache
def query_with(name: str, parameters: frozenset[str]) -> str:
    """Return the statement in ``queries/<name>.sql`` for a set of parameters.

    A line that ends in ``-- if NAME`` is omitted if NAME is not in the set. A statement without
    such lines is returned unchanged, including comments.
    """
    text = query_text(name)
    if not _OPTIONAL_LINE.search(text):
        return text
    return "\n".join(line for line in text.splitlines() if _is_wanted(line, parameters))


def _is_wanted(line: str, parameters: frozenset[str]) -> bool:
    found = _OPTIONAL_LINE.match(line)
    return not line.startswith("--") and (found is None or found.group("parameter") in parameters)
