"""Manages manual corrections of recognitions. A correction does not change the reading."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from sqlalchemy.orm import Session

from analytics_sql.recognitions import RecognitionCursor
from api.audit.plates import PlateHashes
from api.db.database import Database
from api.errors import ApiError, require_found
from api.paging.cursor import CursorSealer
from api.recognitions.repository import (
    Correction,
    delete_correction,
    delete_expired_corrections,
    get_corrections,
    list_corrections,
    upsert_correction,
)
from api.recognitions.service import Recognitions
from api.security.permissions import Principal

_EVERY_MS: Final = 3_600_000
_RECOGNITIONS_LEFT: Final = timedelta(days=31)
"""Maximum time by which a recognition outlives its retention. Rows are deleted monthly."""


@dataclass(frozen=True)
class CorrectionFilter:
    """Selects all corrections of an account, or only those whose plate contains ``plate``."""

    owner_id: UUID
    plate: str | None


@dataclass(frozen=True)
class CorrectionPage:
    """A page of corrections. ``next_key`` is the cursor of the next page, or None at the end."""

    corrections: tuple[Correction, ...]
    next_key: str | None


class Corrections:
    """Manages corrections. Raises ApiError 404 for a recognition of another account."""

    def __init__(
        self,
        database: Database,
        recognitions: Recognitions,
        sealer: CursorSealer,
        hashes: PlateHashes,
        retention: timedelta,
        now_ms: Callable[[], int],
    ) -> None:
        """``retention`` is the retention of recognitions. ``now_ms`` returns Unix ms (UTC)."""
        self._database = database
        self._recognitions = recognitions
        self._sealer = sealer
        self._hashes = hashes
        self._retention = retention
        self._now_ms = now_ms
        self._next_ms = 0

    async def write(
        self, caller: Principal, recognition_id: UUID, plate: str | None, region: str | None
    ) -> Correction:
        """Store the correct plate of a recognition, replacing an earlier correction.

        Raises:
            ApiError: 404, the recognition does not exist or was erased during the call.
        """
        found = await self._recognitions.require(caller.owner_id, recognition_id)

        def work(session: Session) -> Correction:
            named = [text for text in (found.plate, plate) if text]
            self._hashes.announce(session, caller.owner_id, named)
            return upsert_correction(session, caller, found, plate, region)

        written = await self._database.run(work)
        try:
            await self._recognitions.require(caller.owner_id, recognition_id)
        except ApiError:
            await self._remove(caller.owner_id, recognition_id)
            raise
        return written

    async def remove(self, owner_id: UUID, recognition_id: UUID) -> None:
        """Delete a correction, or raise ApiError 404 if there is no correction."""
        require_found(await self._remove(owner_id, recognition_id))

    async def get_many(
        self, owner_id: UUID, recognition_ids: Collection[UUID]
    ) -> Mapping[UUID, Correction]:
        """Return the existing corrections of some recognitions, by recognition ID."""
        if not recognition_ids:
            return {}
        return await self._database.run(
            lambda session: get_corrections(session, owner_id, recognition_ids)
        )

    async def page(
        self, wanted: CorrectionFilter, limit: int, last_key: str | None
    ) -> CorrectionPage:
        """Return one page of corrections, newest recognition first.

        Raises:
            ApiError: 400, the cursor belongs to a different list.
        """
        after = self._sealer.position(wanted, last_key)
        found = await self._database.run(
            lambda session: list_corrections(
                session, wanted.owner_id, wanted.plate, after, limit + 1
            )
        )
        if len(found) <= limit:
            return CorrectionPage(tuple(found), None)
        last = found[limit - 1]
        position = RecognitionCursor(last.captured_ms, last.recognition_id)
        return CorrectionPage(tuple(found[:limit]), self._sealer.seal(wanted, position))

    async def sweep(self) -> int:
        """Delete corrections of expired recognitions, at most once an hour. Return their number.

        Raises:
            DependencyUnavailableError: PostgreSQL is not responding.
        """
        now_ms = self._now_ms()
        if now_ms < self._next_ms:
            return 0
        age = self._retention + _RECOGNITIONS_LEFT
        before_ms = now_ms - age // timedelta(milliseconds=1)
        deleted = await self._database.run(
            lambda session: delete_expired_corrections(session, before_ms=before_ms)
        )
        self._next_ms = now_ms + _EVERY_MS
        return deleted

    async def _remove(self, owner_id: UUID, recognition_id: UUID) -> bool:
        def work(session: Session) -> bool:
            for former in get_corrections(session, owner_id, [recognition_id]).values():
                named = [text for text in (former.reading, former.plate) if text]
                self._hashes.announce(session, owner_id, named)
            return delete_correction(session, owner_id, recognition_id)

        return await self._database.run(work)
