"""Keeps the rollups of all accounts up to date, separately from the writing of rows."""

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
"""On a busy server, one day of a very large account, or a ranking of 30 days, takes minutes."""


class RollupUpdater:
    """Updates the rollups of accounts with new rows. Several workers can run concurrently."""

    def __init__(self, client: ClickHouseClient, *, every_seconds: float) -> None:
        """``client`` must allow long statements."""
        self._client = client
        self._every_seconds = every_seconds
        self._since_ms = 0
        self._unfinished: frozenset[UUID] = frozenset()

    async def run(self, is_ours: Callable[[], bool]) -> None:
        """Sweep regularly if ``is_ours()`` is true, until cancelled. Failed sweeps are retried."""
        while True:
            await asyncio.sleep(self._every_seconds)
            if not is_ours():
                continue
            try:
                await self.sweep()
            except PlatestreamError as error:
                log.warning("rollups_postponed", error=str(error))

    async def sweep(self) -> None:
        """Update the rollups of all accounts with rows written since the last sweep.

        Raises:
            PlatestreamError: ClickHouse is unavailable, busy or not set up. Completed work remains.
        """
        client = self._client
        now_ms = await server_time_ms(client)
        written = await owners_written_since(client, self._since_ms)
        unfinished: set[UUID] = set()
        for owner_id in sorted({*written, *self._unfinished}):
            if not await self._roll_up(owner_id):
                unfinished.add(owner_id)
        # Recent changes are rolled up only once settled, so the next sweep includes them again.
        self._since_ms = now_ms - 3 * SETTLE_MS
        self._unfinished = frozenset(unfinished)

    async def _roll_up(self, owner_id: UUID) -> bool:
        if await self._is_erased(owner_id):
            return True
        is_done = await roll_up(self._client, owner_id)
        if is_done:
            await rank_plates(self._client, owner_id)
        if await self._is_erased(owner_id):
            # The erasure was recorded during the update, so it may have missed the new rollups.
            await erase_derived(self._client, owner_id)
        return is_done

    async def _is_erased(self, owner_id: UUID) -> bool:
        erasures = await list_erasures(self._client)
        return erasures.covers(Subject(owner_id, 0))
