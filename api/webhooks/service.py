"""What can be done with webhooks."""

from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from sqlalchemy.orm import Session

from api.db.engine import Database
from api.errors import ApiError, ErrorCode, found
from api.outbound import OutboundGate
from api.webhooks.board import WebhookBoard
from api.webhooks.edits import edited_values, new_values
from api.webhooks.models import WebhookRow, WebhookValues
from api.webhooks.repository import TooManyWebhooksError, WebhookRepository
from api.webhooks.schemas import WebhookCreate, WebhookUpdate
from contracts.deliveries import WebhookStatus

_URL = "url"


class Webhooks:
    """The webhooks of all owners; every call names the owner it acts for."""

    def __init__(
        self,
        database: Database,
        rows: WebhookRepository,
        gate: OutboundGate,
        board: WebhookBoard,
        *,
        per_owner: int,
    ) -> None:
        """``per_owner`` is how many webhooks an owner may have."""
        self._board = board
        self._database = database
        self._rows = rows
        self._gate = gate
        self._per_owner = per_owner

    async def all_of(self, owner_id: UUID) -> list[WebhookRow]:
        """Return the owner's webhooks, newest first."""
        rows = await self._database.run(lambda session: self._rows.all_of(session, owner_id))
        return [self._board.shown(row) for row in rows]

    async def create(self, owner_id: UUID, body: WebhookCreate) -> WebhookRow:
        """Register a webhook.

        Raises:
            ApiError: 400 for the URL, 409 for the limit.
        """
        await self._gate.check([(_URL, body.url)])
        values = new_values(body)
        return await self._database.run(lambda session: self._insert(session, owner_id, values))

    async def update(self, owner_id: UUID, webhook_id: UUID, body: WebhookUpdate) -> WebhookRow:
        """Change the fields that were sent.

        Raises:
            ApiError: 400 for the URL, 404.
        """
        if _URL in body.model_fields_set:
            await self._gate.check([(_URL, body.url)])
        row = await self._database.run(
            lambda session: self._change(session, owner_id, webhook_id, body)
        )
        return self._board.shown(row)

    async def rotate_secret(
        self, owner_id: UUID, webhook_id: UUID, secret: str, overlap: timedelta
    ) -> WebhookRow:
        """Give a webhook a new secret; the old one signs as well for ``overlap``.

        Raises:
            ApiError: 404.
        """
        until = datetime.now(UTC).replace(microsecond=0) + overlap if overlap else None

        def work(session: Session) -> WebhookRow:
            found(self._rows.lock(session, owner_id, webhook_id))
            return self._rows.rotate(session, webhook_id, secret, until)

        return self._board.shown(await self._database.run(work))

    async def sweep(self) -> int:
        """Switch off for good what the delivery stage has switched off; return how many."""
        count = 0
        for status in self._board.switched_off():
            count += await self._database.run(partial(self._switch_off, status))
            self._board.forget_switch_off(status)
        return count

    def _switch_off(self, status: WebhookStatus, session: Session) -> bool:
        assert status.disabled_revision is not None
        return self._rows.switch_off(
            session, status.webhook_id, status.disabled_revision, status.disabled_reason or ""
        )

    async def delete(self, owner_id: UUID, webhook_id: UUID) -> None:
        """Delete a webhook.

        Raises:
            ApiError: 404.
        """
        deleted = await self._database.run(
            lambda session: self._rows.delete(session, owner_id, webhook_id)
        )
        if not deleted:
            raise ApiError(ErrorCode.NOT_FOUND)

    def _insert(self, session: Session, owner_id: UUID, values: WebhookValues) -> WebhookRow:
        try:
            return self._rows.insert(session, owner_id, values, limit=self._per_owner)
        except TooManyWebhooksError as error:
            raise ApiError(ErrorCode.LIMIT_REACHED, "No more webhooks are allowed.") from error

    def _change(
        self, session: Session, owner_id: UUID, webhook_id: UUID, body: WebhookUpdate
    ) -> WebhookRow:
        row = found(self._rows.lock(session, owner_id, webhook_id))
        # What the stage has switched off is off, also where the row does not say so yet.
        current = self._board.shown(row).values
        values = edited_values(current, body)
        return row if values == current else self._rows.change(session, webhook_id, values)
