"""The schema of a cluster. There is no cluster here, so the engine only parses the statements."""

from importlib.resources import files
from typing import Any, cast

import pytest
from clickhouse_connect.driver.client import Client

from analytics_sql.client import SchemaClient, query_text
from analytics_sql.cluster import CLUSTER_SETTINGS, Cluster, cluster_statements
from analytics_sql.migrate import create_database, migrate, migrations
from common.errors import MisconfiguredError

pytestmark = pytest.mark.integration

MAIN = Cluster("main", "plates")
QUERIES = sorted(
    entry.name.removesuffix(".sql")
    for entry in files("analytics_sql").joinpath("queries").iterdir()
    if entry.name.endswith(".sql")
)


def _read(client: Client, statement: str) -> str:
    answer = client.query(
        "SELECT formatQuerySingleLine({statement:String})", parameters={"statement": statement}
    )
    return str(answer.result_rows[0][0])


@pytest.mark.parametrize("migration", migrations(), ids=lambda migration: migration.name)
def test_migrations_are_read_by_the_engines_parser(client: Client, migration: Any) -> None:
    for statement in (*migration.up, *migration.down):
        for each in cluster_statements(statement, MAIN):
            read = _read(client, each)
            if not each.lstrip().startswith("INSERT"):
                assert "ON CLUSTER main" in read, each


def test_what_changes_tables_is_read_by_the_engines_parser(client: Client) -> None:
    changing = [name for name in QUERIES if cluster_statements(query_text(name), None)]
    for name in changing:
        text = query_text(name)
        if not any(word in text for word in ("ALTER TABLE", "CREATE ")):
            continue
        for each in cluster_statements(text, MAIN):
            assert _read(client, each)


def test_the_settings_of_a_cluster_are_known_to_the_engine(client: Client) -> None:
    for name, value in CLUSTER_SETTINGS.items():
        client.command(f"SELECT 1 SETTINGS {name} = {value!r}")


def test_a_database_of_one_server_does_not_become_one_of_a_cluster(client: Client) -> None:
    migrate(client, retention_days=400)

    with pytest.raises(MisconfiguredError, match="another database"):
        migrate(client, retention_days=400, cluster=MAIN)


class _Recorder:
    """Fake server of a cluster. It records statements, and responds that no object exists."""

    database: str | None = None

    def __init__(self) -> None:
        self.statements: list[str] = []

    def command(self, cmd: str, parameters: dict[str, Any] | None = None) -> Any:
        self.statements.append(cmd)
        return 0

    def query(self, query: str) -> Any:
        raise AssertionError(query)

    def insert(self, table: str, data: Any, column_names: Any) -> object:
        return None


def test_a_new_database_is_made_on_all_servers(client: Client) -> None:
    server = _Recorder()

    schema = cast("SchemaClient", server)
    create_database(schema, "plates", MAIN)
    done = migrate(schema, retention_days=400, cluster=MAIN)

    assert done == migrations()
    changes = [each for each in server.statements if not each.lstrip().startswith(("EXISTS", "--"))]
    assert len(changes) > 20
    for each in changes:
        assert "ON CLUSTER `main`" in each or each.startswith("INSERT"), each
    assert any("MODIFY TTL" in each and "recognitions_local" in each for each in changes)
