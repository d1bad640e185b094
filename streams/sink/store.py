"""ClickHouse as the sink sees it."""

from collections.abc import Sequence

import structlog
from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import QueryFailedError, connect
from analytics_sql.recognitions import RecognitionRow, insert_recognitions
from contracts.errors import InvalidInputError, MisconfiguredError, TransientError
from contracts.settings import ClickHouseSettings

log = structlog.get_logger()


class RecognitionStore:
    """Writes rows; connects when it first has to, and again after it could not."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        self._settings = settings
        self._client: AsyncClient | None = None

    async def insert(self, rows: Sequence[RecognitionRow]) -> None:
        """Write rows; when this returns they are stored. Repeatable.

        Raises:
            TransientError: ClickHouse is away, busy, or not set up yet.
            InvalidInputError: ClickHouse refuses at least one of these rows.
        """
        try:
            if self._client is None:
                self._client = await connect(self._settings)
            await insert_recognitions(self._client, rows)
        except MisconfiguredError as error:
            # No table, no database or no access yet: rows wait until an operator has mended it.
            log.error("clickhouse_misconfigured", error=str(error))
            raise TransientError(str(error)) from error
        except QueryFailedError as error:
            raise InvalidInputError(str(error), code="refused_by_clickhouse") from error

    async def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None
