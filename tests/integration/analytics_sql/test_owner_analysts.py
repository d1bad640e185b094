"""Analysts of one owner at the embedded server: they read their rows, and nothing else."""

from collections.abc import Iterator
from urllib.parse import urlencode
from uuid import UUID

import pytest
import urllib3
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from analytics_sql.analysts.accounts import (
    AnalystAccount,
    Place,
    analyst_name,
    create_analyst,
    created_by,
    list_analysts,
    remove_analyst,
    removed_by,
)
from analytics_sql.analysts.saved_queries import saved_parameters, saved_queries
from analytics_sql.migrate import migrate
from common.errors import InvalidInputError
from tests.integration.analytics_sql.saved_rows import (
    ANSWERS,
    NEIGHBOUR,
    OWNER,
    PARAMETERS,
    write_saved_rows,
)
from tests.services.clickhouse import (
    ClickHouseAddress,
    ClickHouseService,
    create_database,
    start_clickhouse,
)

pytestmark = pytest.mark.integration

_DENIED, _REFUSED_LOGIN, _QUOTA, _NO_PREWHERE = "497", "516", "201", "182"
VIEWS = ("analysis_recognitions", "analysis_passes", "analysis_cameras", "analysis_alerts")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseService]:
    """A server whose analysts have two hundred queries an hour."""
    service = start_clickhouse(tmp_path_factory.mktemp("clickhouse"), reader_queries_per_hour="200")
    yield service
    service.stop()


@pytest.fixture(scope="module")
def database(service: ClickHouseService) -> ClickHouseAddress:
    """The service's own view of a database with the rows of two owners."""
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
    """The service's client."""
    client = database.client()
    yield client
    client.close()


@pytest.fixture(scope="module")
def place(database: ClickHouseAddress) -> Place:
    """The database."""
    return Place(database.database)


@pytest.fixture(scope="module")
def analyst(admin: Client, place: Place, database: ClickHouseAddress) -> ClickHouseAddress:
    """The database for the first owner's analyst."""
    account = AnalystAccount(analyst_name(OWNER), OWNER)
    password = create_analyst(admin, place, account)
    return ClickHouseAddress(
        database.host, database.port, account.name, password, database.database
    )


def _ask(
    address: ClickHouseAddress, sql: str, fields: dict[str, str] | None = None
) -> urllib3.BaseHTTPResponse:
    query = urlencode({"database": address.database, **(fields or {})})
    headers = {"X-ClickHouse-User": address.user, "X-ClickHouse-Key": address.password}
    url = f"{address.url}/?{query}"
    return urllib3.request("POST", url, body=sql, headers=headers, timeout=30, retries=False)


def _code(answer: urllib3.BaseHTTPResponse) -> str | None:
    return answer.headers.get("X-ClickHouse-Exception-Code")


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_the_owners_rows_alone(
    analyst: ClickHouseAddress, admin: Client, view: str
) -> None:
    owners = {row[0] for row in admin.query(f"SELECT DISTINCT user_id FROM {view}").result_rows}
    assert OWNER in owners

    answer = _ask(analyst, f"SELECT DISTINCT user_id FROM {view}")

    assert answer.data.decode().split() == [str(OWNER)]


@pytest.mark.parametrize("name", sorted(saved_queries()))
def test_the_saved_queries_run(analyst: ClickHouseAddress, name: str) -> None:
    sql = saved_queries()[name]
    given = {f"param_{each}": PARAMETERS[each] for each in saved_parameters(sql)}

    answer = _ask(analyst, f"SELECT count() FROM ({sql})", given)

    assert answer.data.decode().strip() == str(len(ANSWERS[name])), answer.data


def test_another_owner_is_empty_to_it(analyst: ClickHouseAddress) -> None:
    sql = saved_queries()["hourly_load"]
    given = {f"param_{each}": PARAMETERS[each] for each in saved_parameters(sql)}

    assert _ask(analyst, sql, {**given, "param_owner": str(NEIGHBOUR)}).data == b""


def test_clickhouse_connect_connects(analyst: ClickHouseAddress) -> None:
    client = analyst.client()

    assert client.query("SELECT uniqExact(user_id) FROM analysis_recognitions").result_rows == [
        (1,)
    ]
    client.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count() FROM recognitions",
        "SELECT count() FROM {database}.recognitions",
        "SELECT count() FROM `recognitions` AS r FINAL",
        "WITH c AS (SELECT * FROM recognitions) SELECT count() FROM c",
        "SELECT (SELECT count() FROM recognitions)",
        "SELECT * FROM analysis_recognitions WHERE plate IN recognitions",
        "SELECT in(plate, recognitions) FROM analysis_recognitions",
        "SELECT count() FROM analysis_cameras AS a JOIN cameras AS c ON a.camera_id = c.id",
        "EXPLAIN SELECT (SELECT count() FROM recognitions)",
        "DESCRIBE (SELECT (SELECT count() FROM recognitions))",
        "SELECT count() FROM view(SELECT * FROM recognitions)",
        "SELECT count() FROM {{table:Identifier}}",
        "SELECT * FROM erasures",
        "SELECT * FROM embedded_server.analysts",
        "SELECT sum(rows) FROM system.parts",
        "SELECT joinGet('recognitions', 'plate', 1)",
        "SELECT dictGet('recognitions', 'plate', 1)",
        "SELECT count() FROM merge(currentDatabase(), 'recog')",
    ],
)
def test_what_is_not_a_view_is_refused(analyst: ClickHouseAddress, sql: str) -> None:
    statement = sql.format(database=analyst.database)

    answer = _ask(analyst, statement, {"param_table": "recognitions"})

    assert _code(answer) == _DENIED, answer.data


@pytest.mark.parametrize("of_server", ["system", "embedded_server"])
def test_databases_of_the_server_are_no_default(analyst: ClickHouseAddress, of_server: str) -> None:
    answer = _ask(analyst, "SELECT * FROM analysts", {"database": of_server})

    assert _code(answer) == _DENIED


def test_the_analyst_of_all_cannot_read_who_may_read(service: ClickHouseService) -> None:
    reader = service.analyst

    assert _code(_ask(reader, "SELECT * FROM embedded_server.analysts")) == _DENIED
    answer = _ask(reader, "SELECT * FROM analysts", {"database": "embedded_server"})
    assert _code(answer) == _DENIED


def test_the_filter_cannot_be_set(analyst: ClickHouseAddress) -> None:
    sql = "SELECT uniqExact(user_id) FROM analysis_recognitions"
    wish = "additional_table_filters"

    assert _code(_ask(analyst, sql, {wish: "{}"})) == "164"
    assert _code(_ask(analyst, f"{sql} SETTINGS {wish} = {{}}")) == "164"
    inner = _ask(analyst, f"SELECT * FROM ({sql} SETTINGS {wish} = {{}})")
    assert inner.data in (b"1\n", b"") or _code(inner)


@pytest.mark.parametrize(
    "condition",
    [
        "toUInt64(concat('0', if(endsWith(plate, 'X'), plate, ''))) = 0",
        "throwIf(endsWith(plate, 'X')) = 0",
        "intDiv(1, NOT endsWith(plate, 'X')) = 1",
        "throwIf(user_id != '00000000-0000-0000-0000-000000000001') = 0",
        "throwIf(camera_id IS NOT NULL AND endsWith(plate, 'X')) = 0 AND ts > '2026-01-01'",
    ],
)
@pytest.mark.parametrize("merged", [False, True])
def test_errors_of_conditions_tell_nothing_of_other_rows(
    analyst: ClickHouseAddress, admin: Client, condition: str, merged: bool
) -> None:
    if merged:
        admin.command("OPTIMIZE TABLE recognitions FINAL")

    answer = _ask(analyst, f"SELECT count() FROM analysis_recognitions WHERE {condition}")

    assert answer.status == 200, answer.data
    assert b"X" not in answer.data
    prewhere = _ask(analyst, f"SELECT count() FROM analysis_recognitions PREWHERE {condition}")
    assert b"STAY1X" not in prewhere.data
    assert _code(prewhere) == _NO_PREWHERE


def test_it_writes_nothing(analyst: ClickHouseAddress) -> None:
    for sql in ("INSERT INTO cameras (id) VALUES (1)", "DROP TABLE cameras", "SYSTEM FLUSH LOGS"):
        assert _code(_ask(analyst, sql)) == "164"


class TestAccounts:
    def test_a_wrong_password_is_refused(self, analyst: ClickHouseAddress) -> None:
        wrong = ClickHouseAddress(
            analyst.host, analyst.port, analyst.user, "wrong", analyst.database
        )

        assert _code(_ask(wrong, "SELECT 1")) == _REFUSED_LOGIN

    def test_a_removed_analyst_is_refused_and_may_be_made_again(
        self, admin: Client, place: Place, database: ClickHouseAddress
    ) -> None:
        account = AnalystAccount(analyst_name(NEIGHBOUR, "grafana"), NEIGHBOUR)
        password = create_analyst(admin, place, account)
        address = ClickHouseAddress(
            database.host, database.port, account.name, password, database.database
        )
        with pytest.raises(InvalidInputError, match="remove it first"):
            create_analyst(admin, place, account)
        assert account in list_analysts(admin, [OWNER, NEIGHBOUR])
        assert account not in list_analysts(admin, [OWNER])
        assert _ask(address, "SELECT 1").data == b"1\n"

        remove_analyst(admin, place, account)

        assert _code(_ask(address, "SELECT 1")) == _REFUSED_LOGIN
        assert account not in list_analysts(admin, [OWNER, NEIGHBOUR])
        assert create_analyst(admin, place, account) != password
        remove_analyst(admin, place, account)

    def test_the_password_is_stored_as_a_hash(
        self, admin: Client, analyst: ClickHouseAddress
    ) -> None:
        rows = str(admin.query("SELECT * FROM embedded_server.analysts").result_rows)

        assert analyst.user in rows
        assert analyst.password not in rows

    def test_the_hour_has_a_quota(
        self, admin: Client, place: Place, database: ClickHouseAddress, analyst: ClickHouseAddress
    ) -> None:
        account = AnalystAccount(analyst_name(OWNER, "busy"), OWNER)
        password = create_analyst(admin, place, account)
        busy = ClickHouseAddress(
            database.host, database.port, account.name, password, database.database
        )

        codes = [_code(_ask(busy, "SELECT 1")) for _ in range(201)]

        assert codes == [None] * 200 + [_QUOTA]
        assert _code(_ask(analyst, "SELECT 1")) is None


def test_the_statements_for_a_server_are_read_by_the_engines_parser(admin: Client) -> None:
    account = AnalystAccount(analyst_name(OWNER), OWNER)
    places = (Place("platestream"), Place("plate`s", "main", "_local"))
    for place in places:
        statements = created_by(place, account, "a" * 64, "service")
        for statement in (*statements, *removed_by(place, account)):
            written = admin.query(
                "SELECT formatQuery({statement:String})", parameters={"statement": statement}
            )
            assert written.result_rows[0][0], statement


def test_an_odd_name_is_refused() -> None:
    for label in ("A", "a b", "a" * 25, "a`"):
        with pytest.raises(InvalidInputError):
            analyst_name(OWNER, label)


def test_the_service_reads_all_rows(admin: Client) -> None:
    owners = admin.query("SELECT uniqExact(user_id) FROM analysis_recognitions").result_rows

    assert owners == [(2,)]
    with pytest.raises(DatabaseError):
        admin.query("SELECT nothing FROM recognitions")
