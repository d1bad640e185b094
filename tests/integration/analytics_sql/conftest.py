"""Clients of the test run's ClickHouse. Each test has a separate database."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar
from uuid import UUID

import clickhouse_connect
import pytest
import urllib3
from clickhouse_connect.driver.asyncclient import AsyncClient
from clickhouse_connect.driver.client import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from analytics_sql.client import ClickHouseClient
from tests.services.clickhouse import ClickHouseAddress

_T = TypeVar("_T")
Http = Callable[..., urllib3.BaseHTTPResponse]

ODD_TEXTS = (
    "",
    "O'Hara",
    "back\\slash",
    "tab\tline\nreturn\r",
    '"quoted"',
    "Grüße 車 🚗",
    "%_\\%",
    "{x}",
)


@pytest.fixture
def client(clickhouse_address: ClickHouseAddress) -> Iterator[Client]:
    client = clickhouse_address.client()
    yield client
    client.close()


@pytest.fixture
async def async_client(clickhouse_address: ClickHouseAddress) -> AsyncIterator[AsyncClient]:
    client = await clickhouse_connect.get_async_client(
        host=clickhouse_address.host,
        port=clickhouse_address.port,
        username=clickhouse_address.user,
        password=clickhouse_address.password,
        database=clickhouse_address.database,
        autogenerate_session_id=False,
    )
    yield client
    await client.close()


@pytest.fixture
async def migrated_client(
    migrated_clickhouse: ClickHouseAddress,
) -> AsyncIterator[ClickHouseClient]:
    """A client of a database with this release's schema."""
    client = ClickHouseClient(migrated_clickhouse.settings())
    yield client
    await client.close()


@pytest.fixture
def http(clickhouse_address: ClickHouseAddress) -> Iterator[Http]:
    """A function that sends a request without a client: ``http(method, address, **options)``."""
    pool = urllib3.HTTPConnectionPool(clickhouse_address.host, clickhouse_address.port)
    identity = {
        "X-ClickHouse-User": clickhouse_address.user,
        "X-ClickHouse-Key": clickhouse_address.password,
    }

    def send(
        method: str, address: str, *, headers: dict[str, str] | None = None, **more: object
    ) -> urllib3.BaseHTTPResponse:
        merged = identity | (headers or {})
        return pool.request(method, address, headers=merged, timeout=30, retries=False, **more)  # type: ignore[arg-type]

    yield send
    pool.close()


def check_examples(
    address: ClickHouseAddress,
    examples: SearchStrategy[_T],
    check: Callable[[ClickHouseClient, UUID, _T], Coroutine[Any, Any, None]],
    *,
    count: int,
) -> None:
    """Check generated examples, each with a separate account in the same database."""
    owners = map(UUID, (f"{number:032x}" for number in itertools.count(1)))
    with asyncio.Runner() as runner:
        client = ClickHouseClient(address.settings())

        # No shrinking, because each attempt is an insert, and the failing query explains itself.
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(examples)
        def holds(example: _T) -> None:
            runner.run(check(client, next(owners), example))

        try:
            holds()
        finally:
            runner.run(client.close())
