"""The schema runner on a real engine."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from clickhouse_connect.driver.client import Client
from structlog.testing import capture_logs

from analytics_sql.client import connect_for_schema
from analytics_sql.migrate import Migration, create_database, migrate, migrations, roll_back
from common.errors import MisconfiguredError
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration


@pytest.fixture
def runner(clickhouse_address: ClickHouseAddress) -> Iterator[Client]:
    """A client of an empty database, as the migration runner opens one."""
    client = connect_for_schema(clickhouse_address.settings())
    create_database(client, clickhouse_address.database)
    yield client
    client.close()


def _tables(client: Client) -> dict[str, str]:
    sql = (
        "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase()"
        " AND name != 'schema_migrations'"
    )
    return {str(name): str(query) for name, query in client.query(sql).result_rows}


def test_migrating_again_changes_nothing(runner: Client) -> None:
    assert migrate(runner, retention_days=400) == migrations()
    assert migrate(runner, retention_days=400) == ()
    assert "recognitions" in _tables(runner)


def test_migrations_can_be_rolled_back_and_applied_again(runner: Client) -> None:
    migrate(runner, retention_days=400)
    first = _tables(runner)

    undone = roll_back(runner, 0)
    assert undone == tuple(reversed(migrations()))
    assert _tables(runner) == {}

    migrate(runner, retention_days=400)
    assert _tables(runner).keys() == first.keys()


def test_dry_run_touches_nothing(runner: Client) -> None:
    assert migrate(runner, retention_days=400, dry_run=True) == migrations()
    assert runner.query("SHOW TABLES").result_rows == []


def test_several_runners_at_once_leave_one_result(clickhouse_address: ClickHouseAddress) -> None:
    def run(_: int) -> None:
        client = connect_for_schema(clickhouse_address.settings())
        create_database(client, clickhouse_address.database)
        migrate(client, retention_days=400)
        client.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(run, range(4)))

    client = clickhouse_address.client()
    versions = "SELECT version FROM schema_migrations FINAL ORDER BY version"
    applied = client.query(versions).result_rows
    assert applied == [(m.version,) for m in migrations()]
    client.close()


def test_a_run_that_died_before_its_note_is_repeated(runner: Client) -> None:
    for migration in migrations():
        for statement in migration.up:
            runner.command(statement)

    assert migrate(runner, retention_days=400) == migrations()


def test_a_migration_waits_for_a_mutation_in_its_way(
    runner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = "ALTER TABLE recognitions DROP PROJECTION IF EXISTS by_camera SETTINGS alter_sync = 0"
    later = Migration(len(migrations()) + 1, "drop_a_projection", "", (drop,), ())
    migrate(runner, retention_days=36_500)
    monkeypatch.setattr("analytics_sql.migrate.migrations", lambda: (*migrations(), later))
    by_camera = "by_camera (SELECT * ORDER BY user_id, camera_id, ts, id)"
    runner.command(f"ALTER TABLE recognitions ADD PROJECTION {by_camera}")
    runner.command("INSERT INTO recognitions (plate) VALUES ('AB123')")
    runner.command("SYSTEM STOP MERGES recognitions")
    runner.command(
        "ALTER TABLE recognitions MATERIALIZE PROJECTION by_camera SETTINGS mutations_sync = 0"
    )

    with ThreadPoolExecutor(1) as pool, capture_logs() as logs:
        migrating = pool.submit(migrate, runner, retention_days=36_500)
        while not migrating.done():
            if any(entry["event"] == "migration_waiting_for_mutation" for entry in logs):
                break
            time.sleep(0.05)
        assert not migrating.done(), migrating.exception()
        runner.command("SYSTEM START MERGES recognitions")

        assert migrating.result(60) == (later,)
    assert runner.command("SELECT count() FROM recognitions") == 1


def test_an_edited_migration_is_refused(runner: Client) -> None:
    migrate(runner, retention_days=400)
    runner.insert(
        "schema_migrations",
        [[1, "baseline", "another checksum"]],
        column_names=["version", "name", "checksum"],
    )

    with pytest.raises(MisconfiguredError, match="was changed"):
        migrate(runner, retention_days=400)


def test_retention_follows_the_setting(runner: Client) -> None:
    migrate(runner, retention_days=400)
    first = _tables(runner)["recognitions"]
    migrate(runner, retention_days=400)
    assert _tables(runner)["recognitions"] == first

    migrate(runner, retention_days=40)

    assert "400" not in _tables(runner)["recognitions"]
    assert "toIntervalDay(" in _tables(runner)["recognitions"]


def test_months_past_retention_are_dropped(runner: Client) -> None:
    migrate(runner, retention_days=30)
    for day in (10, 29, 100):
        runner.command(
            "INSERT INTO recognitions (user_id, id, ts)"
            f" SELECT generateUUIDv4(), generateUUIDv4(), now64(3) - toIntervalDay({day})"
        )

    runner.command("OPTIMIZE TABLE recognitions FINAL")

    days = "intDiv(dateDiff('second', ts, now()), 86400)"
    ages = runner.query(f"SELECT {days} FROM recognitions ORDER BY ts")
    assert ages.result_rows == [(29,), (10,)]


def test_plates_of_old_triggers_are_emptied_and_the_rows_stay(runner: Client) -> None:
    migrate(runner, retention_days=30)
    for day in (10, 100):
        runner.command(
            "INSERT INTO alert_triggers (user_id, alert_id, id, ts, plate) SELECT"
            " generateUUIDv4(), generateUUIDv4(), generateUUIDv4(),"
            f" now64(3) - toIntervalDay({day}), 'AB123'"
        )

    runner.command("OPTIMIZE TABLE alert_triggers FINAL")

    rows = runner.query("SELECT plate FROM alert_triggers ORDER BY ts")
    assert rows.result_rows == [("",), ("AB123",)]
    first = _tables(runner)["alert_triggers"]
    migrate(runner, retention_days=30)
    assert _tables(runner)["alert_triggers"] == first


# The rows expire after three months, which can be 89 days.
@pytest.mark.parametrize("days", [30, 80])
def test_what_old_attempts_carried_is_emptied_and_the_rows_stay(runner: Client, days: int) -> None:
    migrate(runner, retention_days=days)
    for day in (days - 9, days - 5, days + 1):
        runner.command(
            "INSERT INTO delivery_attempts (user_id, webhook_id, delivery_id, id, occurred,"
            " delivery) SELECT generateUUIDv4(), generateUUIDv4(), generateUUIDv4(),"
            f" generateUUIDv4(), now64(3) - toIntervalDay({day}), 'AB123'"
        )

    runner.command("OPTIMIZE TABLE delivery_attempts FINAL")

    rows = runner.query("SELECT delivery FROM delivery_attempts ORDER BY occurred").result_rows
    assert rows == [("",), ("AB123",), ("AB123",)]
    first = _tables(runner)["delivery_attempts"]
    migrate(runner, retention_days=days)
    assert _tables(runner)["delivery_attempts"] == first


def test_a_retention_of_a_century_keeps_what_is_new(runner: Client) -> None:
    migrate(runner, retention_days=36_500)
    runner.command(
        "INSERT INTO recognitions (user_id, id, ts)"
        " SELECT generateUUIDv4(), generateUUIDv4(), now64(3)"
    )

    runner.command("OPTIMIZE TABLE recognitions FINAL")

    assert runner.command("SELECT count() FROM recognitions") == 1


def test_the_command_line_migrates(clickhouse_address: ClickHouseAddress) -> None:
    database = f"{clickhouse_address.database}_cli"
    environment = {
        **os.environ,
        "PLATESTREAM_CLICKHOUSE_URL": clickhouse_address.url,
        "PLATESTREAM_CLICKHOUSE_USER": clickhouse_address.user,
        "PLATESTREAM_CLICKHOUSE_PASSWORD": clickhouse_address.password,
        "PLATESTREAM_CLICKHOUSE_DATABASE": database,
    }

    def run(*arguments: str, **changed: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            (sys.executable, "-m", "analytics_sql", "migrate", *arguments),
            env={**environment, **changed},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    names = [f"{migration.version:04} {migration.name}\n" for migration in migrations()]
    dry = run("--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "".join(f"missing {name}" for name in names))
    assert run().stdout == "".join(f"applied {name}" for name in names)
    assert run().stdout == "the ClickHouse schema is up to date\n"
    refused = run(PLATESTREAM_CLICKHOUSE_PASSWORD="guess")
    assert refused.returncode == 78
    assert "guess" not in refused.stderr
    unreachable = run(PLATESTREAM_CLICKHOUSE_URL="http://127.0.0.1:9")
    assert unreachable.returncode == 75
