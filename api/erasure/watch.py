"""Lets a process's memory of new recognitions forget what was erased."""

import asyncio
from typing import Protocol

from analytics_sql.erasures import Erasures
from api.live.recent import RecentRecognitions
from api.parts import Part, PartAwayError
from contracts.errors import PlatestreamError


class ErasureList(Protocol):
    """Where it is noted what was erased: in ClickHouse."""

    async def erasures(self) -> Erasures:
        """Return what was erased within thirty days."""


class ErasureWatch:
    """Reads the list now and then."""

    def __init__(self, noted: ErasureList, recent: RecentRecognitions) -> None:
        """Take the list, and what streams of recognitions are fed from."""
        self._noted = noted
        self._recent = recent
        self._first = asyncio.Lock()

    async def ready(self) -> None:
        """Return once the list has been read since the process began; read it where it was not.

        A new process is told of recognitions again that may have been erased meanwhile.

        Raises:
            PartAwayError: it cannot be read.
        """
        if self._recent.is_heeding:
            return
        async with self._first:
            if self._recent.is_heeding:
                return
            try:
                await self.sweep()
            except PlatestreamError as error:
                # Also where the table is not there yet; the log of the sweeps says so.
                raise PartAwayError(Part.SEARCH) from error

    async def sweep(self) -> int:
        """Forget what was erased since the last time, and return how many recognitions.

        Raises:
            PlatestreamError: ClickHouse does not answer, or has no such list; what was erased
                before stays forgotten.
        """
        return self._recent.heed(await self._noted.erasures())
