"""The agents' bodies: what happened becomes deliveries, attempts become statuses."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol
from uuid import UUID

import faust
import structlog

from contracts.alert_records import AlertTrigger
from contracts.cameras import CameraStatus
from contracts.deliveries import (
    CameraEvent,
    Delivery,
    DeliveryAttempt,
    WebhookStatus,
    WebhookTarget,
    trigger_event,
)
from contracts.errors import InvalidInputError, MisconfiguredError
from contracts.recognitions import Recognition
from contracts.records import decode, encode
from contracts.secrets import SecretBox
from contracts.webhooks import EventName, WebhookConfig
from streams.common import presence
from streams.common.app import Event, published_ms
from streams.common.guard import Guard
from streams.common.sending import send_all
from streams.webhooks import status
from streams.webhooks.directory import Directory
from streams.webhooks.fan_out import (
    camera_deliveries,
    recognition_deliveries,
    trigger_deliveries,
    trigger_webhook_deliveries,
)

log = structlog.get_logger()

_CAMERA_KNOWN_WITHIN_SECONDS = 3.0
_PIECE = 200
"""Deliveries made before they are sent: 8 MB where each holds an alert of 1,000 plates."""


class PublishesDeliveries(Protocol):
    """What publishes deliveries."""

    async def __call__(self, deliveries: Sequence[Delivery]) -> None:
        """Publish them; returns once Kafka has all."""


def publisher_of(topic: faust.TopicT) -> PublishesDeliveries:
    """Return what publishes deliveries to their topic."""

    async def publish(deliveries: Sequence[Delivery]) -> None:
        await send_all(topic, ((one.endpoint.encode(), encode(one)) for one in deliveries))

    return publish


class FanOut:
    """Tells of recognitions and alerts, batch by batch."""

    def __init__(self, directory: Directory, box: SecretBox, publish: PublishesDeliveries) -> None:
        """Take who wants to know, and how to tell them."""
        self._directory = directory
        self._box = box
        self._publish = publish

    async def recognitions(self, told: Sequence[tuple[Event, Recognition]]) -> None:
        """Publish what recognitions give. Safe to do again.

        Raises:
            TransientError: Kafka is away.
        """
        await self._publish_all(
            delivery
            for event, recognition in told
            for delivery in self._of_recognition(recognition, published_ms(event))
        )

    async def triggers(self, told: Sequence[tuple[Event, AlertTrigger]]) -> None:
        """Publish what alerts that fired give. Safe to do again.

        Raises:
            TransientError: Kafka is away.
            MisconfiguredError: an alert was encrypted with another key. If it is the only one,
                webhooks are told of it all the same.
        """
        try:
            await self._publish_all(
                each for event, trigger in told for each in self._all(event, trigger)
            )
        except MisconfiguredError:
            if len(told) == 1:
                # They are tried for longer than it takes to mend the key.
                ((event, trigger),) = told
                webhooks = self._webhooks_for(event, trigger)
                await self._publish(trigger_webhook_deliveries(trigger, webhooks))
            raise

    async def _publish_all(self, deliveries: Iterable[Delivery]) -> None:
        """Publish them piece by piece: each holds its alert, and a batch may give very many."""
        coming = iter(deliveries)
        while piece := list(islice(coming, _PIECE)):
            await self._publish(piece)

    def _of_recognition(self, recognition: Recognition, published: int) -> list[Delivery]:
        wanted = EventName.RECOGNITION_CREATED
        webhooks = self._directory.subscribers(recognition.owner_id, wanted, published)
        return recognition_deliveries(recognition, webhooks, published_ms=published)

    def _all(self, event: Event, trigger: AlertTrigger) -> list[Delivery]:
        return trigger_deliveries(trigger, self._webhooks_for(event, trigger), self._box)

    def _webhooks_for(self, event: Event, trigger: AlertTrigger) -> tuple[WebhookConfig, ...]:
        wanted = trigger_event(trigger.phase)
        if wanted is EventName.ALERT_CORRECTED:
            # Whoever was told what is wrong is told that it is.
            wanted = EventName.ALERT_TRIGGERED
        return self._directory.subscribers(trigger.owner_id, wanted, published_ms(event))


class PresenceTable(Protocol):
    """Encoded :class:`~streams.common.presence.Presence` by camera."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return what is known of a camera, None at first."""

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write what is known of a camera, None to forget it; returns once Kafka has it."""


class CameraWatch:
    """Tells when cameras come and go, status by status."""

    def __init__(
        self,
        guard: Guard,
        directory: Directory,
        table: PresenceTable,
        publish: PublishesDeliveries,
        *,
        offline_after_ms: int,
    ) -> None:
        """Take what is known of cameras, who wants to know, and how to tell them."""
        self._guard = guard
        self._directory = directory
        self._table = table
        self._publish = publish
        self._offline_after_ms = offline_after_ms

    async def handle(self, event: Event) -> None:
        """Take in one status. Safe to do again.

        Raises:
            InvalidInputError: it cannot be read.
            TransientError: Kafka is away; what is known is as before.
        """
        self._guard.require_next(event)
        key, value = event.message.key or b"", event.message.value
        data = self._table.get(key)
        if not value:
            await self._keep(key, data, None, event)
            return
        told = decode(CameraStatus, value)
        known = None if data is None else decode(presence.Presence, data)
        step = presence.advance(known, told, offline_after_ms=self._offline_after_ms)
        if step.event is not None:
            await self._tell(step.event, told)
        await self._keep(key, data, step.presence, event)

    async def _tell(self, name: EventName, told: CameraStatus) -> None:
        webhooks = self._directory.subscribers(told.owner_id, name, told.at_ms)
        if not webhooks:
            return
        camera = await self._directory.camera(told.camera_id, _CAMERA_KNOWN_WITHIN_SECONDS)
        if camera is None:
            log.info("camera_gone", camera_id=str(told.camera_id))
            return
        event = CameraEvent(camera=camera, status=told)
        await self._publish(camera_deliveries(name, event, webhooks))

    async def _keep(
        self, key: bytes, before: bytes | None, known: presence.Presence | None, event: Event
    ) -> None:
        value = None if known is None else encode(known)
        if value != before:
            await self._table.put(key, value, partition=event.message.partition)


class DeliveryIntake:
    """Hands deliveries on to be tried, message by message; what cannot be taken is put aside."""

    def __init__(self, guard: Guard, offer: Callable[[Delivery, Event], Awaitable[None]]) -> None:
        """``offer`` takes a delivery with its message, and has that acknowledged when it may be."""
        self._guard = guard
        self._offer = offer

    async def take(self, event: Event) -> None:
        """Take in one delivery, or dead-letter and release its message. Never raises."""
        try:
            await self._offer(decode(Delivery, event.message.value or b""), event)
        except InvalidInputError as error:
            await self._guard.reject(event, error)
        except Exception as error:
            # The edge of the agent, which must not raise.
            log.exception("delivery_not_taken")
            await self._guard.reject(event, error)


class StatusKeeper:
    """Counts attempts, batch by batch, and publishes how each webhook fares."""

    def __init__(
        self,
        guard: Guard,
        directory: Directory,
        topic: faust.TopicT,
        rules: status.SwitchOffRules,
    ) -> None:
        """Take what is known so far and where to tell of it."""
        self._guard = guard
        self._directory = directory
        self._topic = topic
        self._rules = rules

    async def take(self, told: Sequence[tuple[Event, DeliveryAttempt]]) -> None:
        """Take in attempts and publish what has changed. Safe to do again.

        Raises:
            TransientError: Kafka is away; what is known is as before.
        """
        # A later attempt, once counted, would make an earlier one look as if it was counted too.
        for event in {event.message.partition: event for event, _ in reversed(told)}.values():
            self._guard.require_next(event)
        changed: dict[UUID, WebhookStatus] = {}
        for event, attempt in told:
            target = attempt.delivery.target
            if isinstance(target, WebhookTarget):
                known = changed.get(target.webhook_id) or self._directory.status(target.webhook_id)
                after = self._after(known, attempt, event.message.offset)
                if after is not None:
                    changed[target.webhook_id] = after
        messages = [(str(key).encode(), encode(after)) for key, after in changed.items()]
        await send_all(self._topic, messages)
        for after in changed.values():
            self._directory.note_status(after)

    def _after(
        self, known: WebhookStatus | None, attempt: DeliveryAttempt, offset: int
    ) -> WebhookStatus | None:
        target = attempt.delivery.target
        assert isinstance(target, WebhookTarget)
        webhook = self._directory.webhook(target.webhook_id)
        after = status.advance(
            known,
            attempt,
            offset=offset,
            revision=None if webhook is None else webhook.revision,
            rules=self._rules,
        )
        if after is not None and after.disabled_ms == attempt.started_ms:
            log.warning(
                "webhook_switched_off",
                webhook_id=str(after.webhook_id),
                reason=after.disabled_reason,
            )
        return after
