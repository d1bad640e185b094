"""Sends alerts by e-mail through the SMTP server in the settings. The only module that knows SMTP.

Without a server alerts fire all the same, and the attempt says why nothing was sent.
"""

import ssl
import time
from collections.abc import Awaitable, Callable
from email.message import EmailMessage

import aiosmtplib
import structlog

from contracts.deliveries import Delivery
from contracts.errors import TransientError
from streams.webhooks.letters import letter_of
from streams.webhooks.mail_bounds import HourlyBound, Room
from streams.webhooks.schedule import SendKind, SendResult
from streams.webhooks.settings import MailEncryption, MailSettings

log = structlog.get_logger()

FetchImage = Callable[[str], Awaitable[bytes | None]]
"""Returns the image under a key, None where there is none."""

_PERMANENT = 500
# They ask to log in, or to do it otherwise: the settings lack something. **Source:** RFC 4954.
_LOGIN_CODES = frozenset({530, 534, 535, 538})


class NoMail:
    """Sends nothing."""

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Tell that there is no server to send through."""
        return SendResult(kind=SendKind.REFUSED, error="No SMTP server is in the settings.")


class MailSender:
    """One connection for each letter: alerts are few, and servers drop idle ones."""

    def __init__(
        self,
        settings: MailSettings,
        fetch_image: FetchImage,
        *,
        timeout_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take where the server is; ``timeout_seconds`` is for each step of the exchange."""
        self._settings = settings
        self._fetch_image = fetch_image
        self._timeout_seconds = timeout_seconds
        self._of_address = HourlyBound(settings.mail_per_address_per_hour, clock)
        self._of_owner = HourlyBound(settings.mail_per_owner_per_hour, clock)
        self._tls = ssl.create_default_context(cafile=settings.smtp_ca_file or None)

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Send once and tell what came of it. Never raises for anything the server does."""
        place, owner = address.lower(), str(delivery.owner_id)
        for what, bound, name in (
            ("address", self._of_address, place),
            ("account", self._of_owner, owner),
        ):
            if (too_much := _too_much(what, bound, bound.room(name))) is not None:
                return too_much
        with self._of_address.sending(place), self._of_owner.sending(owner):
            result = await self._send(delivery, address)
        if result.kind is SendKind.ACCEPTED:
            self._of_address.accepted(place)
            self._of_owner.accepted(owner)
        return result

    async def _send(self, delivery: Delivery, address: str) -> SendResult:
        letter = letter_of(
            delivery,
            address,
            sender=self._settings.smtp_from,
            public_url=self._settings.public_url,
            crop=await self._crop(delivery),
        )
        try:
            await self._hand_over(letter)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            return _fault(error)
        return SendResult(kind=SendKind.ACCEPTED, status=250)

    async def _hand_over(self, letter: EmailMessage) -> None:
        settings = self._settings
        await aiosmtplib.send(
            letter,
            hostname=settings.smtp_host,
            port=settings.smtp_port,
            use_tls=settings.smtp_encryption is MailEncryption.TLS,
            start_tls=settings.smtp_encryption is MailEncryption.STARTTLS,
            tls_context=None if settings.smtp_encryption is MailEncryption.NONE else self._tls,
            username=settings.smtp_user or None,
            password=settings.smtp_password.get_secret_value() or None,
            timeout=self._timeout_seconds,
        )

    async def _crop(self, delivery: Delivery) -> bytes | None:
        """Return the picture of the plate; an alert does not wait for one that is not to be had."""
        assert delivery.trigger is not None, delivery.event
        key = delivery.trigger.recognition.crop_key
        if key is None:
            return None
        try:
            return await self._fetch_image(key)
        except TransientError as error:
            log.warning("mail_without_picture", error=str(error))
            return None


def _too_much(what: str, bound: HourlyBound, room: Room) -> SendResult | None:
    """Return what becomes of a letter that is one too many, None where it is not."""
    if room is Room.NONE:
        sentence = f"The {what} had its {bound.limit} e-mails of this hour already."
        return SendResult(kind=SendKind.REFUSED, error=sentence)
    if room is Room.UNSURE:
        sentence = f"The {what} may have had its e-mails of this hour: some are under way."
        return SendResult(kind=SendKind.FAILED, error=sentence)
    return None


def _fault(error: Exception) -> SendResult:
    """Return what an error means: 5xx is for good, unless it is about us and not the letter."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        error = error.recipients[0]
    if not isinstance(error, aiosmtplib.SMTPResponseException):
        sentence = f"The exchange with the SMTP server failed: {type(error).__name__}."
        return SendResult(kind=SendKind.FAILED, error=sentence)
    is_ours = isinstance(error, aiosmtplib.SMTPAuthenticationError) or error.code in _LOGIN_CODES
    is_final = error.code >= _PERMANENT and not is_ours
    return SendResult(
        kind=SendKind.REFUSED if is_final else SendKind.FAILED,
        status=error.code,
        error=f"The SMTP server answered {error.code}.",
    )
