"""Manages webhooks and their secrets, and shows the status of webhooks."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import structlog
from sqlalchemy.orm import Session

from api.adapters.outbound import OutboundUrlChecker
from api.db.database import Database
from api.errors import invalid_field, require_found
from api.limits.owner_limits import OwnerLimits
from api.people.repository import administrator_addresses
from api.security.credentials import new_signing_secret, overlap_end
from api.security.permissions import Principal
from api.validation.fields import from_unix_ms_if_any
from api.webhooks.repository import DeliveryHistory, WebhookRepository, WebhookRow
from api.webhooks.schemas import WebhookCreate, WebhookUpdate
from common.kafka.compacted import Update
from common.mail.server import MailOutcome, MailServer, new_message
from common.mail_settings import EmailSettings
from common.records.deliveries import WebhookStatus
from common.urls.outbound import outbound_endpoint, scheme_and_host
from common.urls.streams import MASK

log = structlog.get_logger()
_STEP_SECONDS = 5.0
_WHOLE_SECONDS = 10.0
"""Time limit for all emails about a webhook. Other disabled webhooks wait for the emails."""
_URL, _HEADERS = "url", "headers"


class WebhookStatusCache:
    """Caches the latest status of each webhook."""

    def __init__(self) -> None:
        self._latest: dict[UUID, WebhookStatus] = {}

    def post(self, updates: Iterable[Update[WebhookStatus]]) -> None:
        """Apply updates in the order of the topic."""
        for webhook_id, status in updates:
            if status is None:
                self._latest.pop(webhook_id, None)
            else:
                self._latest[webhook_id] = status

    def disabled(self) -> list[WebhookStatus]:
        """Return the statuses of webhooks that the delivery stage has disabled."""
        return [status for status in self._latest.values() if status.disabled_revision is not None]

    def acknowledge(self, status: WebhookStatus) -> None:
        """Omit a webhook from :meth:`disabled` until the delivery stage sends a new status."""
        if self._latest.get(status.webhook_id) is status:
            self._latest[status.webhook_id] = _acknowledged(status)

    def shown(self, row: WebhookRow) -> WebhookRow:
        """Return a webhook with its latest status."""
        status = self._latest.get(row.id)
        if status is None:
            return row
        is_off = row.config.enabled and status.disabled_revision == row.config.revision
        reason = status.disabled_reason if is_off else row.history.disabled_reason
        return replace(
            row,
            config=msgspec.structs.replace(row.config, enabled=row.config.enabled and not is_off),
            history=DeliveryHistory(
                failure_count=status.given_up_count,
                failed_attempts=status.failure_count,
                last_delivery_at=from_unix_ms_if_any(status.last_delivery_ms),
                last_delivery_status=status.last_delivery_status,
                disabled_reason=reason,
            ),
        )


def _acknowledged(status: WebhookStatus) -> WebhookStatus:
    return msgspec.structs.replace(
        status, disabled_revision=None, disabled_reason=None, disabled_ms=None
    )


class DisabledWebhookEmail:
    """Sends one email, without retries, to each administrator about a disabled webhook.

    The webhook, the health report and the audit log also show that the webhook is disabled.
    """

    def __init__(self, settings: EmailSettings) -> None:
        """No email is sent if the settings name no SMTP server."""
        self._settings = settings
        self._server = (
            MailServer(settings, timeout_seconds=_STEP_SECONDS) if settings.smtp_host else None
        )

    async def send(self, webhook: WebhookRow, addresses: Sequence[str]) -> None:
        """Send the email to each address. Errors of the server are logged, not raised."""
        if self._server is None:
            return
        try:
            async with asyncio.timeout(_WHOLE_SECONDS):
                for address in addresses:
                    await self._send(self._server, webhook, address)
        except TimeoutError:
            _log_failure(webhook.id, f"The SMTP server timed out after {_WHOLE_SECONDS:g} s.")

    async def _send(self, server: MailServer, webhook: WebhookRow, address: str) -> None:
        async def message(_: str | None) -> EmailMessage:
            return self._message(webhook, address)

        result = await server.send(str(webhook.config.owner_id), address, message)
        if result.outcome is not MailOutcome.ACCEPTED:
            _log_failure(webhook.id, result.error or "")

    def _message(self, webhook: WebhookRow, address: str) -> EmailMessage:
        settings, config = self._settings, webhook.config
        message = new_message(
            sender=settings.smtp_from,
            address=address,
            subject="Platestream disabled a webhook",
            at=datetime.now(UTC),
            identifier=f"{webhook.id}-{config.revision}",
        )
        message.set_content(
            f"The webhook {config.name} no longer receives events.\n\n"
            f"Reason: {webhook.history.disabled_reason}\n\n"
            f"Enable it once its receiver accepts events again, then replay the missed events:"
            f"\n\n{settings.public_url.rstrip('/')}/webhooks/{webhook.id}\n"
        )
        return message


def _log_failure(webhook_id: UUID, error: str) -> None:
    log.warning("webhook_email_failed", webhook_id=str(webhook_id), error=error)


def all_fields(body: WebhookCreate) -> dict[str, Any]:
    """Return all fields of a new webhook, with a generated secret if none was sent."""
    return {**dict(body), "secret": body.secret or new_signing_secret()}


def sent_fields(body: WebhookUpdate) -> dict[str, Any]:
    """Return the fields that were sent."""
    return {name: getattr(body, name) for name in body.model_fields_set}


def with_stored(
    fields: Mapping[str, Any], row: WebhookRow, *, sees_secrets: bool
) -> dict[str, Any]:
    """Return the fields that were sent, with each ``***`` replaced by the stored value.

    A caller that cannot see secrets sees only the scheme and host of the URL. Sending scheme and
    host back keeps the stored URL.

    Raises:
        ApiError: 400, a header has no stored value, or the change would send values that the caller
            cannot see to another scheme, host or port.
    """
    wanted = {name: value for name, value in fields.items() if (name, value) != ("secret", MASK)}
    if not sees_secrets and wanted.get(_URL) == scheme_and_host(row.url):
        del wanted[_URL]
    sent: Mapping[str, str] | None = wanted.get(_HEADERS)
    keeps_values = bool(row.headers) if sent is None else MASK in sent.values()
    moves = _URL in wanted and outbound_endpoint(wanted[_URL]) != outbound_endpoint(row.url)
    if keeps_values and moves and not sees_secrets:
        raise invalid_field(
            _HEADERS,
            "must be sent again: an API key without the scope webhooks:read cannot keep stored "
            "header values when the scheme, host or port of url changes",
        )
    if sent is not None:
        stored = {name.lower(): value for name, value in row.headers.items()}
        wanted[_HEADERS] = {name: _unhidden(name, value, stored) for name, value in sent.items()}
    return wanted


def _unhidden(name: str, value: str, stored: Mapping[str, str]) -> str:
    if value != MASK:
        return value
    if name.lower() not in stored:
        raise invalid_field(f"{_HEADERS}.{name}", f"is {MASK}, but no value is stored for it")
    return stored[name.lower()]


class Webhooks:
    """Manages webhooks. Raises ApiError 404 for a webhook of another account."""

    def __init__(
        self,
        database: Database,
        rows: WebhookRepository,
        url_checker: OutboundUrlChecker,
        statuses: WebhookStatusCache,
        limits: OwnerLimits,
        email: DisabledWebhookEmail,
    ) -> None:
        self._email = email
        self._statuses = statuses
        self._database = database
        self._rows = rows
        self._url_checker = url_checker
        self._limits = limits

    async def list_all(self, owner_id: UUID) -> list[WebhookRow]:
        """Return the account's webhooks, newest first."""
        rows = await self._database.run(lambda session: self._rows.list_webhooks(session, owner_id))
        return [self._statuses.shown(row) for row in rows]

    async def get(self, owner_id: UUID, webhook_id: UUID) -> WebhookRow:
        """Return a webhook of the account, or raise ApiError 404."""
        row = await self._database.run(
            lambda session: self._rows.find(session, owner_id, webhook_id)
        )
        return self._statuses.shown(require_found(row))

    async def create(self, owner_id: UUID, body: WebhookCreate) -> WebhookRow:
        """Create a webhook.

        Raises:
            ApiError: 400, the URL is not allowed; 409, the account has reached its limit.
        """
        await self._url_checker.check([(_URL, body.url)])
        fields = all_fields(body)
        return await self._database.run(lambda session: self._insert(session, owner_id, fields))

    async def update(self, caller: Principal, webhook_id: UUID, body: WebhookUpdate) -> WebhookRow:
        """Update the fields that were sent.

        Raises:
            ApiError: 400, the URL or the headers are invalid; 404, the webhook does not exist.
        """
        if _URL in body.model_fields_set:
            await self._url_checker.check([(_URL, body.url)])
        row = await self._database.run(
            lambda session: self._change(session, caller, webhook_id, body)
        )
        return self._statuses.shown(row)

    async def rotate_secret(
        self, owner_id: UUID, webhook_id: UUID, secret: str, overlap: timedelta
    ) -> WebhookRow:
        """Replace a webhook's secret. The previous secret also signs for ``overlap``."""
        until = overlap_end(overlap)

        def work(session: Session) -> WebhookRow:
            require_found(self._rows.find(session, owner_id, webhook_id, locks=True))
            return self._rows.rotate(session, webhook_id, secret, until)

        return self._statuses.shown(await self._database.run(work))

    async def sweep(self) -> int:
        """Save that webhooks were disabled, and send the emails. Return the number of webhooks."""
        count = 0
        for status in self._statuses.disabled():
            disabled, addresses = await self._database.run(partial(self._disable, status))
            self._statuses.acknowledge(status)
            if disabled is not None:
                count += 1
                await self._email.send(disabled, addresses)
        return count

    def _disable(
        self, status: WebhookStatus, session: Session
    ) -> tuple[WebhookRow | None, Sequence[str]]:
        assert status.disabled_revision is not None
        disabled = self._rows.disable(
            session, status.webhook_id, status.disabled_revision, status.disabled_reason or ""
        )
        if disabled is None:
            return None, ()
        return disabled, administrator_addresses(session, disabled.config.owner_id)

    async def delete(self, owner_id: UUID, webhook_id: UUID) -> None:
        """Delete a webhook."""
        deleted = await self._database.run(
            lambda session: self._rows.delete(session, owner_id, webhook_id)
        )
        require_found(deleted)

    def _insert(self, session: Session, owner_id: UUID, fields: Mapping[str, Any]) -> WebhookRow:
        return self._rows.insert(session, owner_id, fields, self._limits)

    def _change(
        self, session: Session, caller: Principal, webhook_id: UUID, body: WebhookUpdate
    ) -> WebhookRow:
        row = require_found(self._rows.find(session, caller.owner_id, webhook_id, locks=True))
        sent = with_stored(sent_fields(body), row, sees_secrets=caller.sees_secrets)
        # A webhook that the stage has disabled counts as disabled even before its row is updated.
        current = self._statuses.shown(row)
        fields = {"enabled": current.config.enabled, **sent}
        return row if current.has(fields) else self._rows.change(session, webhook_id, fields)
