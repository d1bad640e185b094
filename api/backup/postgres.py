"""PostgreSQL's rows as files of CSV, all of one moment, and back.

Its own COPY, as pg_dump is not where the service runs and must not be older than the server.
"""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, text

from api.backup.manifest import BackupError, BackupFile, Steps, described
from api.db.migrate import current_revision, migrate

_LEVEL: Final = 3
_REVISIONS: Final = "alembic_version"
_PIECE: Final = 1 << 20

_COLUMNS: Final = """
SELECT c.table_name, c.column_name
FROM information_schema.columns AS c
JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
ORDER BY c.table_name, c.ordinal_position
"""
_REFERENCES: Final = """
SELECT conrelid::regclass::text, confrelid::regclass::text
FROM pg_constraint
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND conrelid <> confrelid
"""
_SEQUENCES: Final = """
SELECT sequencename, last_value FROM pg_sequences
WHERE schemaname = current_schema() AND last_value IS NOT NULL
"""


def dump_tables(
    engine: Engine, folder: Path, steps: Steps
) -> tuple[str, dict[str, int], tuple[BackupFile, ...]]:
    """Write all tables; return their revision, the sequences and the files."""
    target = folder / "postgres"
    target.mkdir()
    with engine.connect() as connection:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        revision = current_revision(connection)
        tables = _tables(connection)
        files = tuple(
            _dump_table(connection, folder, name, tables[name])
            for name in steps(sorted(tables), "PostgreSQL")
        )
        found = connection.execute(text(_SEQUENCES)).all()
        return revision, {str(name): int(value) for name, value in found}, files


def _dump_table(
    connection: Connection, folder: Path, table: str, columns: Sequence[str]
) -> BackupFile:
    path = folder / "postgres" / f"{table}.csv.gz"
    statement = f"COPY {_list(table, columns)} TO STDOUT (FORMAT csv)"
    with (
        gzip.open(path, "wb", compresslevel=_LEVEL) as file,
        _copying(connection, statement) as copy,
    ):
        for piece in copy:
            file.write(piece)
    return described(folder, path, table, columns)


def has_no_accounts(engine: Engine) -> bool:
    """Return whether nobody has an account."""
    with engine.connect() as connection:
        if not connection.execute(text("SELECT to_regclass('owners')")).scalar():
            return True
        return not connection.execute(text("SELECT EXISTS (SELECT FROM owners)")).scalar()


def load_tables(
    engine: Engine,
    folder: Path,
    revision: str,
    sequences: Mapping[str, int],
    files: Sequence[BackupFile],
    steps: Steps,
) -> None:
    """Replace all that there is by a backup, and bring it to this release; all or nothing of it."""
    migrate(engine, "base")
    migrate(engine, revision)
    by_table = {file.table: file for file in files}
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        there = _tables(connection)
        if unknown := by_table.keys() - there.keys():
            raise BackupError(f"revision {revision} has no tables {', '.join(sorted(unknown))}")
        # The audit log keeps its own entries: loading is no act of anybody's.
        for table in there:
            connection.execute(text(f'ALTER TABLE "{table}" DISABLE TRIGGER USER'))
        quoted = ", ".join(f'"{table}"' for table in there)
        connection.execute(text(f"TRUNCATE {quoted}"))
        order = [table for table in _referenced_first(connection, there) if table in by_table]
        for table in steps(order, "PostgreSQL"):
            _load_table(connection, folder, by_table[table])
        for name, value in sequences.items():
            connection.execute(
                text("SELECT setval(CAST(:name AS regclass), :value)"),
                {"name": f'"{name}"', "value": value},
            )
        for table in there:
            connection.execute(text(f'ALTER TABLE "{table}" ENABLE TRIGGER USER'))
    migrate(engine)


def _load_table(connection: Connection, folder: Path, file: BackupFile) -> None:
    statement = f"COPY {_list(file.table, file.columns)} FROM STDIN (FORMAT csv)"
    with gzip.open(folder / file.path) as rows, _copying(connection, statement) as copy:
        while piece := rows.read(_PIECE):
            copy.write(piece)


def _tables(connection: Connection) -> dict[str, list[str]]:
    """Return all tables but that of revisions, with their columns."""
    tables: dict[str, list[str]] = {}
    for table, column in connection.execute(text(_COLUMNS)):
        if table != _REVISIONS:
            tables.setdefault(table, []).append(column)
    return tables


def _referenced_first(connection: Connection, tables: Mapping[str, object]) -> Iterator[str]:
    order: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(tables, ()))
    for table, referenced in connection.execute(text(_REFERENCES)):
        order.add(table, referenced)
    return iter(order.static_order())


def _list(table: str, columns: Sequence[str]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f'"{table}" ({names})'


@contextmanager
def _copying(connection: Connection, statement: str) -> Iterator[Any]:
    """Yield psycopg's COPY, which SQLAlchemy does not know, within the same transaction."""
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        yield copy
