"""Accounts that search at the same time, with a real ClickHouse."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import RecognitionFilter
from api.adapters.clickhouse import ClickHouseStore
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

GREEDY, FAIR = UUID(int=1), UUID(int=2)
AT_ONCE = 2


@pytest.fixture
async def store(
    clickhouse: ClickHouseClient, migrated_clickhouse: ClickHouseAddress
) -> AsyncIterator[ClickHouseStore]:
    opened = ClickHouseStore(migrated_clickhouse.settings(), searches_at_once=AT_ONCE)
    yield opened
    await opened.close()


async def test_a_hundred_searches_of_one_owner_stand_before_no_other(
    store: ClickHouseStore,
) -> None:
    answered: list[UUID] = []

    async def search(owner_id: UUID) -> None:
        await store.page(RecognitionFilter(owner_id), None, 10)
        answered.append(owner_id)

    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(search(GREEDY))
        # Wait until the hundred searches have started.
        await asyncio.sleep(0)
        group.create_task(search(FAIR))

    # Only the searches that were running, and at most as many others, finish earlier.
    assert answered.index(FAIR) <= 2 * AT_ONCE
