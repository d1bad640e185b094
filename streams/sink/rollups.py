"""Keeps the rollups of all owners up to date, beside the writing."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import structlog

from analytics_sql.client import ClickHouseClient
from analytics_sql.erasure import Subject, erase_derived, list_erasures
from analytics_sql.traffic.frequent_plates import SETTLE_MS
from analytics_sql.traffic.rollups import owners_written_since, rank_plates, roll_up, server_time_ms
from common.errors import PlatestreamError

log = structlog.get_logger()

STATEMENT_SECONDS = 600
"""A day of an owner with very many rows, or a rank of thirty, takes minutes on a busy server."""


class RollupUpdater:
    """Rolls up who had anything written. Several workers may do so side by side."""

    def __init__(self, client: ClickHouseClient, *, every_seconds: float) -> None:
        """``client`` waits for long statements."""
        self._client = client
        self._every_seconds = every_seconds
        self._since_ms = 0
        self._unfinished: frozenset[UUID] = frozenset()

    async def run(self, is_ours: Callable[[], bool]) -> None:
        """Go on until cancelled, as long as it ``is_ours``; what fails is tried the next time."""
        while True:
            await asyncio.sleep(self._every_seconds)
            if not is_ours():
                continue
            try:
                await self.sweep()
            except PlatestreamError as error:
                log.warning("rollups_postponed", error=str(error))

    async def sweep(self) -> None:
        """Bring all owners up to date of whom anything was written since the last sweep.

        Raises:
            PlatestreamError: ClickHouse is unavailable, busy or not set up; what is done is done.
        """
        client = self._client
        now_ms = await server_time_ms(client)
        written = await owners_written_since(client, self._since_ms)
        unfinished: set[UUID] = set()
        for owner_id in sorted({*written, *self._unfinished}):
            if not await self._roll_up(owner_id):
                unfinished.add(owner_id)
        # What was touched a moment ago is counted once it has settled, so it is looked at again.
        self._since_ms = now_ms - 3 * SETTLE_MS
        self._unfinished = frozenset(unfinished)

    async def _roll_up(self, owner_id: UUID) -> bool:
        if await self._is_erased(owner_id):
            return True
        is_done = await roll_up(self._client, owner_id)
        if is_done:
            await rank_plates(self._client, owner_id)
        if await self._is_erased(owner_id):
            # Noted meanwhile: what was made of the owner's rows here may have come too late.
            await erase_derived(self._client, owner_id)
        return is_done

    async def _is_erased(self, owner_id: UUID) -> bool:
        erasures = await list_erasures(self._client)
        return erasures.covers(Subject(owner_id, 0))
