"""Restricts the analyst, the installation's one user with read-only access to all rows.

The engine enforces most restrictions. The engine's only user cannot open files, other servers or
programs (``users.xml``), a session with ``readonly = 1`` can neither write nor change settings, and
``classify_query`` detects read-only statements. This module rejects dangerous access that the
engine allows (observed with chDB 26.9): the function ``file``, tables of ``system`` that show other
users' queries, and settings that open files. Nothing here restricts an analyst to one account.
"""

import re
from dataclasses import replace

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.request import QueryRequest
from recognition.processors import available_processors

# Settings that the analyst can change. JDBC sends async_insert with every query, where it has no
# effect. Settings that name files are excluded, because the engine opens such files even in
# read-only mode (format_template_row, output_format_schema).
_SETTINGS = re.compile(
    r"""(wait_for_)?async_insert | network_compression_method | max_(execution_time|memory_usage
    |threads|block_size|result_rows) | result_overflow_mode | limit | offset | extremes
    | (join|group_by)_use_nulls | session_timezone | date_time_(input|output)_format
    | prefer_column_name_to_alias | cancel_http_readonly_queries_on_client_close
    | http_(headers_progress_interval_ms|zlib_compression_level) | send_progress_in_http_headers
    | (format_csv|output_format_(arrow|csv|decimal|json|parquet|pretty|tsv))_[a-z0-9_]+""",
    re.VERBOSE,
)
# These names are rejected anywhere in a statement, because functions can be called in many ways,
# such as arrayMap(file, ...) and * APPLY file. The AI functions call services on the network.
_REJECTED = re.compile(
    "file|outfile|parallel|processlist|grants"
    "|ai(classify|embed|extract|filter|generate|redact|similarity|translate)"
)
# Table functions that generate rows. All other table functions are rejected, even unknown ones.
_TABLE_FUNCTIONS = re.compile(
    "format|generate_?series|generaterandom|null|(numbers|zeros)(_mt)?|primes|sqlstandardvalues"
    "|values|view"
)
_SYSTEM_TABLES = re.compile(
    "columns|databases|data_(skipping_indices|type_families)|formats|functions|keywords|one"
    "|(numbers|zeros)(_mt)?|parts|projections|settings|table_(engines|functions)|tables|time_zones"
)
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*"|\w+|\S""", re.DOTALL
)

QUERY_SECONDS = 60
"""Maximum duration of each query by the analyst."""
MEMORY_BYTES = 256 << 20
"""Memory limit for each query by the analyst."""


def as_reader(request: QueryRequest) -> QueryRequest:
    """Return the analyst's request as a read-only request with resource limits.

    Raises:
        ClickHouseError: the request changes a forbidden setting or uses the database ``system``.
    """
    if request.database.lower() == "system":
        raise _denied("the database system")
    for name in request.settings:
        if name != "readonly" and not _SETTINGS.fullmatch(name):
            message = f"Cannot modify '{name}' setting in readonly mode"
            raise ClickHouseError.of(ErrorCode.READONLY, message)
    limits = {
        "max_execution_time": str(QUERY_SECONDS),
        "max_memory_usage": str(MEMORY_BYTES),
        "max_threads": str(max(1, available_processors() // 2)),
    }
    return replace(request, settings={**request.settings, **limits}, only_reads=True)


def reject_writing() -> None:
    """Raise the ClickHouseError with which the engine rejects a statement that writes."""
    raise ClickHouseError.of(ErrorCode.READONLY, "Cannot execute query in readonly mode")


def check_reads(statement: str, table_functions: frozenset[str]) -> None:
    """Check that a statement names no object that gives access to data outside the tables.

    ``statement`` must be formatted by the engine: without comments, and with quotes only around
    names that need quotes. ``table_functions`` are the engine's table functions, in lower case.

    Raises:
        ClickHouseError: the statement names such an object, or takes a name from a parameter.
    """
    names = [token.strip('`"').lower() for token in _TOKEN.findall(statement)] + ["", ""]
    for name, following, after in zip(names, names[1:], names[2:], strict=False):
        if name == "'" or not name and following:
            raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "Unterminated quote")
        if _REJECTED.fullmatch(name) or (name, following) == ("identifier", "}"):
            raise _denied(name)
        if following == "(" and name in table_functions and not _TABLE_FUNCTIONS.fullmatch(name):
            raise _denied(f"the table function {name}")
        if (name, following) == ("system", ".") and not _SYSTEM_TABLES.fullmatch(after):
            raise _denied(f"the table system.{after}")


def _denied(what: str) -> ClickHouseError:
    return ClickHouseError.of(
        ErrorCode.ACCESS_DENIED, f"Not enough privileges: this user cannot use {what}"
    )
