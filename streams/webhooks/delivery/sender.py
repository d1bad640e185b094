"""Makes one attempt: finds the destination, signs the delivery, and passes it to a transport."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from typing import Protocol

import msgspec
import structlog
from cachetools import LRUCache
from opentelemetry.trace import SpanKind

from common.errors import MisconfiguredError
from common.records.deliveries import (
    AppriseTarget,
    Delivery,
    DeliveryCause,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
)
from common.records.notifications import destinations_of
from common.records.payloads import delivery_body, notifications_of
from common.records.webhooks import (
    ATTEMPT_HEADER,
    EVENT_ID_HEADER,
    EVENT_TYPE_HEADER,
    WEBHOOK_ID_HEADER,
)
from common.secrets import SecretBox
from common.telemetry.messaging import about_topic
from common.telemetry.tracing import Attributes, fail, parse_traceparent, traced
from common.urls.outbound import redirect_target
from streams.runtime.alert_cache import AlertCache
from streams.webhooks.delivery.http_sender import HttpSender, SignedRequest
from streams.webhooks.delivery.schedule import SendKind, SendResult
from streams.webhooks.delivery.signing import signature_headers
from streams.webhooks.events.subscription_cache import Destination, SubscriptionCache, Unavailable

log = structlog.get_logger()

USER_AGENT = f"Platestream/{version('platestream')}"

_KNOWN_WITHIN_SECONDS = 5.0
_DECRYPTED_ADDRESSES = 4096
_BODIES = 64
"""Bodies of alerts to cache: at most 0.5 MB each, sent to up to a hundred endpoints at a time."""


class NotificationTransport(Protocol):
    """Sends notifications to people, by email or through a service."""

    async def send(self, delivery: Delivery, address: str) -> SendResult:
        """Send once and return the result."""


class DeliverySender:
    """Sends deliveries, one attempt at a time."""

    def __init__(
        self,
        *,
        subscriptions: SubscriptionCache,
        alerts: AlertCache,
        box: SecretBox,
        http: HttpSender,
        email: NotificationTransport,
        services: NotificationTransport,
        topic: str,
        now_ms: Callable[[], int],
    ) -> None:
        """``topic`` is the full name of the deliveries topic."""
        self._topic = topic
        self._subscriptions = subscriptions
        self._alerts = alerts
        self._box = box
        self._http = http
        self._email = email
        self._services = services
        self._now_ms = now_ms
        # Every delivery of an alert encrypts its URL again, but retries have the same ciphertext.
        self._bodies: LRUCache[Hashable, bytes] = LRUCache(_BODIES)
        self._decrypted = lru_cache(_DECRYPTED_ADDRESSES)(box.decrypt)

    async def send(self, delivery: Delivery, number: int) -> SendResult:
        """Make one attempt and return its result. ``number`` counts from 1."""
        trace = parse_traceparent(delivery.trace)
        if trace is None:
            return await self._send(delivery, number)
        about: Attributes = {
            **about_topic("process", self._topic),
            "platestream.delivery.id": str(delivery.id),
            "platestream.delivery.attempt": number,
            "platestream.recognition.id": str(delivery.recognition_id or ""),
        }
        with traced(f"process {self._topic}", SpanKind.CONSUMER, about, parent=trace) as span:
            result = await self._send(delivery, number)
            if span is not None and result.kind is not SendKind.ACCEPTED:
                fail(span, result.kind.value)
            return result

    async def _send(self, delivery: Delivery, number: int) -> SendResult:
        delivery = await self._with_alert(delivery)
        try:
            if self._is_removed(delivery):
                return SendResult(kind=SendKind.CANCELLED, error="The recipient was removed.")
            if isinstance(delivery.target, EmailTarget):
                address = self._decrypted(delivery.target.address_encrypted)
                with traced("send email", SpanKind.CLIENT):
                    return await self._email.send(delivery, address)
            if isinstance(delivery.target, AppriseTarget):
                url = self._decrypted(delivery.target.url_encrypted)
                with traced("send notification", SpanKind.CLIENT):
                    return await self._services.send(delivery, url)
            destination = await self._destination(delivery, number)
            if isinstance(destination, Unavailable):
                return SendResult(kind=SendKind.CANCELLED, error=destination.reason)
            result = await self._http.post(self._request(delivery, destination, number))
            return replace(_with_target(result, destination), webhook_revision=destination.revision)
        except MisconfiguredError as error:
            # An administrator can configure the missing secret key while retries continue.
            log.error("delivery_misconfigured", delivery_id=str(delivery.id), error=str(error))
            return SendResult(kind=SendKind.FAILED, error="A stored secret could not be decrypted.")

    async def _with_alert(self, delivery: Delivery) -> Delivery:
        if delivery.trigger is None:
            return delivery
        trigger = await self._alerts.whole_trigger(delivery.trigger)
        return msgspec.structs.replace(delivery, trigger=trigger)

    def _is_removed(self, delivery: Delivery) -> bool:
        """Return whether the recipient was removed from the alert after the trigger."""
        trigger = delivery.trigger
        is_asked_for = delivery.cause is DeliveryCause.REDELIVERY
        if trigger is None or is_asked_for or isinstance(delivery.target, WebhookTarget):
            return False
        if (alert := self._alerts.newer(trigger.alert)) is None:
            return False
        stored = destinations_of(delivery.owner_id, notifications_of(alert, self._box))
        return delivery.endpoint not in stored

    async def _destination(self, delivery: Delivery, number: int) -> Destination | Unavailable:
        target = delivery.target
        if isinstance(target, WebhookTarget):
            return await self._subscriptions.destination(
                target.webhook_id,
                now_ms=self._now_ms(),
                # Another process may have read a new webhook a moment before this process.
                wait_seconds=_KNOWN_WITHIN_SECONDS if number == 1 else 0,
                include_disabled=delivery.cause is DeliveryCause.TEST,
            )
        assert isinstance(target, UrlTarget)
        # A delivery that was planned before a secret rotation has the former secret.
        secrets = self._subscriptions.notification_secrets(delivery.owner_id, self._now_ms())
        return Destination(
            url=self._decrypted(target.url_encrypted),
            secrets=secrets or (self._decrypted(target.secret_encrypted),),
            headers={},
        )

    def _request(self, delivery: Delivery, destination: Destination, number: int) -> SignedRequest:
        body = self._body(delivery)
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

    def _body(self, delivery: Delivery) -> bytes:
        """Return the body, which is the same for all endpoints of an event."""
        key = (delivery.event_id, delivery.event, delivery.cause, delivery.created_ms)
        if delivery.trigger is None:
            return delivery_body(delivery, self._box)
        known = self._bodies.get(key)
        if known is None:
            known = self._bodies[key] = delivery_body(delivery, self._box)
        return known


def _with_target(result: SendResult, destination: Destination) -> SendResult:
    """Return the result. If it is a redirect, the error contains the target of the redirect."""
    if result.location is None:
        return result
    target = redirect_target(destination.url, result.location)
    where = "" if target is None else f" to {target}"
    return replace(result, error=f"Received status {result.status}, a redirect{where}.")


def _content_type(destination: Destination) -> dict[str, str]:
    """Return the Content-Type header, or no header if the client has configured one."""
    if any(name.lower() == "content-type" for name in destination.headers):
        return {}
    return {"Content-Type": "application/json"}
