"""Creates MQTT messages and their topics. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import msgspec

from common.records.alerts import AlertTrigger
from common.records.cameras import CameraConfig, CameraStatus
from common.records.deliveries import CameraEvent, trigger_event, trigger_occurred_ms
from common.records.ids import event_id
from common.records.payloads import (
    EventEnvelope,
    RecognitionEventData,
    alert_event_data,
    camera_event_data,
    recognition_payload,
)
from common.records.recognitions import Recognition
from common.records.webhooks import EventName
from common.timestamps import format_timestamp

AVAILABLE = b"online"
UNAVAILABLE = b"offline"


class MessageKind(StrEnum):
    """The kind of a message, for metrics."""

    RECOGNITION = "recognition"
    ALERT = "alert"
    CAMERA = "camera"
    RETAINED = "retained"
    IMAGE = "image"


@dataclass(frozen=True, repr=False)
class Message:
    """An MQTT message. An empty retained message deletes the topic's retained message."""

    topic: str
    payload: bytes
    kind: MessageKind

    @property
    def retain(self) -> bool:
        """Whether the broker retains the message for later subscribers."""
        return self.kind is MessageKind.RETAINED


@dataclass(frozen=True)
class TopicNames:
    """The topics of an installation. ``discovery_prefix`` can contain ``{owner}`` or be empty."""

    prefix: str
    discovery_prefix: str

    @property
    def availability(self) -> str:
        """The topic of the stage's availability: online or offline."""
        return f"{self.prefix}/status"

    def recognition(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return the topic of a camera's recognitions."""
        return self._of(owner_id, camera_id, "recognition")

    def alert(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return the topic of the alerts that a camera's recognitions trigger."""
        return self._of(owner_id, camera_id, "alert")

    def alert_settled(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return the topic of the confirmations and corrections of early alerts."""
        return self._of(owner_id, camera_id, "alert-settled")

    def camera(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return the topic of a camera's events: online and offline."""
        return self._of(owner_id, camera_id, "camera")

    def state(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return the topic of a camera's retained state: online or offline."""
        return self._of(owner_id, camera_id, "state")

    def image_url(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return the topic of the presigned image URLs of a camera's passes."""
        return self._of(owner_id, camera_id, "image-url")

    def discovery(self, owner_id: UUID, camera_id: UUID) -> str | None:
        """Return Home Assistant's discovery topic of a camera, or None if discovery is disabled."""
        if not self.discovery_prefix:
            return None
        start = self.discovery_prefix.replace("{owner}", str(owner_id))
        # The prefix separates installations that share a broker.
        node = self.prefix.replace("/", "_").replace(".", "_")
        return f"{start}/device/{node}_{camera_id}/config"

    def _of(self, owner_id: UUID, camera_id: UUID, what: str) -> str:
        return f"{self.prefix}/{owner_id}/{camera_id}/{what}"


def recognition_message(
    names: TopicNames, recognition: Recognition, *, published_ms: int
) -> Message:
    """Return the message of a recognition.created event, with the webhook event's id."""
    name = EventName.RECOGNITION_CREATED
    envelope = EventEnvelope(
        id=event_id(recognition.captured_ms, name, str(recognition.id)),
        event=name,
        created_at=format_timestamp(published_ms),
        data=RecognitionEventData(recognition=recognition_payload(recognition)),
    )
    topic = names.recognition(recognition.owner_id, recognition.camera_id)
    return Message(topic, msgspec.json.encode(envelope), MessageKind.RECOGNITION)


def image_message(names: TopicNames, recognition: Recognition, url: str) -> Message:
    """Return the message with the URL of a recognition's image."""
    topic = names.image_url(recognition.owner_id, recognition.camera_id)
    return Message(topic, url.encode(), MessageKind.IMAGE)


def alert_message(names: TopicNames, trigger: AlertTrigger) -> Message:
    """Return the message of a trigger, with the webhook event's id, without notifications.

    Confirmations and corrections of early triggers have a separate topic, so that a subscriber that
    opens a gate on each message does not open the gate twice.
    """
    name = trigger_event(trigger.phase)
    envelope = EventEnvelope(
        id=event_id(trigger_occurred_ms(trigger, name), name, str(trigger.id)),
        event=name,
        created_at=format_timestamp(trigger.decided_ms),
        data=alert_event_data(trigger),
    )
    place = names.alert if name is EventName.ALERT_TRIGGERED else names.alert_settled
    topic = place(trigger.owner_id, trigger.recognition.camera_id)
    return Message(topic, msgspec.json.encode(envelope), MessageKind.ALERT)


def camera_message(
    names: TopicNames, name: EventName, camera: CameraConfig, status: CameraStatus
) -> Message:
    """Return the message of a camera event, with the webhook event's id, without the stream URL."""
    envelope = EventEnvelope(
        id=event_id(status.at_ms, name, str(status.camera_id)),
        event=name,
        created_at=format_timestamp(status.at_ms),
        data=camera_event_data(CameraEvent(camera=camera, status=status), None),
    )
    topic = names.camera(status.owner_id, status.camera_id)
    return Message(topic, msgspec.json.encode(envelope), MessageKind.CAMERA)


def retained(topic: str, payload: bytes) -> Message:
    """Return a message for the broker to retain."""
    return Message(topic, payload, MessageKind.RETAINED)


def removals(topics: Sequence[str]) -> list[Message]:
    """Return the messages that delete the retained messages of ``topics``."""
    return [retained(topic, b"") for topic in topics]
