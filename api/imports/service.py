"""Reads CSV files in a thread. Owners take turns, and each has so much processor time a minute."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from api.imports.tables import CsvTable, FileEncoding, read_table
from api.limits.fair_threads import FairThreads, TimeBudget
from api.limits.fair_turns import TurnLimits

_LIMITS = TurnLimits(at_once=1, waiting=20)
_WAIT_SECONDS = 10.0
_TOO_MANY = "Too many files are being read; wait, then try again."
_BUDGET_SECONDS = 5.0
_USED_UP = (
    f"The account's CSV files have used {_BUDGET_SECONDS:g} s of processor time within a minute; "
    "wait, then try again."
)
_T = TypeVar("_T")


class TableImports:
    """Reads CSV files; stores nothing."""

    def __init__(self) -> None:
        self._threads = FairThreads(
            "imports", _LIMITS, wait_seconds=_WAIT_SECONDS, too_many=_TOO_MANY
        )
        self._budget = TimeBudget(_BUDGET_SECONDS, _USED_UP)

    async def read(
        self,
        owner_id: UUID,
        data: bytes,
        encoding: FileEncoding | None,
        work: Callable[[CsvTable], _T],
    ) -> _T:
        """Return the result of ``work`` on the rows of a file.

        Raises:
            ApiError: 429, too many files are waiting, or the owner's time is used up.
            InvalidInputError: the file cannot be read. The message is a sentence.
        """
        return await self._threads.run(owner_id, self._read, owner_id, data, encoding, work)

    async def close(self) -> None:
        """Wait until running work has finished."""
        await asyncio.to_thread(self._threads.close)

    def _read(
        self,
        owner_id: UUID,
        data: bytes,
        encoding: FileEncoding | None,
        work: Callable[[CsvTable], _T],
    ) -> _T:
        self._budget.require(owner_id)
        began = time.thread_time()
        try:
            return work(read_table(data, encoding))
        finally:
            self._budget.spend(owner_id, time.thread_time() - began)
