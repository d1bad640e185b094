"""Lists, creates, updates and deletes alerts, and counts their triggers."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import structlog
from cachetools import LRUCache
from sqlalchemy.orm import Session

from analytics_sql.triggers import TriggerCount
from api.accounts.repository import lock_owner
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.outbound import OutboundUrlChecker
from api.alerts.notifications import (
    outbound_urls,
    reject_reduced_urls,
    service_urls,
    with_stored_services,
    with_stored_urls,
)
from api.alerts.repository import (
    AlertListing,
    AlertRepository,
    AlertRow,
    changes_cost,
    unknown_cameras,
)
from api.alerts.schemas import AlertCreate, AlertUpdate
from api.db.database import Database
from api.errors import ApiError, ErrorCode, FieldFault, require_found
from api.limits.owner_limits import OwnerLimits
from api.security.credentials import overlap_end
from api.security.permissions import Principal
from api.validation.fields import from_unix_ms, from_unix_ms_if_any
from common.errors import PlatestreamError
from common.plates.names import names_of_entries, unlisted
from common.records.alerts import Notification

log = structlog.get_logger()

_MAX_OWNERS = 10_000
_WAIT_SECONDS = 0.5
_NO_SECRET = "The account has no notification secret yet. The first alert generates the secret."


@dataclass(frozen=True)
class History:
    """An account's trigger counts. They were read at ``read_ms`` (Unix ms, UTC); None: never."""

    counts: Mapping[UUID, TriggerCount]
    read_ms: int | None


class TriggerHistory:
    """Reads trigger counts, and caches the counts for times when ClickHouse is unavailable."""

    def __init__(
        self,
        store: ClickHouseStore,
        *,
        wait_seconds: float = _WAIT_SECONDS,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """A call waits at most ``wait_seconds``. A later result is cached for the next call."""
        self._store = store
        self._wait_seconds = wait_seconds
        self._now_ms = now_ms
        self._last: LRUCache[UUID, History] = LRUCache(_MAX_OWNERS)
        self._reading: dict[UUID, asyncio.Task[None]] = {}

    async def get_counts(self, owner_id: UUID) -> History:
        """Return an account's current counts, or cached counts if reading fails or takes too long.

        The call never fails, so that alerts can be read and updated without ClickHouse.
        """
        reading = self._reading.get(owner_id)
        if reading is None:
            reading = self._reading[owner_id] = asyncio.create_task(self._read(owner_id))
        await asyncio.wait([reading], timeout=self._wait_seconds)
        return self._last.get(owner_id, History({}, None))

    async def close(self) -> None:
        """Cancel running reads."""
        readings = list(self._reading.values())
        for reading in readings:
            reading.cancel()
        await asyncio.gather(*readings, return_exceptions=True)

    async def _read(self, owner_id: UUID) -> None:
        try:
            counts = await self._store.trigger_counts(owner_id)
        except PlatestreamError as error:
            log.warning("trigger_counts_unavailable", error=repr(error))
        except Exception:
            # Callers do not get exceptions of this task, so the error is logged here.
            log.exception("trigger_counts_failed")
        else:
            self._last[owner_id] = History(counts, self._now_ms())
        finally:
            del self._reading[owner_id]


def all_fields(body: AlertUpdate) -> dict[str, Any]:
    """Return all fields of an alert by column name. Fields that were not sent have defaults."""
    return _fields(body, AlertUpdate.model_fields)


def sent_fields(body: AlertUpdate) -> dict[str, Any]:
    """Return the fields of an alert that were sent, by column name."""
    return _fields(body, body.model_fields_set)


def _fields(body: AlertUpdate, names: Iterable[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {name: getattr(body, name) for name in names}
    if "schedule" in fields:
        fields["schedule"] = body.schedule.model_dump(
            mode="json", by_alias=True, exclude_unset=True
        )
    if "notifications" in fields:
        sent = [notification.model_dump() for notification in body.notifications]
        fields["notifications"] = msgspec.convert(sent, tuple[Notification, ...])
    return fields


class Alerts:
    """Manages alerts. Methods raise ApiError 404 if the alert belongs to another account."""

    def __init__(
        self,
        database: Database,
        rows: AlertRepository,
        url_checker: OutboundUrlChecker,
        history: TriggerHistory,
        limits: OwnerLimits,
        *,
        sends_email: bool,
    ) -> None:
        """``sends_email`` is true if an SMTP server is configured."""
        self._history = history
        self._database = database
        self._rows = rows
        self._url_checker = url_checker
        self._limits = limits
        self._sends_email = sends_email

    async def list_all(self, owner_id: UUID) -> AlertListing:
        """Return an account's alerts with trigger counts, newest first."""
        listing, history = await asyncio.gather(
            self._database.run(lambda session: self._rows.list_alerts(session, owner_id)),
            self._history.get_counts(owner_id),
        )
        alerts = tuple(counted(row, history) for row in listing.alerts)
        return replace(
            listing,
            alerts=alerts,
            counted_at=from_unix_ms_if_any(history.read_ms),
            sends_email=self._sends_email,
        )

    async def get(self, owner_id: UUID, alert_id: UUID) -> AlertRow:
        """Return an alert of an account, with the trigger count."""
        row = await self._database.run(lambda session: self._rows.find(session, owner_id, alert_id))
        return counted(require_found(row), await self._history.get_counts(owner_id))

    async def close(self) -> None:
        """Cancel background work."""
        await self._history.close()

    async def create(self, caller: Principal, body: AlertCreate) -> AlertRow:
        """Create an alert, and return it.

        Raises:
            ApiError: 400, a camera ID or URL is invalid; 409, the account has reached a limit.
        """
        await self._url_checker.check(
            outbound_urls(body.notifications), service_urls(body.notifications)
        )
        fields = all_fields(body)
        return await self._database.run(lambda session: self._insert(session, caller, fields))

    async def update(self, caller: Principal, alert_id: UUID, body: AlertUpdate) -> AlertRow:
        """Update the fields that were sent, and return the alert.

        Raises:
            ApiError: 400, a camera ID or URL is invalid; 404, the account has no such alert; 409,
                the account has reached a limit.
        """
        await self._url_checker.check(
            outbound_urls(body.notifications), service_urls(body.notifications)
        )
        row = await self._database.run(
            lambda session: self._change(session, caller, alert_id, body)
        )
        return counted(row, await self._history.get_counts(caller.owner_id))

    async def rotate_secret(
        self, owner_id: UUID, secret: str, overlap: timedelta
    ) -> datetime | None:
        """Replace an account's notification secret. The previous secret also signs for ``overlap``.

        Return the time until which the previous secret signs, or None if it no longer signs.

        Raises:
            ApiError: 404, the account has no secret yet.
        """
        until = overlap_end(overlap)
        is_replaced = await self._database.run(
            lambda session: self._rows.rotate_secret(session, owner_id, secret, until)
        )
        if not is_replaced:
            raise ApiError(ErrorCode.NOT_FOUND, _NO_SECRET)
        return until

    async def delete(self, owner_id: UUID, alert_id: UUID) -> None:
        """Delete an alert."""
        deleted = await self._database.run(
            lambda session: self._rows.delete(session, owner_id, alert_id)
        )
        require_found(deleted)

    def _insert(self, session: Session, caller: Principal, fields: Mapping[str, Any]) -> AlertRow:
        owner_id, sent = caller.owner_id, fields["notifications"]
        check_cameras(session, owner_id, fields["camera_ids"])
        if not caller.sees_secrets:
            alerts = self._rows.list_alerts(session, owner_id).alerts
            reject_reduced_urls(sent, (one for alert in alerts for one in alert.notifications))
        fields = {**_with_names(fields, (), {}), "notifications": with_stored_services(sent, ())}
        return self._rows.insert(session, owner_id, fields, self._limits)

    def _change(
        self, session: Session, caller: Principal, alert_id: UUID, body: AlertUpdate
    ) -> AlertRow:
        fields, owner_id = sent_fields(body), caller.owner_id
        if changes_cost(fields):
            # The account is locked before the alert, in the same order as when deleting both.
            lock_owner(session, owner_id)
        row = require_found(self._rows.find(session, owner_id, alert_id, locks=True))
        # Clients can send back cameras of the alert that have since been deleted.
        known = row.config.camera_ids
        check_cameras(session, owner_id, fields.get("camera_ids", ()), known=known)
        if "notifications" in fields:
            sent, stored = fields["notifications"], row.notifications
            sent = sent if caller.sees_secrets else with_stored_urls(sent, stored)
            fields["notifications"] = with_stored_services(sent, stored)
        named = _with_names(fields, row.config.plates, row.config.plate_names)
        return self._rows.change(session, alert_id, named, self._limits)


def counted(row: AlertRow, history: History) -> AlertRow:
    """Return an alert with its trigger count and the time of its last trigger."""
    count = history.counts.get(row.id)
    if count is None:
        return row
    return replace(row, trigger_count=count.triggers, last_triggered_at=from_unix_ms(count.last_ms))


def _with_names(
    fields: Mapping[str, Any], plates: Sequence[str], names: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return ``fields`` with names of listed plates only. ``plates`` and ``names`` are stored ones.

    Raises:
        ApiError: 400, names were sent for plates that are not listed. The error lists the plates.
    """
    if fields.keys().isdisjoint({"plates", "plate_names"}):
        return fields
    plates = fields.get("plates", plates)
    faults = [
        FieldFault(f"plateNames.{plate}", "must be one of the plates")
        for plate in unlisted(plates, fields.get("plate_names", {}))
    ]
    if faults:
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)
    return {**fields, "plate_names": names_of_entries(plates, fields.get("plate_names", names))}


def check_cameras(
    session: Session, owner_id: UUID, wanted: Sequence[UUID], *, known: Collection[UUID] = ()
) -> None:
    """Check that the cameras of an alert belong to the alert's account.

    Raises:
        ApiError: 400, cameras do not belong to the account. The error lists these cameras.
    """
    unknown = unknown_cameras(session, owner_id, set(wanted) - set(known))
    faults = [
        FieldFault(f"cameraIds.{number}", "is not the ID of a camera in this account")
        for number, camera_id in enumerate(wanted)
        if camera_id in unknown
    ]
    if faults:
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)
