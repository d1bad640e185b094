"""Exports the list of recognitions to files. Each file contains one part of the list."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from uuid import UUID

from analytics_sql.exports import ExportPart, FileForm
from analytics_sql.recognitions import RecognitionFilter
from api.accounts.repository import require_owner
from api.adapters.clickhouse import ClickHouseStore
from api.db.database import Database
from api.limits.limiter import RateLimiter
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.recognitions.service import Recognitions, storable
from api.security.permissions import Principal


@dataclass(frozen=True)
class Export:
    """A file in pieces, and the cursor of the next part (None at the end of the list)."""

    pieces: AsyncIterator[bytes]
    next_key: str | None


class Exports:
    """Creates exports. All methods take the account or the caller."""

    def __init__(
        self,
        store: ClickHouseStore,
        recognitions: Recognitions,
        limits: OwnerLimits,
        limiter: RateLimiter,
        database: Database,
    ) -> None:
        self._store = store
        self._recognitions = recognitions
        self._limits = limits
        self._limiter = limiter
        self._database = database

    async def timezone(self, owner_id: UUID) -> str:
        """Return the IANA name of an account's time zone.

        Raises:
            TransientError: PostgreSQL is unavailable.
        """
        return await self._database.run(lambda session: require_owner(session, owner_id).timezone)

    async def open(
        self,
        caller: Principal,
        wanted: RecognitionFilter,
        last_key: str | None,
        rows: int,
        form: FileForm,
        held: AsyncExitStack,
    ) -> Export:
        """Return a part of the list as a file. Close ``held`` after sending the file.

        Raises:
            ApiError: 400, the cursor belongs to a different list; 429, a limit is exceeded.
            DependencyUnavailableError: ClickHouse is unavailable or too slow.
        """
        after = self._recognitions.position(wanted, last_key)
        held.enter_context(self._limits.slot(OwnerLimit.EXPORTS_AT_ONCE, caller))
        await self._limiter.admit_export(caller)
        # Even a range in which nothing can be stored is queried, for the header of the file.
        possible = storable(wanted)
        part = ExportPart(None, None)
        if possible is not None:
            part = await self._store.export_part(possible, after, rows)
        asked = possible or RecognitionFilter(user_id=wanted.user_id)
        file = self._store.exported(asked, after, part, form)
        pieces = await held.enter_async_context(file)
        return Export(pieces, self._recognitions.key_after(wanted, part.next_after))
