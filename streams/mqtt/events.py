"""Implements the stage's agents, which turn events into MQTT messages."""

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

import structlog

from common.errors import InvalidInputError
from common.records.alerts import AlertTrigger
from common.records.cameras import CameraConfig, CameraStatus
from common.records.codec import decode
from common.records.recognitions import Recognition
from streams.mqtt.camera_registry import CameraRegistry
from streams.mqtt.messages import (
    Message,
    TopicNames,
    alert_message,
    image_message,
    recognition_message,
)
from streams.mqtt.metrics import MqttMetrics
from streams.mqtt.reconnecting_client import Publish
from streams.runtime.alert_cache import AlertCache
from streams.runtime.app import Event, published_ms
from streams.runtime.stage_runner import StageRunner
from streams.runtime.tables import DurableTable

log = structlog.get_logger()


class StartTimes:
    """Stores the time at which each partition was first read. Older events are not published.

    When MQTT is enabled for the first time, Kafka still has the events of the last week.
    """

    def __init__(self, table: DurableTable, now_ms: Callable[[], int]) -> None:
        self._table = table
        self._now_ms = now_ms

    async def record(self, partitions: Iterable[int]) -> None:
        """Record the current time for each partition that has no start time yet.

        Call this method before any event of these partitions is read.

        Raises:
            TransientError: Kafka did not acknowledge the record.
        """
        for partition in partitions:
            if self._table.get(_key(partition)) is None:
                value = str(self._now_ms()).encode()
                await self._table.put(_key(partition), value, partition=partition)

    def is_started_before(self, partition: int, at_ms: int) -> bool:
        """Return True if the partition's start time is at most ``at_ms`` (Unix ms) or unknown."""
        begun = self._table.get(_key(partition))
        return begun is None or int(begun) <= at_ms


def _key(partition: int) -> bytes:
    return str(partition).encode()


# A camera's first status can arrive before its configuration, which is on another topic.
_CAMERA_KNOWN_WITHIN_SECONDS = 3.0


class EventPublisher:
    """Publishes recognitions and alerts, batch by batch."""

    def __init__(
        self,
        publish: Publish,
        names: TopicNames,
        metrics: MqttMetrics,
        start_times: StartTimes,
        alerts: AlertCache,
        *,
        image_url: Callable[[Recognition], str | None],
        is_wanted: Callable[[UUID], bool],
        now_ms: Callable[[], int],
    ) -> None:
        """``is_wanted`` returns whether an account's events are published. ``image_url`` returns
        the URL of a recognition's image, or None if no image URL is published.
        """
        self._publish = publish
        self._names = names
        self._metrics = metrics
        self._start_times = start_times
        self._alerts = alerts
        self._image_url = image_url
        self._is_wanted = is_wanted
        self._now_ms = now_ms

    async def publish_recognitions(self, events: Sequence[tuple[Event, Recognition]]) -> None:
        """Publish recognitions and their image URLs. Safe to repeat.

        Raises:
            TransientError: the broker is unavailable.
        """
        wanted = [each for each in events if self._is_published(each[0], each[1].owner_id)]
        messages: list[Message] = []
        for event, seen in wanted:
            messages.append(
                recognition_message(self._names, seen, published_ms=published_ms(event))
            )
            if (url := self._image_url(seen)) is not None:
                messages.append(image_message(self._names, seen, url))
        await self._publish_messages([event for event, _ in wanted], messages)

    async def publish_triggers(self, events: Sequence[tuple[Event, AlertTrigger]]) -> None:
        """Publish triggers of alerts. Safe to repeat.

        Raises:
            TransientError: the broker is unavailable.
        """
        wanted = [each for each in events if self._is_published(each[0], each[1].owner_id)]
        messages = [
            alert_message(self._names, await self._alerts.whole_trigger(trigger))
            for _, trigger in wanted
        ]
        await self._publish_messages([event for event, _ in wanted], messages)

    def _is_published(self, event: Event, owner_id: UUID) -> bool:
        is_after = self._start_times.is_started_before(event.message.partition, published_ms(event))
        return is_after and self._is_wanted(owner_id)

    async def _publish_messages(self, events: Sequence[Event], messages: Sequence[Message]) -> None:
        await self._publish(messages)
        now_ms = self._now_ms()
        for event in events:
            self._metrics.event_age.observe(max(0, now_ms - published_ms(event)) / 1000)


class CameraUpdates:
    """Applies configurations and statuses of cameras, one record at a time."""

    def __init__(
        self, runner: StageRunner, registry: CameraRegistry, start_times: StartTimes
    ) -> None:
        self._runner = runner
        self._registry = registry
        self._start_times = start_times

    async def apply_configuration(self, event: Event) -> None:
        """Apply the creation, update or deletion of a camera. Safe to repeat.

        Raises:
            InvalidInputError: the record cannot be decoded.
            TransientError: the broker or Kafka is unavailable.
        """
        self._runner.require_next(event)
        partition = event.message.partition
        if event.message.value:
            await self._registry.configure(decode(CameraConfig, event.message.value), partition)
        else:
            await self._registry.remove(_camera_id(event.message.key), partition)

    async def apply_status(self, event: Event) -> None:
        """Apply the status of a camera. Safe to repeat.

        Raises:
            InvalidInputError: the record cannot be decoded.
            TransientError: the broker or Kafka is unavailable.
        """
        self._runner.require_next(event)
        if not event.message.value:
            # The camera's deletion is also on the configuration topic.
            return
        status = decode(CameraStatus, event.message.value)
        is_event = self._start_times.is_started_before(event.message.partition, status.at_ms)
        await self._registry.apply_status(
            status,
            wait_seconds=_CAMERA_KNOWN_WITHIN_SECONDS,
            is_event=is_event,
        )


def _camera_id(key: bytes | None) -> UUID:
    try:
        return UUID((key or b"").decode())
    except ValueError as error:
        raise InvalidInputError("the key is not a camera ID", code="unreadable_key") from error
