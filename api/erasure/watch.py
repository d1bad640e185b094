"""Lets a process's memory of new recognitions forget what was erased."""

from typing import Protocol

from analytics_sql.erasures import Erasures
from api.live.recent import RecentRecognitions


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

    async def sweep(self) -> int:
        """Forget what was erased since the last time, and return how many recognitions.

        Raises:
            PartAwayError: ClickHouse does not answer; what was erased before stays forgotten.
        """
        return self._recent.heed(await self._noted.erasures())
