"""Sends alerts by e-mail through the SMTP server in the settings.

Without a server alerts trigger all the same, and the attempt says why nothing was sent.
"""

import time
from collections.abc import Callable
from email.message import EmailMessage

from common.mail.server import MailServer
from common.mail_settings import EmailSettings
from common.records.deliveries import Delivery
from common.timestamps import now_ms
from streams.webhooks.delivery.crops import FetchImage, crop_of
from streams.webhooks.delivery.schedule import SendKind, SendResult
from streams.webhooks.email.message import email_message


class DisabledEmail:
    """The transport of an installation without an SMTP server: refuses all."""

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Return that there is no server to send through."""
        return SendResult(kind=SendKind.REFUSED, error="No SMTP server is in the settings.")


class EmailSender:
    """Makes the e-mail of a delivery, and hands it to the SMTP server."""

    def __init__(
        self,
        settings: EmailSettings,
        fetch_image: FetchImage,
        *,
        timeout_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = now_ms,
    ) -> None:
        """``timeout_seconds`` is for each step of the exchange; ``clock`` never goes back.

        ``now_ms`` is the wall clock, Unix ms.
        """
        self._settings = settings
        self._fetch_image = fetch_image
        self._now_ms = now_ms
        self._server = MailServer(settings, timeout_seconds=timeout_seconds, clock=clock)

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Send once and return the result. Never raises for anything the server does."""

        async def message(notice: str | None) -> EmailMessage:
            return email_message(
                delivery,
                address,
                sender=self._settings.smtp_from,
                public_url=self._settings.public_url,
                notice=notice,
                crop=await crop_of(delivery, self._fetch_image, self._now_ms()),
            )

        result = await self._server.send(str(delivery.owner_id), address, message)
        kind = SendKind(result.outcome.value)
        return SendResult(
            kind=kind,
            status=result.status,
            error=result.error,
            is_held_back=result.is_held_back,
        )
