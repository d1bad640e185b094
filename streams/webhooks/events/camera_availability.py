"""Publishes camera.online and camera.offline events, based on camera statuses."""

import structlog

from common.records.cameras import CameraStatus
from common.records.codec import decode, encode
from common.records.deliveries import CameraEvent
from common.records.webhooks import EventName
from streams.runtime.app import Event
from streams.runtime.camera_presence import CameraPresence, apply_status
from streams.runtime.stage_runner import StageRunner
from streams.runtime.tables import DurableTable
from streams.webhooks.events.fan_out import DeliveryPublisher, camera_deliveries
from streams.webhooks.events.subscription_cache import SubscriptionCache

log = structlog.get_logger()

_CAMERA_KNOWN_WITHIN_SECONDS = 3.0


class CameraAvailability:
    """Publishes events when cameras go online and offline. Handles one status at a time."""

    def __init__(
        self,
        runner: StageRunner,
        subscriptions: SubscriptionCache,
        table: DurableTable,
        publish: DeliveryPublisher,
        *,
        offline_after_ms: int,
    ) -> None:
        self._runner = runner
        self._subscriptions = subscriptions
        self._table = table
        self._publish = publish
        self._offline_after_ms = offline_after_ms

    async def handle(self, event: Event) -> None:
        """Handle one status. Safe to repeat.

        Raises:
            InvalidInputError: the status cannot be decoded.
            TransientError: Kafka is unavailable. The presence is unchanged.
        """
        self._runner.require_next(event)
        key, value = event.message.key or b"", event.message.value
        data = self._table.get(key)
        if not value:
            await self._store(key, data, None, event)
            return
        status = decode(CameraStatus, value)
        known = None if data is None else decode(CameraPresence, data)
        change = apply_status(known, status, offline_after_ms=self._offline_after_ms)
        if change.event is not None:
            await self._publish_event(change.event, status)
        await self._store(key, data, change.presence, event)

    async def _publish_event(self, name: EventName, status: CameraStatus) -> None:
        webhooks = self._subscriptions.subscribers(status.owner_id, name, status.at_ms)
        if not webhooks:
            return
        camera = await self._subscriptions.camera(status.camera_id, _CAMERA_KNOWN_WITHIN_SECONDS)
        if camera is None:
            log.info("camera_unknown", camera_id=str(status.camera_id))
            return
        event = CameraEvent(camera=camera, status=status)
        await self._publish(camera_deliveries(name, event, webhooks))

    async def _store(
        self,
        key: bytes,
        before: bytes | None,
        known: CameraPresence | None,
        event: Event,
    ) -> None:
        value = None if known is None else encode(known)
        if value != before:
            await self._table.put(key, value, partition=event.message.partition)
