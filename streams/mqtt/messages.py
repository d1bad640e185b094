"""What is published under which topic. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import msgspec

from contracts.alert_records import AlertTrigger
from contracts.cameras import CameraConfig, CameraStatus
from contracts.deliveries import CameraEvent, trigger_event, trigger_occurred_ms
from contracts.ids import event_id
from contracts.moments import format_timestamp
from contracts.recognitions import Recognition
from contracts.webhooks import EventName
from streams.common.shapes import (
    Envelope,
    RecognitionData,
    alert_data,
    camera_data,
    recognition_shape,
)

AVAILABLE = b"online"
UNAVAILABLE = b"offline"


class MessageKind(StrEnum):
    """What a message is, for metrics."""

    RECOGNITION = "recognition"
    ALERT = "alert"
    CAMERA = "camera"
    RETAINED = "retained"


@dataclass(frozen=True, repr=False)
class Message:
    """One publication. An empty payload that is retained deletes what the broker kept."""

    topic: str
    payload: bytes
    kind: MessageKind

    @property
    def retain(self) -> bool:
        """Whether the broker keeps it for those who come later."""
        return self.kind is MessageKind.RETAINED


@dataclass(frozen=True)
class TopicNames:
    """The topics of an installation; ``discovery_prefix`` may hold ``{owner}``, or be empty."""

    prefix: str
    discovery_prefix: str

    @property
    def availability(self) -> str:
        """Whether the stage is there: online or offline."""
        return f"{self.prefix}/status"

    def recognition(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return where a camera's recognitions go."""
        return self._of(owner_id, camera_id, "recognition")

    def alert(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return where alerts go that a camera set off."""
        return self._of(owner_id, camera_id, "alert")

    def settled(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return where it is told what became of alerts that fired early."""
        return self._of(owner_id, camera_id, "alert-settled")

    def camera(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return where a camera's coming and going goes, as events."""
        return self._of(owner_id, camera_id, "camera")

    def state(self, owner_id: UUID, camera_id: UUID) -> str:
        """Return where a camera's state is kept: online or offline."""
        return self._of(owner_id, camera_id, "state")

    def discovery(self, owner_id: UUID, camera_id: UUID) -> str | None:
        """Return where Home Assistant learns of a camera, None where it is not to."""
        if not self.discovery_prefix:
            return None
        start = self.discovery_prefix.replace("{owner}", str(owner_id))
        # The prefix keeps installations apart that share a broker.
        node = self.prefix.replace("/", "_").replace(".", "_")
        return f"{start}/device/{node}_{camera_id}/config"

    def _of(self, owner_id: UUID, camera_id: UUID, what: str) -> str:
        return f"{self.prefix}/{owner_id}/{camera_id}/{what}"


def recognition_message(
    names: TopicNames, recognition: Recognition, *, published_ms: int
) -> Message:
    """Return recognition.created, with the id that webhooks are told."""
    name = EventName.RECOGNITION_CREATED
    envelope = Envelope(
        id=event_id(recognition.captured_ms, name, str(recognition.id)),
        event=name,
        created_at=format_timestamp(published_ms),
        data=RecognitionData(recognition=recognition_shape(recognition)),
    )
    topic = names.recognition(recognition.owner_id, recognition.camera_id)
    return Message(topic, msgspec.json.encode(envelope), MessageKind.RECOGNITION)


def alert_message(names: TopicNames, trigger: AlertTrigger) -> Message:
    """Return alert.triggered, with the id that webhooks are told; not whom the alert notifies.

    What became of one that fired early goes elsewhere: whoever opens a gate on each message must
    not open it twice.
    """
    name = trigger_event(trigger.phase)
    envelope = Envelope(
        id=event_id(trigger_occurred_ms(trigger, name), name, str(trigger.id)),
        event=name,
        created_at=format_timestamp(trigger.decided_ms),
        data=alert_data(trigger, None),
    )
    place = names.alert if name is EventName.ALERT_TRIGGERED else names.settled
    topic = place(trigger.owner_id, trigger.recognition.camera_id)
    return Message(topic, msgspec.json.encode(envelope), MessageKind.ALERT)


def camera_message(
    names: TopicNames, name: EventName, camera: CameraConfig, status: CameraStatus
) -> Message:
    """Return camera.online or camera.offline, with the id that webhooks are told; no address."""
    envelope = Envelope(
        id=event_id(status.at_ms, name, str(status.camera_id)),
        event=name,
        created_at=format_timestamp(status.at_ms),
        data=camera_data(CameraEvent(camera=camera, status=status), None),
    )
    topic = names.camera(status.owner_id, status.camera_id)
    return Message(topic, msgspec.json.encode(envelope), MessageKind.CAMERA)


def retained(topic: str, payload: bytes) -> Message:
    """Return a message that the broker keeps."""
    return Message(topic, payload, MessageKind.RETAINED)


def removals(topics: Sequence[str]) -> list[Message]:
    """Return what makes the broker forget what it kept under topics."""
    return [retained(topic, b"") for topic in topics]
