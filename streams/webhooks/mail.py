"""Sends alerts by e-mail through the SMTP server in the settings. The only module that knows SMTP.

Without a server alerts fire all the same, and the attempt says why nothing was sent.
"""

import ssl
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from email.message import EmailMessage

import aiosmtplib
import structlog

from contracts.deliveries import Delivery
from contracts.errors import TransientError
from streams.common.retry import RateBound
from streams.webhooks.letters import letter_of
from streams.webhooks.schedule import SendKind, SendResult
from streams.webhooks.settings import MailEncryption, MailSettings

log = structlog.get_logger()

FetchImage = Callable[[str], Awaitable[bytes | None]]
"""Returns the image under a key, None where there is none."""

_WINDOW_SECONDS = 3600.0
_PERMANENT = 500
# They ask to log in, or to do it otherwise: the settings lack something. **Source:** RFC 4954.
_LOGIN_CODES = frozenset({530, 534, 535, 538})
_ADDRESSES_SWEPT_AT = 10_000


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
        self._clock = clock
        self._sent: defaultdict[str, RateBound] = defaultdict(self._new_bound)
        self._under_way: Counter[str] = Counter()
        self._tls = ssl.create_default_context(cafile=settings.smtp_ca_file or None)

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Send once and tell what came of it. Never raises for anything the server does."""
        place = address.lower()
        if (too_much := self._too_much(place)) is not None:
            return too_much
        self._under_way[place] += 1
        try:
            result = await self._send(delivery, address)
        finally:
            self._under_way -= Counter((place,))
        if result.kind is SendKind.ACCEPTED:
            self._sent[place].count(self._clock())
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

    def _too_much(self, place: str) -> SendResult | None:
        """Return what becomes of a letter too many; only what was accepted counts for good."""
        most = self._settings.mail_per_address_per_hour
        if len(self._sent) > _ADDRESSES_SWEPT_AT:
            # Whoever has room for all again is as good as new.
            for known in [k for k, v in self._sent.items() if v.remaining(self._clock()) == most]:
                del self._sent[known]
        remaining = self._sent[place].remaining(self._clock())
        if remaining == 0:
            return SendResult(
                kind=SendKind.REFUSED,
                error=f"The address had its {most} e-mails of this hour already.",
            )
        if self._under_way[place] >= remaining:
            sentence = "The address may have had its e-mails of this hour: some are under way."
            return SendResult(kind=SendKind.FAILED, error=sentence)
        return None

    def _new_bound(self) -> RateBound:
        limit = self._settings.mail_per_address_per_hour
        return RateBound(limit=limit, window_seconds=_WINDOW_SECONDS)


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
