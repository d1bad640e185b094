"""Applies erasures to a process's memory of new recognitions."""

import asyncio
from typing import Protocol

from analytics_sql.erasure import Erasures
from api.errors import Dependency, DependencyUnavailableError
from api.live.recent import RecentRecognitions
from common.errors import PlatestreamError


class ErasureList(Protocol):
    """The erasures noted in ClickHouse."""

    async def erasures(self) -> Erasures:
        """Return what was erased within thirty days."""


class ErasureWatch:
    """Reads the list now and then."""

    def __init__(self, noted: ErasureList, recent: RecentRecognitions) -> None:
        self._noted = noted
        self._recent = recent
        self._first = asyncio.Lock()

    async def ready(self) -> None:
        """Return once the list has been read since the process began; read it where it was not.

        A new process reads recognitions again that may have been erased meanwhile.

        Raises:
            DependencyUnavailableError: it cannot be read.
        """
        if self._recent.knows_erasures:
            return
        async with self._first:
            if self._recent.knows_erasures:
                return
            try:
                await self.sweep()
            except PlatestreamError as error:
                # Also where the table is not there yet; the log of the sweeps says so.
                raise DependencyUnavailableError(Dependency.SEARCH) from error

    async def sweep(self) -> int:
        """Forget what was erased since the last time, and return how many recognitions.

        Raises:
            PlatestreamError: ClickHouse does not answer, or has no such list; what was erased
                before stays forgotten.
        """
        return self._recent.apply_erasures(await self._noted.erasures())
