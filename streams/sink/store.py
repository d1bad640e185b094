"""ClickHouse as the sink sees it."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import structlog
from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import QueryFailedError, connect
from analytics_sql.erasures import Erasures, list_erasures
from contracts.errors import MisconfiguredError, TransientError
from contracts.settings import ClickHouseSettings
from streams.sink.erased import erasures_of, photo_spans, write_unless_erased
from streams.sink.tables import SinkTable

log = structlog.get_logger()
R = TypeVar("R")


class RowStore:
    """Writes rows of all tables; connects when it first has to, and again after it could not."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        self._settings = settings
        self._client: AsyncClient | None = None
        self._connecting = asyncio.Lock()
        self._erasures: Erasures | None = None

    async def insert(self, table: SinkTable[R], rows: Sequence[R]) -> None:
        """Write rows to a table; when this returns they are stored, without what was erased.

        Repeatable.

        Raises:
            TransientError: ClickHouse is away, busy, not set up yet, or does not erase.
            InvalidInputError: ClickHouse refuses at least one of these rows.
        """
        try:
            await self._write(await self._connected(), table, rows)
        except MisconfiguredError as error:
            # No table, no database or no access yet: rows wait until an operator has mended it.
            log.error("clickhouse_misconfigured", error=str(error))
            raise TransientError(str(error)) from error
        except QueryFailedError as error:
            # Not an insert, so it is no fault of these rows: a dead letter would hold their plates.
            log.error("clickhouse_refuses_to_erase", error=str(error))
            raise TransientError(str(error)) from error

    async def _write(self, client: AsyncClient, table: SinkTable[R], rows: Sequence[R]) -> None:
        known = self._erasures or await list_erasures(client)
        await write_unless_erased(client, table, rows, known)
        # Kept before anything is erased: where that fails, the next try leaves out what this wrote.
        # So it does where ClickHouse takes longer than its client waits: it goes on by itself, and
        # what a try adds to it is done in one go with what waits. Waiting on would be a standstill.
        self._erasures = now = await list_erasures(client)
        for erasure in erasures_of(table, rows, now):
            await table.erase(client, erasure)
        if table.shared_photos is not None:
            for span in photo_spans(table, rows, now):
                await table.shared_photos.erase_noted(client, span)

    async def _connected(self) -> AsyncClient:
        # Every table's agent writes here: two at once must not open two clients.
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self._settings)
            return self._client

    async def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()
