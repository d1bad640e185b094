"""The bounds of a request of the user who may only read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.request import QueryRequest

# Settings that shape an answer; the first three only within the bounds. Not among them are those
# that name files, which the engine opens though it only reads (seen with chDB 26.9:
# format_template_row reads any file, output_format_schema writes one).
_SETTINGS = frozenset(
    {
        # Drivers send it with every query; of what only reads it changes nothing.
        "async_insert",
        "wait_for_async_insert",
        "network_compression_method",
        "network_zstd_compression_level",
        "max_execution_time",
        "max_memory_usage",
        "max_threads",
        "max_block_size",
        "max_result_rows",
        "result_overflow_mode",
        "limit",
        "offset",
        "extremes",
        "join_use_nulls",
        "group_by_use_nulls",
        "session_timezone",
        "date_time_input_format",
        "date_time_output_format",
        "prefer_column_name_to_alias",
        "cancel_http_readonly_queries_on_client_close",
        "enable_http_compression",
        "http_headers_progress_interval_ms",
        "http_zlib_compression_level",
        "send_progress_in_http_headers",
    }
)
_REFUSED_DATABASES = frozenset({"system", "embedded_server"})
_SETTINGS_OF_FORMATS = re.compile(
    r"(format_csv|output_format_(arrow|csv|decimal|json|parquet|pretty|tsv))_[a-z0-9_]+"
)


@dataclass(frozen=True)
class ReaderBounds:
    """Limits of time, memory and threads for a statement of the reading user."""

    query_seconds: int
    memory_bytes: int
    threads: int

    def applied_to(self, request: QueryRequest) -> QueryRequest:
        """Return the request as one that only reads, within these bounds.

        Raises:
            ClickHouseError: a setting that it may not change, or a database of the engine's own.
        """
        if request.database.lower() in _REFUSED_DATABASES:
            raise ClickHouseError.of(
                ErrorCode.ACCESS_DENIED,
                f"Not enough privileges to have {request.database} as the default database",
            )
        sent = {name: value for name, value in request.settings.items() if name != "readonly"}
        for name in sent:
            if name not in _SETTINGS and not _SETTINGS_OF_FORMATS.fullmatch(name):
                raise ClickHouseError.of(
                    ErrorCode.READONLY, f"Cannot modify '{name}' setting in readonly mode"
                )
        return replace(request, settings=self._within(sent), only_reads=True)

    def _within(self, sent: Mapping[str, str]) -> dict[str, str]:
        bounds = {
            "max_execution_time": self.query_seconds,
            "max_memory_usage": self.memory_bytes,
            "max_threads": self.threads,
        }
        return {
            **sent,
            **{name: _capped(sent.get(name, ""), limit) for name, limit in bounds.items()},
        }


def _capped(wish: str, limit: int) -> str:
    """Return a wish that is above 0, which stands for no bound, and not above ``limit``."""
    try:
        return wish if 0 < float(wish) <= limit else str(limit)
    except ValueError:
        return str(limit)
