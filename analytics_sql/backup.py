"""ClickHouse's rows as files in its own format Native, and back, on every kind of server.

BACKUP of the engine writes to the server's disk, and the embedded server has none of it.
"""

import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

from analytics_sql.client import QueryFailedError, SchemaClient, clickhouse_errors, query_text
from analytics_sql.erasure import DERIVED

_LEVEL: Final = 1
_PIECE: Final = 1 << 20
_END: Final = 4096
# They are made by the migrations, of which a backup has its own list.
_OF_THE_SCHEMA: Final = frozenset({"schema_migrations", "backfills"})
_ENDED_IN_A_FAULT: Final = re.compile(rb"Code: \d+\. DB::Exception: ([^\n]{0,300})")
_SETTINGS: Final = {"max_execution_time": 0, "max_partitions_per_insert_block": 0}


class RowsClient(SchemaClient, Protocol):
    """A blocking client as backups use it: clickhouse-connect's."""

    def query(self, query: str, parameters: dict[str, Any] | None = None) -> Any:
        """Return what a query answers."""

    def raw_stream(
        self, query: str, parameters: dict[str, Any], settings: dict[str, Any], fmt: str
    ) -> Any:
        """Return the bytes of an answer as a file."""

    def raw_insert(
        self,
        table: str,
        column_names: Sequence[str],
        insert_block: BinaryIO,
        settings: dict[str, Any],
        fmt: str,
    ) -> Any:
        """Write the rows of a file."""


@dataclass(frozen=True)
class RowsPart:
    """The rows of a table in one of its partitions (a month, where it has any)."""

    table: str
    partition: str
    columns: tuple[str, ...]

    @property
    def file_name(self) -> str:
        """A name for its file."""
        return f"{self.table}.{self.partition}.native.gz"


def parts(client: RowsClient) -> Iterator[RowsPart]:
    """Return what there is, but for what is made of other rows."""
    with clickhouse_errors():
        for table, columns in client.query(query_text("stored_tables")).result_rows:
            if table in DERIVED or table in _OF_THE_SCHEMA:
                continue
            found = client.query(f"SELECT DISTINCT _partition_id FROM {table} ORDER BY 1")
            for (partition,) in found.result_rows:
                yield RowsPart(table, str(partition), tuple(columns))


def dump_part(client: RowsClient, part: RowsPart, path: Path) -> None:
    """Write the rows of a part, copies included.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
        QueryFailedError: the answer ended in a fault.
    """
    names = ", ".join(part.columns)
    statement = f"SELECT {names} FROM {part.table} WHERE _partition_id = {{partition:String}}"
    end = b""
    with gzip.open(path, "wb", compresslevel=_LEVEL) as file, clickhouse_errors():
        answer = client.raw_stream(statement, {"partition": part.partition}, _SETTINGS, "Native")
        try:
            while piece := answer.read(_PIECE):
                file.write(piece)
                end = (end + piece)[-_END:]
        finally:
            answer.close()
    # Once an answer has begun, a server can tell of a fault at its end only.
    if found := _ENDED_IN_A_FAULT.search(end):
        raise QueryFailedError(f"ClickHouse: {found[1].decode(errors='replace')}")


def load_part(client: RowsClient, table: str, columns: Sequence[str], path: Path) -> None:
    """Write the rows of a file.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
        QueryFailedError: it refuses them.
    """
    with gzip.open(path) as rows, clickhouse_errors():
        client.raw_insert(table, columns, cast("BinaryIO", rows), _SETTINGS, "Native")


def has_no_recognitions(client: RowsClient) -> bool:
    """Return whether there are no recognitions."""
    with clickhouse_errors():
        if not client.command("EXISTS TABLE recognitions"):
            return True
        return not client.command("SELECT count() FROM recognitions")


def erased_plates(client: RowsClient) -> Iterable[tuple[Any, str, int]]:
    """Return what is noted as erased: owner, hash of the plate (empty: all), before (Unix ms)."""
    with clickhouse_errors():
        if not client.command("EXISTS TABLE erasures"):
            return ()
        rows = client.query(query_text("erasures")).result_rows
    return [(user_id, str(text), int(before_ms)) for user_id, text, before_ms in rows]


def stored_plates(client: RowsClient, user_id: object) -> Iterator[str]:
    """Return the plates of an owner's recognitions and fired alerts, each at least once."""
    with clickhouse_errors():
        found = client.query(query_text("plates_of_owner"), {"user_id": user_id})
    return (str(plate) for (plate,) in found.result_rows)
