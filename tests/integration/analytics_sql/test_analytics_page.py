"""The documentation for analysts: its SQL and its programs run unchanged, as the analyst's user."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from clickhouse_connect.driver.client import Client

from analytics_sql.analysts.accounts import VIEWS
from analytics_sql.migrate import create_database, migrate
from deploy.local.access import Access, write_access
from deploy.local.files import Layout
from deploy.local.plan import Analyst
from tests.services.clickhouse import ClickHouseService, start_clickhouse

pytestmark = pytest.mark.integration

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "analytics-sql.md").read_text("utf-8")
OWNER, ENTRY, EXIT = UUID(int=1), UUID(int=10), UUID(int=11)
NOW = datetime.now(UTC)
TABLES = {
    *("recognitions", "alert_triggers", "delivery_attempts", "pass_outcomes", "cameras", "alerts"),
}


def _code(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def _query_about(words: str) -> str:
    found = [sql for sql in _code("sql") if words in sql]
    assert len(found) == 1, words
    return found[0]


QUERIES = [sql for sql in _code("sql") if sql.startswith("SELECT")]
STATEMENTS_FOR_A_SERVER = [sql for sql in _code("sql") if not sql.startswith("SELECT")]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseService]:
    """A server with a database that contains a few rows."""
    service = start_clickhouse(tmp_path_factory.mktemp("clickhouse"))
    client = service.address.client()
    create_database(client, "platestream")
    migrate(client, retention_days=36_500)
    _write_rows(client)
    client.close()
    yield service
    service.stop()


@pytest.fixture
def analyst(service: ClickHouseService) -> Iterator[Client]:
    """A client of the database with the analyst's user."""
    client = replace(service.analyst, database="platestream").client()
    yield client
    client.close()


def _write_rows(client: Client) -> None:
    """Write triggers, and passes of two vehicles: one stays for 40 minutes, one only leaves."""
    passes = [("AB12CD", ENTRY, 60), ("AB12CD", EXIT, 20), ("XY98ZZ", EXIT, 30)]
    client.insert(
        "recognitions",
        [
            [OWNER, uuid4(), NOW - timedelta(minutes=ago), camera, f"camera {camera.int}", plate]
            + [0.9, 4, "camera"]
            for plate, camera, ago in passes
        ],
        column_names=["user_id", "id", "ts", "camera_id", "camera_name", "plate"]
        + ["confidence", "readings_count", "source"],
    )
    client.insert(
        "alert_triggers",
        [
            [OWNER, UUID(int=20), uuid4(), NOW - timedelta(minutes=5), "gate", phase]
            for phase in ("final", "confirmed", "confirmed", "confirmed", "withdrawn", "early")
        ],
        column_names=["user_id", "alert_id", "id", "ts", "alert_name", "phase"],
    )


def _rows(client: Client, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in client.query(sql, parameters={"owner": OWNER}).result_rows]


def test_there_are_queries() -> None:
    assert len(QUERIES) >= 3


@pytest.mark.parametrize("sql", QUERIES, ids=range(len(QUERIES)))
def test_every_query_has_an_answer(analyst: Client, sql: str) -> None:
    assert _rows(analyst, sql)


def test_days_without_recognitions_are_there(analyst: Client) -> None:
    rows = _rows(analyst, _query_about("WITH FILL"))

    assert sum(int(str(row[1])) for row in rows) == 3


def test_the_share_of_early_triggers_that_were_withdrawn_is_right(analyst: Client) -> None:
    assert _rows(analyst, _query_about("withdrawn_per_cent")) == [("gate", 4, 4, 1, 25.0)]


def test_confidence_is_shown_by_camera_and_week(analyst: Client) -> None:
    rows = _rows(analyst, _query_about("mean_confidence"))

    assert {(camera, *means) for camera, _, _, *means in rows} == {
        ("camera 10", 0.9, 4.0),
        ("camera 11", 0.9, 4.0),
    }


def test_statements_for_a_server_are_sql(service: ClickHouseService) -> None:
    client = service.address.client()
    statements = "\n".join(STATEMENTS_FOR_A_SERVER)

    for statement in statements.strip().rstrip(";").split(";\n"):
        client.command("SELECT formatQuery({sql:String})", parameters={"sql": statement})

    client.close()


def test_the_grants_are_what_the_views_read(service: ClickHouseService) -> None:
    client = service.address.client()
    client.database = "platestream"
    (script,) = [sql for sql in STATEMENTS_FOR_A_SERVER if "CREATE USER analyst" in sql]
    granted = set(re.findall(r"ON platestream\.(\w+) TO analyst", script))
    views = {row[0] for row in client.query("SHOW TABLES LIKE 'analysis_%'").result_rows}
    sources = {
        name
        for view in views
        for name in re.findall(
            r"FROM platestream\.(\w+)", str(client.command(f"SHOW CREATE TABLE {view}"))
        )
    }
    (columns,) = re.findall(r"GRANT SELECT\(([^)]*)\)", script)
    of_attempts = {row[0] for row in client.query("DESCRIBE delivery_attempts").result_rows}

    assert granted == views | sources
    assert views == set(VIEWS)
    assert sources - views == TABLES
    assert set(re.split(r",\s*", columns)) == of_attempts - {"delivery"}
    client.close()


@pytest.mark.parametrize(
    "program",
    [("bash", "-c", "set -euo pipefail\n" + "".join(_code("bash")))]
    + [(sys.executable, "-c", script) for script in _code("python")],
    ids=["bash", "python"],
)
def test_the_programs_of_the_page_work(
    service: ClickHouseService, tmp_path: Path, program: tuple[str, ...]
) -> None:
    address = service.analyst
    access = Access("http://127.0.0.1:1", "pk_test", "a@b.example", "secret").with_analyst(
        Analyst(address.url, address.user, address.password)
    )
    write_access(Layout(tmp_path / ".local"), access)

    done = subprocess.run(
        program,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert str(OWNER) in done.stdout
    if program[0] == "bash":
        lines = (tmp_path / "recognitions.CSVWithNames").read_text().splitlines()
        assert lines[0] == '"ts","camera_name","plate","confidence","region"'
        assert (tmp_path / "recognitions.Parquet").read_bytes().startswith(b"PAR1")
