"""Analysts of one account: the statements for a server, and what the engine does with them.

The embedded server cannot create users. So the views run as the service, and the grants are applied
in the same engine with an analyst's permissions.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from analytics_sql.analysts import accounts
from analytics_sql.analysts.accounts import (
    VIEWS,
    AnalystAccount,
    TargetDatabase,
    analyst_name,
    create_analyst,
    created_by,
    list_analysts,
    remove_analyst,
    removed_by,
)
from analytics_sql.migrate import migrate
from common.errors import InvalidInputError, MisconfiguredError
from tests.integration.analytics_sql.saved_rows import NEIGHBOUR, OWNER, write_saved_rows
from tests.services.clickhouse import (
    ClickHouseAddress,
    ClickHouseService,
    create_database,
    start_clickhouse,
)

pytestmark = pytest.mark.integration

_DENIED = {"code": "497"}
_ANALYST = AnalystAccount(analyst_name(OWNER), OWNER)
_WITH_ROWS = ("analysis_recognitions", "analysis_passes", "analysis_cameras", "analysis_alerts")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseService]:
    """A separate server for the module."""
    service = start_clickhouse(tmp_path_factory.mktemp("clickhouse"))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def database(service: ClickHouseService) -> ClickHouseAddress:
    """A database with the rows of two accounts."""
    address = create_database(service.address)
    client = address.client()
    migrate(client, retention_days=36_500)
    write_saved_rows(client)
    client.command(
        "INSERT INTO alerts (id, user_id, name, revision) VALUES"
        f" ('{UUID(int=31)}', '{OWNER}', 'mine', 1), ('{UUID(int=32)}', '{NEIGHBOUR}', 'theirs', 1)"
    )
    client.close()
    return address


@pytest.fixture(scope="module")
def admin(database: ClickHouseAddress) -> Iterator[Client]:
    client = database.client()
    yield client
    client.close()


@pytest.fixture(scope="module")
def place(database: ClickHouseAddress) -> TargetDatabase:
    return TargetDatabase(database.database)


@pytest.fixture(scope="module")
def views(admin: Client, place: TargetDatabase) -> Iterator[None]:
    """The analyst's views, with the permissions of the service."""
    for statement in _statements(place, "default", of_users=False):
        admin.command(statement)
    yield
    admin.command(removed_by(place, _ANALYST)[-1])


@pytest.fixture(scope="module")
def folder(
    service: ClickHouseService, database: ClickHouseAddress, place: TargetDatabase
) -> Iterator[Path]:
    """The data folder with the analyst's views, while the server is stopped."""
    folder = Path(service.server.program().command[-1])
    service.stop()
    statements = _statements(place, "definer", of_users=False)
    answers = _run(folder, ["GRANT ALL ON *.*"], "", statements)
    assert answers == [{"rows": ""}] * len(statements)
    yield folder
    service.start()


def _statements(place: TargetDatabase, service_user: str, *, of_users: bool) -> list[str]:
    words = ("CREATE DATABASE", "CREATE OR REPLACE VIEW")
    created = created_by(place, _ANALYST, "a" * 64, service_user)
    return [each for each in created if each.startswith(words) != of_users]


class TestEmbeddedServer:
    def test_an_analyst_of_one_account_is_rejected_in_one_sentence(
        self, admin: Client, place: TargetDatabase
    ) -> None:
        for refused in (
            lambda: create_analyst(admin, place, _ANALYST),
            lambda: list_analysts(admin, [OWNER]),
            lambda: remove_analyst(admin, place, _ANALYST),
        ):
            with pytest.raises(MisconfiguredError, match="external ClickHouse server") as caught:
                refused()
            assert "\n" not in str(caught.value)
        assert admin.query("SHOW DATABASES LIKE 'analyst%'").result_rows == []

    def test_no_user_of_one_account_can_be_created(self, admin: Client) -> None:
        for sql in ("CREATE USER x", "CREATE ROW POLICY x ON recognitions USING 1 TO default"):
            with pytest.raises(DatabaseError) as caught:
                admin.command(sql)
            assert caught.value.code == 497


class TestStatements:
    @pytest.mark.parametrize(
        "place",
        [TargetDatabase("platestream"), TargetDatabase("plate`s\\", "ma`in")],
        ids=("server", "cluster"),
    )
    @pytest.mark.parametrize("user", ["service", "ser`vi'ce\\", 'a" b'])
    def test_the_engines_parser_reads_them_as_they_are_meant(
        self, admin: Client, place: TargetDatabase, user: str
    ) -> None:
        sql = "SELECT formatQuery({statement:String})"

        for statement in (
            *created_by(place, _ANALYST, "a" * 64, user),
            *removed_by(place, _ANALYST),
        ):
            written = admin.query(sql, parameters={"statement": statement}).result_rows[0][0]
            assert ("ON CLUSTER" in written) == bool(place.cluster)
            again = admin.query(sql, parameters={"statement": written}).result_rows[0][0]
            assert again == written

    def test_the_user_reads_its_own_database_and_nothing_else(self) -> None:
        statements = created_by(TargetDatabase("platestream"), _ANALYST, "a" * 64, "service")
        name = f"`{_ANALYST.name}`"

        assert [each for each in statements if "GRANT" in each] == [
            f"GRANT SELECT ON {name}.* TO {name}"
        ]
        assert statements[-1].startswith("GRANT")
        (profile,) = [each for each in statements if "SETTINGS PROFILE OR REPLACE" in each]
        assert "readonly = 1," in profile

    def test_each_view_has_the_accounts_rows_by_the_rights_of_the_service(self) -> None:
        statements = created_by(TargetDatabase("platestream"), _ANALYST, "a" * 64, "service")

        for view in VIEWS:
            (statement,) = [each for each in statements if f".{view} DEFINER" in each]
            assert "DEFINER = `service` SQL SECURITY DEFINER" in statement
            assert statement.endswith(f"WHERE user_id = toUUID('{OWNER}')")

    def test_all_that_is_created_is_removed(self) -> None:
        removed = removed_by(TargetDatabase("platestream"), _ANALYST)

        assert [each.split(" IF EXISTS ")[0] for each in removed] == [
            "DROP USER",
            "DROP QUOTA",
            "DROP SETTINGS PROFILE",
            "DROP DATABASE",
        ]

    def test_an_odd_label_is_rejected(self) -> None:
        for label in ("A", "a b", "a" * 25, "a`"):
            with pytest.raises(InvalidInputError):
                analyst_name(OWNER, label)


@pytest.mark.usefixtures("views")
class TestViews:
    """Tests the statements for the database and the views, run as the service."""

    @pytest.mark.parametrize("view", VIEWS)
    def test_a_view_has_the_rows_of_the_account_alone(self, admin: Client, view: str) -> None:
        sql = "SELECT DISTINCT user_id FROM {0}.{1}"
        mine = admin.query(sql.format(f"`{_ANALYST.name}`", view)).result_rows
        everyone = admin.query(sql.format(f"`{admin.database}`", view)).result_rows

        assert mine == [row for row in everyone if row[0] == OWNER]
        assert mine or view not in _WITH_ROWS

    @pytest.mark.parametrize("is_merged", [False, True])
    @pytest.mark.parametrize(
        "condition",
        [
            "toUInt64(concat('0', if(endsWith(plate, 'X'), plate, ''))) = 0",
            "throwIf(endsWith(plate, 'X')) = 0",
            "intDiv(1, NOT endsWith(plate, 'X')) = 1",
            f"throwIf(user_id != '{OWNER}') = 0",
            "throwIf(endsWith(plate, 'X')) = 0 AND ts > '2020-01-01'",
        ],
    )
    def test_errors_of_conditions_reveal_nothing_of_other_rows(
        self, admin: Client, condition: str, is_merged: bool
    ) -> None:
        if is_merged:
            admin.command("OPTIMIZE TABLE recognitions FINAL")
        pinned = {"query_plan_merge_filters": 0}
        view = f"`{_ANALYST.name}`.analysis_recognitions"

        assert admin.query(f"SELECT count() FROM {view} WHERE {condition}", settings=pinned)
        with pytest.raises(DatabaseError, match="does not support PREWHERE"):
            admin.query(f"SELECT count() FROM {view} PREWHERE {condition}")


class TestGrants:
    """Tests an analyst's grants as permissions of the engine's user. Runs after the tests above."""

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT count() FROM {place}.recognitions",
            "SELECT count() FROM {place}.analysis_recognitions",
            "SELECT * APPLY(x -> (SELECT groupUniqArray((user_id, plate, last_day))"
            " FROM {place}.plate_pieces_of_recognitions)) FROM analysis_cameras",
            "SELECT * FROM analysis_recognitions WHERE plate IN (SELECT plate FROM"
            " {place}.recognitions)",
            "EXPLAIN SELECT (SELECT count() FROM {place}.recognitions)",
            "SHOW CREATE TABLE {place}.recognitions",
            "SELECT count() FROM file('/etc/passwd', 'LineAsString')",
            "SELECT count() FROM url('http://127.0.0.1:1/', 'LineAsString')",
            "SELECT count() FROM remote('127.0.0.1:1', 'system.one')",
        ],
    )
    def test_what_is_not_a_view_of_the_account_is_denied(
        self, folder: Path, place: TargetDatabase, sql: str
    ) -> None:
        assert _as_analyst(folder, [sql.format(place=place.database)]) == [_DENIED]

    def test_the_accounts_rows_are_read(self, folder: Path) -> None:
        answers = _as_analyst(
            folder, [f"SELECT DISTINCT user_id FROM {view}" for view in _WITH_ROWS]
        )

        assert answers == [{"rows": f"{OWNER}\n"}] * len(_WITH_ROWS)

    def test_tables_and_totals_of_the_service_are_not_seen(
        self, folder: Path, place: TargetDatabase
    ) -> None:
        sql = "SELECT count() FROM {} WHERE {} = '{}'"
        answers = _as_analyst(
            folder,
            [
                sql.format("system.tables", "database", place.database),
                sql.format("system.columns", "database", place.database),
                sql.format("system.parts", "database", place.database),
                sql.format("information_schema.tables", "table_schema", place.database),
                sql.format("system.databases", "name", place.database),
                f"SELECT count() FROM merge('{place.database}', 'recog')",
            ],
        )

        assert [each.get("rows", "0\n") for each in answers] == ["0\n"] * len(answers)

    def test_nothing_is_written_and_no_setting_changed(self, folder: Path) -> None:
        answers = _as_analyst(
            folder,
            [
                "CREATE TABLE x (a UInt8) ENGINE = Memory",
                "DROP VIEW analysis_recognitions",
                "INSERT INTO analysis_cameras (name) VALUES ('x')",
                "SET readonly = 0",
                "SELECT 1 SETTINGS query_plan_merge_filters = 1",
            ],
        )

        assert {each.get("code") for each in answers} <= {"164", "497"}


def _as_analyst(folder: Path, statements: Sequence[str]) -> list[dict[str, str]]:
    grants = [f"GRANT SELECT ON `{_ANALYST.name}`.*"]
    settings = ", ".join(each.split(" MIN ")[0] for each in reversed(accounts._SETTINGS))
    started = [f"USE `{_ANALYST.name}`", *statements]
    return _run(folder, grants, settings, started)[1:]


def _run(
    folder: Path, grants: Sequence[str], settings: str, statements: Sequence[str]
) -> list[dict[str, str]]:
    task = {"grants": grants, "settings": settings, "statements": statements}
    result = subprocess.run(
        [sys.executable, "-m", "tests.integration.analytics_sql.confined_engine", str(folder)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    answers: list[dict[str, str]] = json.loads(result.stdout)
    return answers
