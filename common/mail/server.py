"""Sends emails through the configured SMTP server, within limits. No other module uses SMTP."""

import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from enum import StrEnum

import aiosmtplib

from common.mail.rate_limit import HourlyLimits
from common.mail_settings import EmailSettings, SmtpEncryption

_PERMANENT = 500
# The server requires a login or another login: the settings are wrong. **Source:** RFC 4954.
_LOGIN_CODES = frozenset({530, 534, 535, 538})

PER_OWNER_PER_HOUR = 500
"""Maximum number of emails per account, hour and process, to protect the mail provider's quota."""


class MailOutcome(StrEnum):
    """The outcome of sending a message."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    """A retry may succeed."""
    REFUSED = "refused"
    """A retry will never succeed."""


@dataclass(frozen=True, kw_only=True)
class MailResult:
    """The result of sending. ``status`` is the SMTP status, ``error`` a sentence without secrets.

    ``is_held_back``: one of our own limits prevented sending.
    """

    outcome: MailOutcome
    status: int | None = None
    error: str | None = None
    is_held_back: bool = False


class MailServer:
    """Sends each message over a new connection, because servers close idle connections."""

    def __init__(
        self,
        settings: EmailSettings,
        *,
        timeout_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``timeout_seconds`` applies to each SMTP step. ``clock`` must be monotonic."""
        self._settings = settings
        self._timeout_seconds = timeout_seconds
        self._limits = HourlyLimits(
            per_address=settings.messages_per_address_per_hour,
            per_owner=PER_OWNER_PER_HOUR,
            messages="emails",
            clock=clock,
        )
        self._tls = ssl.create_default_context(cafile=settings.smtp_ca_file or None)

    async def send(
        self, owner: str, address: str, make: Callable[[str | None], Awaitable[EmailMessage]]
    ) -> MailResult:
        """Try once to send the message that ``make`` returns. SMTP errors are returned, not raised.

        ``make`` gets a notice about the limits to include, or None. ``make`` is not called if a
        limit is exceeded.
        """
        place = address.lower()
        if (denial := self._limits.denial(owner, place)) is not None:
            outcome = MailOutcome.REFUSED if denial.is_final else MailOutcome.FAILED
            return MailResult(outcome=outcome, error=denial.sentence, is_held_back=denial.is_final)
        with self._limits.sending(owner, place) as allowed:
            result = await self._submit(await make(allowed.warning))
        if result.outcome is MailOutcome.ACCEPTED:
            allowed.accepted()
        return result

    async def _submit(self, message: EmailMessage) -> MailResult:
        settings = self._settings
        try:
            await aiosmtplib.send(
                message,
                hostname=settings.smtp_host,
                port=settings.smtp_port,
                use_tls=settings.smtp_encryption is SmtpEncryption.TLS,
                start_tls=settings.smtp_encryption is SmtpEncryption.STARTTLS,
                tls_context=None if settings.smtp_encryption is SmtpEncryption.NONE else self._tls,
                username=settings.smtp_user or None,
                password=settings.smtp_password.get_secret_value() or None,
                timeout=self._timeout_seconds,
            )
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            return _fault(error)
        return MailResult(outcome=MailOutcome.ACCEPTED, status=250)


def _fault(error: Exception) -> MailResult:
    """Return the result of an error, which is final for 5xx unless our login is the cause."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        error = error.recipients[0]
    if not isinstance(error, aiosmtplib.SMTPResponseException):
        sentence = f"Sending to the SMTP server failed: {type(error).__name__}."
        return MailResult(outcome=MailOutcome.FAILED, error=sentence)
    is_ours = isinstance(error, aiosmtplib.SMTPAuthenticationError) or error.code in _LOGIN_CODES
    is_final = error.code >= _PERMANENT and not is_ours
    return MailResult(
        outcome=MailOutcome.REFUSED if is_final else MailOutcome.FAILED,
        status=error.code,
        error=f"The SMTP server responded with {error.code}.",
    )


def new_message(
    *, sender: str, address: str, subject: str, at: datetime, identifier: str
) -> EmailMessage:
    """Return a message without content. The same ``identifier`` gives the same Message-ID."""
    message = EmailMessage()
    message["From"] = _header_address(sender)
    message["To"] = _header_address(address)
    message["Subject"] = " ".join(subject.split())
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<{identifier}@{_domain(sender)}>"
    message["Auto-Submitted"] = "auto-generated"
    return message


def _header_address(text: str) -> Address:
    name, spec = parseaddr(text)
    return Address(display_name=name, addr_spec=spec)


def _domain(sender: str) -> str:
    return parseaddr(sender)[1].rpartition("@")[2] or "platestream"
