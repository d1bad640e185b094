"""Lists entries of the audit log, and deletes expired entries."""

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
    """A page of the audit log. ``next_key`` is the next page's cursor, or None on the last page."""

    entries: Sequence[AuditEntry]
    next_key: str | None


class AuditLog:
    """Reads the audit logs of accounts, and deletes expired entries."""

    def __init__(
        self,
        database: Database,
        sealer: CursorSealer,
        hashes: PlateHashes,
        retention_days: int,
        now_ms: Callable[[], int],
    ) -> None:
        """``now_ms`` returns the current time (Unix ms)."""
        self._database = database
        self._sealer = sealer
        self._hashes = hashes
        self._retention = timedelta(days=retention_days)
        self._now_ms = now_ms
        self._next_ms = 0

    async def page(self, wanted: AuditFilter, limit: int, last_key: str | None) -> AuditPage:
        """Return one page of entries, newest first.

        Raises:
            ApiError: 400, the cursor belongs to a different list or filter.
        """
        after = None if last_key is None else self._parse_key(wanted, last_key)
        hashes = self._hashes.under_all_keys(wanted.owner_id, wanted.plate or "")
        found = await self._database.run(
            lambda session: list_entries(session, wanted, hashes, after, limit + 1)
        )
        if len(found) <= limit:
            return AuditPage(found, None)
        last = found[limit - 1]
        # The position is in microseconds, because many entries can have the same millisecond.
        position = RecognitionCursor((last.at - _EPOCH) // _MICROSECOND, last.id)
        return AuditPage(found[:limit], self._sealer.seal(wanted, position))

    async def sweep(self) -> int:
        """Delete up to 5,000 expired entries, and return the number of deleted entries.

        When no expired entries are left, the next check is an hour later.

        Raises:
            DependencyUnavailableError: PostgreSQL does not respond.
        """
        now_ms = self._now_ms()
        if now_ms < self._next_ms:
            return 0
        before = from_unix_ms(now_ms) - self._retention
        deleted = await self._database.run(lambda session: delete_expired_entries(session, before))
        if not deleted:
            self._next_ms = now_ms + _EVERY_MS
        return deleted

    def _parse_key(self, wanted: AuditFilter, last_key: str) -> tuple[datetime, UUID]:
        position = self._sealer.open(wanted, last_key)
        if position is None:
            fault = FieldFault("lastKey", "is not a valid cursor for this list and these filters")
            raise ApiError(ErrorCode.INVALID_CURSOR, fields=(fault,))
        return _EPOCH + position.captured_ms * _MICROSECOND, position.id
