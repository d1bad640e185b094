"""Recognitions in ClickHouse."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.analytics import OwnerSpan, Traffic, count_traffic
from analytics_sql.connection import clickhouse_errors, connect
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
    get_recognition,
    list_recognitions,
)
from contracts.errors import TransientError
from contracts.settings import ClickHouseSettings

_QUERY_SECONDS = 10.0


class ClickHouseStore:
    """Searches the recognitions of all owners; every call names the owner it acts for."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        """Take the settings; the first call connects."""
        self._settings = settings
        self._client: AsyncClient | None = None
        self._connecting = asyncio.Lock()

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        """Return at most ``limit`` recognitions, newest first, from behind ``after``.

        Raises:
            TransientError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await list_recognitions(client, wanted, after, limit)

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        """Return one of the owner's recognitions.

        Raises:
            TransientError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await get_recognition(client, owner_id, recognition_id)

    async def traffic(self, span: OwnerSpan, *, plates: int) -> Traffic:
        """Return the counts of a span, and at most so many ``plates``.

        Raises:
            TransientError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await count_traffic(client, span, plates=plates)

    async def ping(self) -> None:
        """Return when the table of recognitions can be read.

        Raises:
            PlatestreamError: it can not.
        """
        async with self._connected() as client:
            with clickhouse_errors():
                await client.query("SELECT 1 FROM recognitions LIMIT 0")

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AsyncClient]:
        try:
            async with asyncio.timeout(_QUERY_SECONDS):
                yield self._client or await self._connect()
        except TimeoutError as error:
            raise TransientError(f"ClickHouse took longer than {_QUERY_SECONDS:g} s") from error

    async def _connect(self) -> AsyncClient:
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self._settings)
            return self._client
