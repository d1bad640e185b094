"""Statements as they are rewritten for a ClickHouse cluster."""

from importlib.resources import files

import pytest

from analytics_sql.client import query_text
from analytics_sql.cluster import Cluster, cluster_parameters, cluster_statements
from analytics_sql.migrate import migrations
from common.errors import MisconfiguredError

MAIN = Cluster("main", "plates")


def _all(statement: str) -> list[str]:
    return [" ".join(each.split()) for each in cluster_statements(statement, MAIN)]


def test_on_one_server_nothing_changes() -> None:
    statement = "-- why\nALTER TABLE recognitions DELETE WHERE 1"

    assert cluster_statements(statement, None) == (statement,)


def test_a_table_is_replicated_and_covers_all_shards() -> None:
    assert _all(
        "-- Text, CREATE TABLE too.\nCREATE TABLE IF NOT EXISTS plates\n(\n    user_id UUID,\n"
        "    x Int8\n)\nENGINE = ReplacingMergeTree(x)\nORDER BY x\nSETTINGS index_granularity = 7"
    ) == [
        "CREATE TABLE IF NOT EXISTS plates_local ON CLUSTER `main` ( user_id UUID, x Int8 )"
        " ENGINE = ReplicatedReplacingMergeTree("
        "'/clickhouse/tables/{shard}/{database}/plates_local', '{replica}', x)"
        " ORDER BY x SETTINGS index_granularity = 7",
        "CREATE TABLE IF NOT EXISTS plates ON CLUSTER `main` AS plates_local"
        " ENGINE = Distributed(`main`, `plates`, plates_local, cityHash64(user_id))",
    ]


def test_a_table_without_owner_is_whole_everywhere() -> None:
    (statement,) = _all(query_text("migrations_table"))

    assert statement.startswith("CREATE TABLE IF NOT EXISTS schema_migrations ON CLUSTER `main` (")
    assert "'/clickhouse/tables/all/{database}/schema_migrations', '{replica}', applied_at)" in (
        statement
    )


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE IF NOT EXISTS odd (x Int8) ENGINE = MergeTree ORDER BY x",
        "CREATE TABLE IF NOT EXISTS odd (\n user_id UUID) ENGINE = Log",
        "RENAME TABLE a TO b",
        "CREATE TABLE odd (x Int8) ENGINE = MergeTree ORDER BY x",
    ],
)
def test_what_no_rule_knows_is_refused(statement: str) -> None:
    with pytest.raises(MisconfiguredError):
        cluster_statements(statement, MAIN)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "ALTER TABLE plates ADD COLUMN IF NOT EXISTS y Int8 AFTER x"
            " SETTINGS mutations_sync = 0",
            [
                "ALTER TABLE plates_local ON CLUSTER `main` ADD COLUMN IF NOT EXISTS y Int8 AFTER x"
                " SETTINGS mutations_sync = 0",
                "ALTER TABLE plates ON CLUSTER `main` ADD COLUMN IF NOT EXISTS y Int8 AFTER x",
            ],
        ),
        (
            "ALTER TABLE plates MODIFY COLUMN y CODEC(ZSTD(3))",
            ["ALTER TABLE plates_local ON CLUSTER `main` MODIFY COLUMN y CODEC(ZSTD(3))"],
        ),
        (
            "ALTER TABLE plates MATERIALIZE COLUMN y",
            ["ALTER TABLE plates_local ON CLUSTER `main` MATERIALIZE COLUMN y"],
        ),
        (
            "ALTER TABLE plates MODIFY TTL ts + toIntervalDay(9)",
            ["ALTER TABLE plates_local ON CLUSTER `main` MODIFY TTL ts + toIntervalDay(9)"],
        ),
        (
            "DROP TABLE IF EXISTS plates SYNC",
            [
                "DROP TABLE IF EXISTS plates ON CLUSTER `main` SYNC",
                "DROP TABLE IF EXISTS plates_local ON CLUSTER `main` SYNC",
            ],
        ),
        ("DROP VIEW IF EXISTS seen", ["DROP VIEW IF EXISTS seen ON CLUSTER `main`"]),
        (
            "CREATE VIEW IF NOT EXISTS seen AS SELECT * FROM plates FINAL",
            ["CREATE VIEW IF NOT EXISTS seen ON CLUSTER `main` AS SELECT * FROM plates FINAL"],
        ),
        (
            "CREATE MATERIALIZED VIEW IF NOT EXISTS flow TO pieces AS SELECT x FROM plates",
            [
                "CREATE MATERIALIZED VIEW IF NOT EXISTS flow ON CLUSTER `main` TO pieces_local"
                " AS SELECT x FROM plates_local"
            ],
        ),
        ("INSERT INTO a SELECT 1 FROM b", ["INSERT INTO a SELECT 1 FROM b"]),
        (
            "CREATE DATABASE IF NOT EXISTS {name:Identifier}",
            ["CREATE DATABASE IF NOT EXISTS {name:Identifier} ON CLUSTER `main`"],
        ),
    ],
)
def test_statements_run_on_all_servers(statement: str, expected: list[str]) -> None:
    assert _all(statement) == expected


def test_rows_are_erased_where_they_lie_on_all_replicas() -> None:
    text = query_text("erase_owner_rows")

    (statement,) = _all(text)

    assert statement.startswith("ALTER TABLE {table:Identifier} ON CLUSTER `main` DELETE")
    assert "mutations_sync = 2" in statement
    parameters = {"table": "recognitions", "user_id": 1}
    assert cluster_parameters(text, parameters, MAIN) == {
        "table": "recognitions_local",
        "user_id": 1,
    }
    assert cluster_parameters(text, parameters, None) == parameters


def test_every_erasing_statement_waits_for_all_replicas() -> None:
    names = [
        entry.name.removesuffix(".sql")
        for entry in files("analytics_sql").joinpath("queries").iterdir()
        if entry.name.startswith("erase_")
    ]
    assert len(names) >= 6
    for name in names:
        for statement in _all(query_text(name)):
            assert "_local ON CLUSTER" in statement or "{table:Identifier} ON" in statement, name
            assert "mutations_sync = 2" in statement, name


def test_every_migration_has_its_rules() -> None:
    for migration in migrations():
        for statement in (*migration.up, *migration.down):
            assert cluster_statements(statement, MAIN)
