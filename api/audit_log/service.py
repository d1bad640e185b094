"""The audit log: read page by page, and forgotten after its time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from analytics_sql.recognitions import RecognitionCursor
from api.audit.plates import PlateHashes
from api.audit.repository import AuditFilter, delete_expired_entries, list_entries
from api.audit.tables import AuditEntry
from api.db.database import Database
from api.errors import ApiError, ErrorCode, FieldFault
from api.paging.cursor import CursorSealer
from api.validation.fields import from_unix_ms

_EVERY_MS: Final = 3_600_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True)
class AuditPage:
    """A part of the log, and the cursor of what follows; None at the end."""

    entries: Sequence[AuditEntry]
    next_key: str | None


class AuditLog:
    """The entries of all owners; every call names the owner it acts for."""

    def __init__(
        self,
        database: Database,
        sealer: CursorSealer,
        hashes: PlateHashes,
        retention_days: int,
        now_ms: Callable[[], int],
    ) -> None:
        """``now_ms`` is the wall clock, Unix ms."""
        self._database = database
        self._sealer = sealer
        self._hashes = hashes
        self._retention = timedelta(days=retention_days)
        self._now_ms = now_ms
        self._next_ms = 0

    async def page(self, wanted: AuditFilter, limit: int, last_key: str | None) -> AuditPage:
        """Return one page, newest first.

        Raises:
            ApiError: 400, the cursor is not one of this list.
        """
        after = None if last_key is None else self._parse_key(wanted, last_key)
        hashes = self._hashes.under_all_keys(wanted.owner_id, wanted.plate or "")
        found = await self._database.run(
            lambda session: list_entries(session, wanted, hashes, after, limit + 1)
        )
        if len(found) <= limit:
            return AuditPage(found, None)
        last = found[limit - 1]
        # Microseconds: many entries may be of one millisecond.
        place = RecognitionCursor((last.at - _EPOCH) // _MICROSECOND, last.id)
        return AuditPage(found[:limit], self._sealer.seal(wanted, place))

    async def sweep(self) -> int:
        """Delete entries past their time, some thousands a sweep, and return how many.

        Once nothing is left to delete, it looks for more after an hour.

        Raises:
            DependencyUnavailableError: PostgreSQL does not answer.
        """
        now_ms = self._now_ms()
        if now_ms < self._next_ms:
            return 0
        before = from_unix_ms(now_ms) - self._retention
        dropped = await self._database.run(lambda session: delete_expired_entries(session, before))
        if not dropped:
            self._next_ms = now_ms + _EVERY_MS
        return dropped

    def _parse_key(self, wanted: AuditFilter, last_key: str) -> tuple[datetime, UUID]:
        place = self._sealer.open(wanted, last_key)
        if place is None:
            fault = FieldFault("lastKey", "is not a valid cursor for this list and these filters")
            raise ApiError(ErrorCode.INVALID_CURSOR, fields=(fault,))
        return _EPOCH + place.captured_ms * _MICROSECOND, place.id
