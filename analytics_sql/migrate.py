"""Migrates a ClickHouse database to this release's schema.

Migrations are numbered files that are applied once and never edited. ClickHouse has neither
transactions nor locks for DDL, so every statement of a migration must be idempotent: two concurrent
runs, or a run after a crash, end with the same schema.
"""

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import structlog

from analytics_sql.client import (
    ClickHouseClient,
    MutationAtWorkError,
    SchemaClient,
    clickhouse_errors,
    query_text,
)
from analytics_sql.cluster import Cluster, cluster_statements, local_table
from common.errors import MisconfiguredError

_log = structlog.get_logger(__name__)
_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_BETWEEN_STATEMENTS = re.compile(r";\s*(?:\n|$)")
_DOWN_SUFFIX = ".down.sql"

_MUTATION_PAUSE_SECONDS = 0.5
_MUTATION_LIMIT_SECONDS = 900.0

# The statement that sets the retention of each table with personal data.
_RETENTIONS = {
    "recognitions": "set_retention",
    "alert_triggers": "set_trigger_retention",
    "delivery_attempts": "set_attempt_retention",
    "plate_pieces": "set_piece_retention",
}


@dataclass(frozen=True)
class Migration:
    """A numbered schema change, with the statements that apply and undo the change."""

    version: int
    name: str
    checksum: str
    """SHA-256 of the file, hexadecimal."""
    up: tuple[str, ...]
    down: tuple[str, ...]


AppliedMigration = tuple[int, str, str]
"""A migration as recorded in the database: version, name, checksum."""


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations of this release, by version."""
    return tuple(sorted(_read_migrations(), key=lambda migration: migration.version))


def _read_migrations() -> Iterator[Migration]:
    folder = files(__package__).joinpath("migrations")
    for entry in folder.iterdir():
        found = _FILE_NAME.fullmatch(entry.name)
        if found is None:
            continue
        text = entry.read_text(encoding="utf-8")
        down = folder.joinpath(entry.name.removesuffix(".sql") + _DOWN_SUFFIX)
        yield Migration(
            int(found.group(1)),
            found.group(2),
            hashlib.sha256(text.encode()).hexdigest(),
            _statements(text),
            _statements(down.read_text(encoding="utf-8")),
        )


def _statements(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _BETWEEN_STATEMENTS.split(text) if part.strip())


def create_database(client: SchemaClient, name: str, cluster: Cluster | None = None) -> None:
    """Create the database if it does not exist, and select it in the client."""
    with clickhouse_errors():
        _run(client, query_text("create_database"), cluster, {"name": name})
    client.database = name


def migrate(
    client: SchemaClient,
    *,
    retention_days: int,
    dry_run: bool = False,
    cluster: Cluster | None = None,
) -> tuple[Migration, ...]:
    """Apply the missing migrations, set the retention, and return the migrations.

    With ``dry_run``, change nothing. Safe to repeat and to run concurrently. Waits for mutations.

    Raises:
        MisconfiguredError: a migration was edited after it was applied, or the database belongs to
            a newer release, or was created for a single server instead of a cluster or vice versa.
        TransientError: ClickHouse is unavailable or busy, or a mutation ran for over 15 minutes.
    """
    with clickhouse_errors():
        _check_kind(client, cluster)
        if not dry_run:
            _run(client, query_text("migrations_table"), cluster)
        missing = pending(migrations(), _applied(client))
        if dry_run:
            return missing
        for migration in missing:
            _apply(client, migration, cluster)
        _set_retention(client, retention_days, cluster)
    return missing


async def check_schema(client: ClickHouseClient) -> None:
    """Check that recognitions can be read and that no migration of this release is missing.

    Migrations of a newer release are allowed.

    Raises:
        MisconfiguredError: a migration or the table is missing.
        TransientError: ClickHouse is unavailable or busy.
    """
    await client.rows("recognitions_readable")
    applied = {version for version, *_ in await client.rows("migrations_applied")}
    missing = [f"{m.version:04} {m.name}" for m in migrations() if m.version not in applied]
    if missing:
        raise MisconfiguredError(
            f"missing ClickHouse migrations: {', '.join(missing)}; run "
            "python -m analytics_sql migrate"
        )


def roll_back(
    client: SchemaClient, version: int, cluster: Cluster | None = None
) -> tuple[Migration, ...]:
    """Undo and return the migrations above ``version``, newest first. Their data is lost."""
    with clickhouse_errors():
        applied = {version for version, *_ in _applied(client)}
        undone = [m for m in reversed(migrations()) if m.version in applied and m.version > version]
        for migration in undone:
            for statement in migration.down:
                _run(client, statement, cluster)
            _run(client, query_text("migration_forget"), cluster, {"version": migration.version})
            _log.info("migration_rolled_back", version=migration.version, name=migration.name)
    return tuple(undone)


def pending(
    known: Sequence[Migration], applied: Sequence[AppliedMigration]
) -> tuple[Migration, ...]:
    """Return the known migrations that have not been applied yet.

    Raises:
        MisconfiguredError: an applied migration is unknown to this release or has changed.
    """
    by_version = {migration.version: migration for migration in known}
    for version, name, checksum in applied:
        migration = by_version.pop(version, None)
        if migration is None:
            raise MisconfiguredError(
                f"unknown migration {version:04} {name}: "
                "the database was migrated by a newer release"
            )
        if migration.checksum != checksum:
            raise MisconfiguredError(
                f"migration {version:04} {name} was changed after it was applied; "
                "add a new migration instead"
            )
    return tuple(by_version.values())


def _applied(client: SchemaClient) -> list[AppliedMigration]:
    if not client.command("EXISTS TABLE schema_migrations"):
        return []
    rows = client.query(query_text("migrations_applied")).result_rows
    return [(version, name, checksum) for version, name, checksum in rows]


def _run(
    client: SchemaClient,
    text: str,
    cluster: Cluster | None,
    parameters: dict[str, object] | None = None,
) -> None:
    for statement in cluster_statements(text, cluster):
        _run_after_mutations(client, statement, parameters)


def _run_after_mutations(
    client: SchemaClient, statement: str, parameters: dict[str, object] | None
) -> None:
    """Run a statement. If a mutation blocks the statement, wait until the mutation has finished.

    Raises:
        MutationAtWorkError: the mutation ran for over 15 minutes.
    """
    end = time.monotonic() + _MUTATION_LIMIT_SECONDS
    told = False
    while True:
        try:
            with clickhouse_errors():
                client.command(statement, parameters=parameters)
        except MutationAtWorkError:
            if time.monotonic() >= end:
                raise
        else:
            return
        if not told:
            _log.info("migration_waiting_for_mutation", statement=statement)
            told = True
        time.sleep(_MUTATION_PAUSE_SECONDS)


def _check_kind(client: SchemaClient, cluster: Cluster | None) -> None:
    if not client.command("EXISTS TABLE schema_migrations"):
        return
    made_by = str(client.command("SHOW CREATE TABLE schema_migrations"))
    if ("Replicated" in made_by) != (cluster is not None):
        raise MisconfiguredError(
            "the ClickHouse database was created with a different PLATESTREAM_CLICKHOUSE_CLUSTER;"
            " a single-server database cannot become clustered or vice versa. Use another database"
        )


def _apply(client: SchemaClient, migration: Migration, cluster: Cluster | None) -> None:
    for statement in migration.up:
        _run(client, statement, cluster)
    client.insert(
        "schema_migrations",
        [[migration.version, migration.name, migration.checksum]],
        column_names=["version", "name", "checksum"],
    )
    _log.info("migration_applied", version=migration.version, name=migration.name)


def _set_retention(client: SchemaClient, days: int, cluster: Cluster | None) -> None:
    for table, statement in _RETENTIONS.items():
        is_set = query_text("retention_is_set")
        stored = table if cluster is None else local_table(table)
        if not client.command(is_set, parameters={"table": stored, "days": days}):
            _run(client, query_text(statement), cluster, {"days": days})
            _log.info("retention_updated", table=table, days=days)
