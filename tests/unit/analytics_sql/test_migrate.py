"""The migration files, and the selection of pending migrations."""

import re

import pytest

from analytics_sql.migrate import Migration, migrations, pending
from common.errors import MisconfiguredError

# Statements that can run twice, because two runners may start together, or one may crash.
_REPEATABLE = re.compile(
    r"(--[^\n]*\n\s*)*"
    r"(CREATE (TABLE|VIEW|MATERIALIZED VIEW|DATABASE) IF NOT EXISTS"
    r"|DROP (TABLE|VIEW|DATABASE) IF EXISTS"
    r"|ALTER TABLE \w+ (ADD (COLUMN|INDEX|PROJECTION) IF NOT EXISTS"
    r"|DROP (COLUMN|INDEX|PROJECTION) IF EXISTS|MATERIALIZE (COLUMN|INDEX|PROJECTION)|MODIFY)"
    r")"
)

# First 16 digits of the checksums of released migrations. Servers reject a changed file.
_APPLIED: dict[int, str] = {}


def _migration(version: int, checksum: str = "a") -> Migration:
    return Migration(version, f"m{version}", checksum, ("SELECT 1",), ("SELECT 1",))


def test_numbers_follow_each_other() -> None:
    assert [m.version for m in migrations()] == list(range(1, len(migrations()) + 1))


def test_applied_migrations_are_as_they_were() -> None:
    checksums = {m.version: m.checksum[:16] for m in migrations()}

    assert {version: checksums[version] for version in _APPLIED} == _APPLIED


@pytest.mark.parametrize("migration", migrations(), ids=lambda m: str(m.name))
def test_every_statement_may_run_twice(migration: Migration) -> None:
    for statement in (*migration.up, *migration.down):
        assert _REPEATABLE.match(statement), statement


@pytest.mark.parametrize("migration", migrations(), ids=lambda m: str(m.name))
def test_every_migration_can_be_rolled_back(migration: Migration) -> None:
    assert migration.up
    assert migration.down


def test_pending_is_what_was_not_applied() -> None:
    known = [_migration(1), _migration(2), _migration(3)]

    assert pending(known, [(1, "m1", "a")]) == (known[1], known[2])
    assert pending(known, []) == tuple(known)


def test_a_gap_is_filled() -> None:
    known = [_migration(1), _migration(2)]

    assert pending(known, [(2, "m2", "a")]) == (known[0],)


def test_an_edited_migration_is_refused() -> None:
    with pytest.raises(MisconfiguredError, match="0001 m1 was changed"):
        pending([_migration(1)], [(1, "m1", "b")])


def test_a_newer_database_is_refused() -> None:
    with pytest.raises(MisconfiguredError, match="newer release"):
        pending([_migration(1)], [(2, "m2", "a")])
