"""The email that says that the service disabled a webhook, if an SMTP server is set."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from uuid import UUID

import structlog

from api.webhooks.repository import WebhookRow
from common.mail.message import new_message
from common.mail.server import MailOutcome, MailServer
from common.mail_settings import EmailSettings

log = structlog.get_logger()

_STEP_SECONDS = 5.0
_WHOLE_SECONDS = 10.0
"""Other webhooks to disable wait for it."""


class DisabledWebhookEmail:
    """Notifies an account's administrators of a disabled webhook, once and as far as possible.

    The webhook itself, its health and the audit log say the same.
    """

    def __init__(self, settings: EmailSettings) -> None:
        """Without an SMTP server in the settings nothing is sent."""
        self._settings = settings
        self._server = (
            MailServer(settings, timeout_seconds=_STEP_SECONDS) if settings.smtp_host else None
        )

    async def send(self, webhook: WebhookRow, addresses: Sequence[str]) -> None:
        """Send it to each address. Never raises for anything the server does."""
        if self._server is None:
            return
        try:
            async with asyncio.timeout(_WHOLE_SECONDS):
                for address in addresses:
                    await self._send(self._server, webhook, address)
        except TimeoutError:
            _log_failure(webhook.id, f"The SMTP server took over {_WHOLE_SECONDS:g} s.")

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
            f"The webhook {config.name} no longer gets events.\n\n"
            f"Reason: {webhook.history.disabled_reason}\n\n"
            f"Enable it once its receiver accepts events again, then replay the events that it"
            f" missed:\n\n{settings.public_url.rstrip('/')}/webhooks/{webhook.id}\n"
        )
        return message


def _log_failure(webhook_id: UUID, error: str) -> None:
    log.warning("webhook_email_failed", webhook_id=str(webhook_id), error=error)
