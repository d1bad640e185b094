"""The analyst: one user for the whole installation, who reads all rows and changes nothing.

The engine does most of it: its only user has no right to open files, other servers or programs
(``users.xml``), a session with ``readonly = 1`` neither writes nor changes settings, and
``classify_query`` finds what only reads. Seen with chDB 26.9, the engine still lets through what
this module rejects: the function ``file``, tables of ``system`` that show other users' queries,
and settings that open files. Nothing here confines an analyst to one account.
"""

import re
from dataclasses import replace

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.request import QueryRequest
from recognition.processors import available_processors

# Settings that shape an answer. JDBC sends async_insert with every query; here it changes nothing.
# Those that name files are not among them: the engine opens them even if it only reads
# (format_template_row, output_format_schema).
_SETTINGS = re.compile(
    r"""(wait_for_)?async_insert | network_compression_method | max_(execution_time|memory_usage
    |threads|block_size|result_rows) | result_overflow_mode | limit | offset | extremes
    | (join|group_by)_use_nulls | session_timezone | date_time_(input|output)_format
    | prefer_column_name_to_alias | cancel_http_readonly_queries_on_client_close
    | http_(headers_progress_interval_ms|zlib_compression_level) | send_progress_in_http_headers
    | (format_csv|output_format_(arrow|csv|decimal|json|parquet|pretty|tsv))_[a-z0-9_]+""",
    re.VERBOSE,
)
# Rejected wherever they are, so that no way of calling them has to be known: arrayMap(file, ...),
# * APPLY file. The ai functions call services on the network.
_REJECTED = re.compile(
    "file|outfile|parallel|processlist|grants"
    "|ai(classify|embed|extract|filter|generate|redact|similarity|translate)"
)
# Table functions that make up their rows; all others are rejected, also those of later releases.
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
"""Maximum duration of a query of the analyst."""
MEMORY_BYTES = 256 << 20
"""Memory limit for each query of the analyst."""


def as_reader(request: QueryRequest) -> QueryRequest:
    """Return a request of the analyst as one that only reads, within its limits.

    Raises:
        ClickHouseError: a setting that the analyst may not change, or the database ``system``.
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
    """Raise the engine's ClickHouseError for a statement that does more than read."""
    raise ClickHouseError.of(ErrorCode.READONLY, "Cannot execute query in readonly mode")


def check_reads(statement: str, table_functions: frozenset[str]) -> None:
    """Check that a statement names nothing that leads out of the tables.

    ``statement`` is as the engine formats it: without comments, quotes only around names that need
    them. ``table_functions`` are the engine's, in lower case.

    Raises:
        ClickHouseError: it does, or takes a name from a parameter.
    """
    names = [token.strip('`"').lower() for token in _TOKEN.findall(statement)] + ["", ""]
    for name, following, after in zip(names, names[1:], names[2:], strict=False):
        if name == "'" or not name and following:
            raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "A quote is not closed")
        if _REJECTED.fullmatch(name) or (name, following) == ("identifier", "}"):
            raise _denied(name)
        if following == "(" and name in table_functions and not _TABLE_FUNCTIONS.fullmatch(name):
            raise _denied(f"the table function {name}")
        if (name, following) == ("system", ".") and not _SYSTEM_TABLES.fullmatch(after):
            raise _denied(f"the table system.{after}")


def _denied(what: str) -> ClickHouseError:
    return ClickHouseError.of(
        ErrorCode.ACCESS_DENIED, f"Not enough privileges: this user only reads, without {what}"
    )
