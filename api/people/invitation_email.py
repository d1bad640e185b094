"""Sends invitations by email, if an SMTP server is configured."""

import asyncio
from dataclasses import dataclass
from email.message import EmailMessage
from zoneinfo import ZoneInfo

import structlog

from api.db.people_tables import Invitation
from common.mail.server import MailOutcome, MailServer, new_message
from common.mail_settings import EmailSettings

log = structlog.get_logger()

_STEP_SECONDS = 5.0
_WHOLE_SECONDS = 10.0
"""Time limit for sending the email. The administrator is waiting for the result."""


@dataclass(frozen=True)
class EmailedLink:
    """Whether an invitation was sent by email. ``error`` is a sentence if sending failed."""

    is_sent: bool = False
    error: str | None = None


class InvitationEmail:
    """Sends an invitation's link to the invited person."""

    def __init__(self, settings: EmailSettings) -> None:
        """No email is sent if the settings name no SMTP server."""
        self._settings = settings
        self._server = (
            MailServer(settings, timeout_seconds=_STEP_SECONDS) if settings.smtp_host else None
        )

    @property
    def is_on(self) -> bool:
        """Whether an SMTP server is configured."""
        return self._server is not None

    async def send(self, invitation: Invitation, token: str, timezone: str) -> EmailedLink:
        """Send an invitation and return the result. Server errors are returned, not raised.

        ``timezone`` is the account's time zone, used for the expiry time in the email.
        """
        if self._server is None:
            return EmailedLink()

        async def message(_: str | None) -> EmailMessage:
            return self._message(invitation, token, timezone)

        owner = str(invitation.owner_id)
        try:
            async with asyncio.timeout(_WHOLE_SECONDS):
                result = await self._server.send(owner, invitation.email, message)
        except TimeoutError:
            return _not_sent(invitation, f"The SMTP server timed out after {_WHOLE_SECONDS:g} s.")
        if result.outcome is MailOutcome.ACCEPTED:
            return EmailedLink(is_sent=True)
        return _not_sent(invitation, result.error or "")

    def _message(self, invitation: Invitation, token: str, timezone: str) -> EmailMessage:
        settings, ends = self._settings, invitation.expires_at.astimezone(ZoneInfo(timezone))
        message = new_message(
            sender=settings.smtp_from,
            address=invitation.email,
            subject="You have been invited to Platestream",
            at=invitation.created_at,
            identifier=str(invitation.id),
        )
        message.set_content(
            f"{invitation.invited_by} has invited you to join their Platestream account as "
            f"{invitation.role}.\n\nTo accept, choose a name and a password:\n\n"
            f"{settings.public_url.rstrip('/')}/invitation#{token}\n\nThe link works once and "
            f"expires on {ends:%Y-%m-%d %H:%M} ({timezone}). Do not share it. If you did not "
            "expect this invitation, you can ignore this email.\n"
        )
        return message


def _not_sent(invitation: Invitation, error: str) -> EmailedLink:
    log.warning("invitation_email_failed", invitation_id=str(invitation.id), error=error)
    return EmailedLink(error=error)
