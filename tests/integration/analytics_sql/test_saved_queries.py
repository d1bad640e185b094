"""The saved queries on rows with known results."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from analytics_sql.analysts.saved_queries import saved_parameters, saved_queries
from tests.integration.analytics_sql.saved_rows import ANSWERS, PARAMETERS, write_saved_rows
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration


@pytest.fixture
def client(migrated_clickhouse: ClickHouseAddress) -> Iterator[Client]:
    """A client of a database with this release's schema and the known rows."""
    client = migrated_clickhouse.client()
    write_saved_rows(client)
    yield client
    client.close()


def test_every_saved_query_has_a_known_answer() -> None:
    assert set(ANSWERS) == set(saved_queries())


@pytest.mark.parametrize("name", sorted(saved_queries()))
def test_a_saved_query_answers_what_is_known(client: Client, name: str) -> None:
    statement = saved_queries()[name]
    given = {parameter: PARAMETERS[parameter] for parameter in saved_parameters(statement)}

    rows = client.query(statement, parameters=given, query_tz="UTC").result_rows

    expected = [tuple(map(_plain, row)) for row in ANSWERS[name]]
    assert [tuple(map(_plain, row)) for row in rows] == expected


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
