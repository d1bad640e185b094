"""One attempt: looks up where a delivery goes, and hands it to the sender of its kind."""

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from typing import Protocol

import structlog

from contracts.deliveries import Delivery, DeliveryCause, EmailTarget, UrlTarget, WebhookTarget
from contracts.errors import MisconfiguredError
from contracts.secrets import SecretBox
from contracts.webhook_headers import (
    ATTEMPT_HEADER,
    EVENT_ID_HEADER,
    EVENT_TYPE_HEADER,
    WEBHOOK_ID_HEADER,
)
from streams.common.shapes import body_of
from streams.webhooks.directory import Absent, Destination, Directory
from streams.webhooks.http_sender import SignedRequest
from streams.webhooks.schedule import SendKind, SendResult
from streams.webhooks.signing import signature_headers

log = structlog.get_logger()

USER_AGENT = f"Platestream/{version('platestream')}"

_KNOWN_WITHIN_SECONDS = 5.0
_OPENED_ADDRESSES = 4096


class PostsRequests(Protocol):
    """What sends signed requests."""

    async def post(self, request: SignedRequest) -> SendResult:
        """Send once and tell what came of it."""


class SendsMails(Protocol):
    """What sends e-mail."""

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Send once and tell what came of it."""


class Deliverer:
    """Makes attempts."""

    def __init__(
        self,
        *,
        directory: Directory,
        box: SecretBox,
        http: PostsRequests,
        mail: SendsMails,
        now_ms: Callable[[], int],
    ) -> None:
        """Take the directory and the senders."""
        self._directory = directory
        self._box = box
        self._http = http
        self._mail = mail
        self._now_ms = now_ms
        # Each delivery of an alert brings its address encrypted anew, each of its retries alike.
        self._opened = lru_cache(_OPENED_ADDRESSES)(box.decrypt)

    async def send(self, delivery: Delivery, number: int) -> SendResult:
        """Try once. ``number`` counts from 1."""
        try:
            if isinstance(delivery.target, EmailTarget):
                address = self._opened(delivery.target.address_encrypted)
                return await self._mail.send(delivery, address)
            destination = await self._destination(delivery, number)
            if isinstance(destination, Absent):
                return SendResult(kind=SendKind.CANCELLED, error=destination.reason)
            return await self._http.post(self._request(delivery, destination, number))
        except MisconfiguredError as error:
            # A key is missing from the settings: an operator can mend it while retries last.
            log.error("delivery_misconfigured", delivery_id=str(delivery.id), error=str(error))
            return SendResult(kind=SendKind.FAILED, error="A secret of it could not be decrypted.")

    async def _destination(self, delivery: Delivery, number: int) -> Destination | Absent:
        target = delivery.target
        if isinstance(target, WebhookTarget):
            return await self._directory.destination(
                target.webhook_id,
                now_ms=self._now_ms(),
                # What another process knew a moment ago, this one may hear of a moment later.
                wait_seconds=_KNOWN_WITHIN_SECONDS if number == 1 else 0,
                even_off=delivery.cause is DeliveryCause.TEST,
            )
        assert isinstance(target, UrlTarget)
        return Destination(
            url=self._opened(target.url_encrypted),
            secrets=(self._opened(target.secret_encrypted),),
            headers={},
        )

    def _request(self, delivery: Delivery, destination: Destination, number: int) -> SignedRequest:
        body = body_of(delivery, self._box)
        headers = {
            **_content_type(destination),
            **destination.headers,
            "User-Agent": USER_AGENT,
            EVENT_ID_HEADER: str(delivery.event_id),
            EVENT_TYPE_HEADER: delivery.event.value,
            ATTEMPT_HEADER: str(number),
            **signature_headers(
                body,
                message_id=str(delivery.event_id),
                timestamp_seconds=self._now_ms() // 1000,
                secrets=destination.secrets,
            ),
        }
        if destination.webhook_id is not None:
            headers[WEBHOOK_ID_HEADER] = destination.webhook_id
        return SignedRequest(destination.url, headers, body)


def _content_type(destination: Destination) -> dict[str, str]:
    """Return ours, unless the client wants another one."""
    if any(name.lower() == "content-type" for name in destination.headers):
        return {}
    return {"Content-Type": "application/json"}
