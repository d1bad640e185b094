"""What can be done with alerts."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from sqlalchemy.orm import Session

from api.alerts.edits import edited_values, new_values, outbound_urls
from api.alerts.history import History, TriggerHistory
from api.alerts.models import AlertBook, AlertRow, AlertValues
from api.alerts.repository import AlertRepository, TooManyAlertsError, unknown_cameras
from api.alerts.schemas import AlertCreate, AlertUpdate
from api.db.engine import Database
from api.errors import ApiError, ErrorCode, FieldFault, found
from api.moments import from_unix_ms, from_unix_ms_if_any
from api.outbound import OutboundGate


class Alerts:
    """The alerts of all owners; every call names the owner it acts for."""

    def __init__(
        self,
        database: Database,
        rows: AlertRepository,
        gate: OutboundGate,
        history: TriggerHistory,
        *,
        per_owner: int,
    ) -> None:
        """``per_owner`` is how many alerts an owner may have."""
        self._history = history
        self._database = database
        self._rows = rows
        self._gate = gate
        self._per_owner = per_owner

    async def all_of(self, owner_id: UUID) -> AlertBook:
        """Return the owner's alerts, newest first, with how often they fired."""
        book, history = await asyncio.gather(
            self._database.run(lambda session: self._rows.all_of(session, owner_id)),
            self._history.of(owner_id),
        )
        alerts = tuple(counted(row, history) for row in book.alerts)
        return replace(book, alerts=alerts, counted_at=from_unix_ms_if_any(history.read_ms))

    async def close(self) -> None:
        """End what is under way in the background."""
        await self._history.close()

    async def create(self, owner_id: UUID, body: AlertCreate) -> AlertRow:
        """Make an alert.

        Raises:
            ApiError: 400 for cameras that are not the owner's and for URLs, 409 for the limit.
        """
        await self._gate.check(outbound_urls(body))
        values = new_values(body)
        return await self._database.run(lambda session: self._insert(session, owner_id, values))

    async def update(self, owner_id: UUID, alert_id: UUID, body: AlertUpdate) -> AlertRow:
        """Change the fields that were sent.

        Raises:
            ApiError: 400 for cameras that are not the owner's and for URLs, 404.
        """
        await self._gate.check(outbound_urls(body))
        row = await self._database.run(
            lambda session: self._change(session, owner_id, alert_id, body)
        )
        return counted(row, await self._history.of(owner_id))

    async def delete(self, owner_id: UUID, alert_id: UUID) -> None:
        """Delete an alert.

        Raises:
            ApiError: 404.
        """
        deleted = await self._database.run(
            lambda session: self._rows.delete(session, owner_id, alert_id)
        )
        if not deleted:
            raise ApiError(ErrorCode.NOT_FOUND)

    def _insert(self, session: Session, owner_id: UUID, values: AlertValues) -> AlertRow:
        check_cameras(session, owner_id, values.camera_ids)
        try:
            return self._rows.insert(session, owner_id, values, limit=self._per_owner)
        except TooManyAlertsError as error:
            raise ApiError(ErrorCode.LIMIT_REACHED, "No more alerts are allowed.") from error

    def _change(
        self, session: Session, owner_id: UUID, alert_id: UUID, body: AlertUpdate
    ) -> AlertRow:
        row = found(self._rows.lock(session, owner_id, alert_id))
        values = edited_values(row.values, body)
        # Cameras that the alert had may have been deleted since: sending them back is no fault.
        check_cameras(session, owner_id, values.camera_ids, known=row.values.camera_ids)
        return row if values == row.values else self._rows.change(session, alert_id, values)


def counted(row: AlertRow, history: History) -> AlertRow:
    """Return an alert with how often it fired and when."""
    count = history.counts.get(row.id)
    if count is None:
        return row
    return replace(row, trigger_count=count.triggers, last_triggered_at=from_unix_ms(count.last_ms))


def check_cameras(
    session: Session, owner_id: UUID, wanted: tuple[UUID, ...], *, known: Collection[UUID] = ()
) -> None:
    """Make sure that an alert names cameras of its owner.

    Raises:
        ApiError: 400, with each that is not.
    """
    unknown = unknown_cameras(session, owner_id, set(wanted) - set(known))
    faults = [
        FieldFault(f"cameraIds.{number}", "is not the id of one of your cameras")
        for number, camera_id in enumerate(wanted)
        if camera_id in unknown
    ]
    if faults:
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)
