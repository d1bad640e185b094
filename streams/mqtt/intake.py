"""The agents' bodies: what happened becomes messages at the broker."""

from collections.abc import Callable, Sequence
from uuid import UUID

from contracts.alert_records import AlertTrigger
from contracts.cameras import CameraConfig, CameraStatus
from contracts.errors import InvalidInputError
from contracts.recognitions import Recognition
from contracts.records import decode
from streams.common.app import Event, published_ms
from streams.common.guard import Guard
from streams.mqtt.beginning import Beginning
from streams.mqtt.cameras import CameraBook
from streams.mqtt.link import Publish
from streams.mqtt.messages import Message, TopicNames, alert_message, recognition_message
from streams.mqtt.metrics import MqttMetrics

# The configuration of a new camera comes by another topic than its first status.
_CAMERA_KNOWN_WITHIN_SECONDS = 3.0


class EventTeller:
    """Tells of recognitions and alerts, batch by batch."""

    def __init__(
        self,
        publish: Publish,
        names: TopicNames,
        metrics: MqttMetrics,
        beginning: Beginning,
        *,
        wants: Callable[[UUID], bool],
        now_ms: Callable[[], int],
    ) -> None:
        """Take the way to the broker, and which owners it is told of."""
        self._publish = publish
        self._names = names
        self._metrics = metrics
        self._beginning = beginning
        self._wants = wants
        self._now_ms = now_ms

    async def recognitions(self, told: Sequence[tuple[Event, Recognition]]) -> None:
        """Publish recognitions. Safe to do again.

        Raises:
            TransientError: the broker is away.
        """
        wanted = [each for each in told if self._is_wanted(each[0], each[1].owner_id)]
        messages = [
            recognition_message(self._names, recognition, published_ms=published_ms(event))
            for event, recognition in wanted
        ]
        await self._tell([event for event, _ in wanted], messages)

    async def triggers(self, told: Sequence[tuple[Event, AlertTrigger]]) -> None:
        """Publish alerts that fired. Safe to do again.

        Raises:
            TransientError: the broker is away.
        """
        wanted = [each for each in told if self._is_wanted(each[0], each[1].owner_id)]
        messages = [alert_message(self._names, trigger) for _, trigger in wanted]
        await self._tell([event for event, _ in wanted], messages)

    def _is_wanted(self, event: Event, owner_id: UUID) -> bool:
        is_after = self._beginning.is_before(event.message.partition, published_ms(event))
        return is_after and self._wants(owner_id)

    async def _tell(self, events: Sequence[Event], messages: Sequence[Message]) -> None:
        await self._publish(messages)
        now_ms = self._now_ms()
        for event in events:
            self._metrics.delivered(now_ms - published_ms(event))


class CameraTeller:
    """Tells of cameras, one record after the other."""

    def __init__(self, guard: Guard, book: CameraBook, beginning: Beginning) -> None:
        """Take what keeps the broker's knowledge of cameras."""
        self._guard = guard
        self._book = book
        self._beginning = beginning

    async def configuration(self, event: Event) -> None:
        """Take in a camera that was made, changed or deleted. Safe to do again.

        Raises:
            InvalidInputError: it cannot be read.
            TransientError: the broker or Kafka is away.
        """
        self._guard.require_next(event)
        partition = event.message.partition
        if event.message.value:
            await self._book.configure(decode(CameraConfig, event.message.value), partition)
        else:
            await self._book.remove(_camera_id(event.message.key), partition)

    async def status(self, event: Event) -> None:
        """Take in a camera's status. Safe to do again.

        Raises:
            InvalidInputError: it cannot be read.
            TransientError: the broker or Kafka is away.
        """
        self._guard.require_next(event)
        if not event.message.value:
            # The camera's configuration tells of its end.
            return
        status = decode(CameraStatus, event.message.value)
        is_news = self._beginning.is_before(event.message.partition, status.at_ms)
        await self._book.note_status(
            status,
            event.message.partition,
            wait_seconds=_CAMERA_KNOWN_WITHIN_SECONDS,
            is_news=is_news,
        )


def _camera_id(key: bytes | None) -> UUID:
    try:
        return UUID((key or b"").decode())
    except ValueError as error:
        raise InvalidInputError("the key is not a camera's id", code="unreadable_key") from error
