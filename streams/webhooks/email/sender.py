"""Sends alerts by email through the configured SMTP server.

Without an SMTP server, alerts still trigger, and the attempt states why no email was sent.
"""

import time
from collections.abc import Callable
from email.message import EmailMessage
from html import escape

from common.mail.server import MailServer, new_message
from common.mail_settings import EmailSettings
from common.records.deliveries import Delivery
from common.timestamps import now_ms
from streams.webhooks.delivery.crops import FetchImage, crop_of
from streams.webhooks.delivery.message_text import local_time, message_fields, message_subject
from streams.webhooks.delivery.schedule import SendKind, SendResult

_CROP_ID = "crop@platestream"


class DisabledEmail:
    """Rejects every email, because the installation has no SMTP server."""

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Return a failure, because no SMTP server is configured."""
        return SendResult(kind=SendKind.REFUSED, error="No SMTP server is configured.")


class EmailSender:
    """Creates the email of a delivery, and sends it to the SMTP server."""

    def __init__(
        self,
        settings: EmailSettings,
        fetch_image: FetchImage,
        *,
        timeout_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = now_ms,
    ) -> None:
        """``timeout_seconds`` applies to each step of the exchange. ``clock`` is monotonic.

        ``now_ms`` returns the wall-clock time in Unix ms.
        """
        self._settings = settings
        self._fetch_image = fetch_image
        self._now_ms = now_ms
        self._server = MailServer(settings, timeout_seconds=timeout_seconds, clock=clock)

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Send once and return the result. Errors of the server never raise."""

        async def message(warning: str | None) -> EmailMessage:
            return email_message(
                delivery,
                address,
                sender=self._settings.smtp_from,
                public_url=self._settings.public_url,
                warning=warning,
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


def email_message(
    delivery: Delivery,
    address: str,
    *,
    sender: str,
    public_url: str,
    warning: str | None,
    crop: bytes | None,
) -> EmailMessage:
    """Return the message that notifies ``address`` of an alert.

    ``warning`` is a text about the limits of notifications. ``crop`` is a JPEG. A repeated message
    has the same Message-ID, so that email clients show it only once.
    """
    trigger = delivery.trigger
    assert trigger is not None, delivery.event
    fields = message_fields(delivery, public_url, warning)
    message = new_message(
        sender=sender,
        address=address,
        subject=message_subject(delivery),
        at=local_time(trigger, trigger.decided_ms),
        identifier=str(delivery.id),
    )
    message.set_content("\n".join(f"{name}: {value}" for name, value in fields) + "\n")
    message.add_alternative(_page(fields, has_crop=crop is not None), subtype="html")
    if crop is not None:
        html = message.get_body(("html",))
        assert html is not None
        html.add_related(crop, "image", "jpeg", cid=f"<{_CROP_ID}>", filename="plate.jpg")
    return message


def _page(fields: list[tuple[str, str]], *, has_crop: bool) -> str:
    rows = "".join(
        f"<tr><th align='left'>{escape(name)}</th><td>{_cell(value)}</td></tr>"
        for name, value in fields
    )
    image = f"<p><img src='cid:{_CROP_ID}' alt='plate'></p>" if has_crop else ""
    return f"<html><body>{image}<table>{rows}</table></body></html>"


def _cell(value: str) -> str:
    if value.startswith(("http://", "https://")):
        return f"<a href='{escape(value)}'>{escape(value)}</a>"
    return escape(value)
