"""The records of pictures: an image of a pass, and what the stage notes of each camera. Pure."""

from dataclasses import dataclass
from uuid import UUID

from common.records.codec import Record
from common.records.ids import NIL_UUID
from common.records.recognitions import Recognition
from streams.mqtt.settings import MqttPicture


class PassPicture(Record, frozen=True, kw_only=True):
    """The image of a pass. ``published_ms`` is when the pass was told of; both are Unix ms, UTC."""

    key: str
    kind: MqttPicture
    captured_ms: int
    published_ms: int


class CameraPicture(Record, frozen=True, kw_only=True):
    """In the pictures table: what a camera's topic is to show, and what it may show now.

    ``partition`` is that of the camera's messages.
    """

    owner_id: UUID
    camera_id: UUID
    partition: int
    topic: str
    wanted: PassPicture | None = None
    shown: PassPicture | None = None

    @property
    def newest_ms(self) -> int:
        """When the newest pass of both was captured, Unix ms."""
        return max((each.captured_ms for each in (self.wanted, self.shown) if each), default=0)


@dataclass(frozen=True, kw_only=True)
class NewPass:
    """A recognition, as it came from Kafka."""

    recognition: Recognition
    partition: int
    published_ms: int


def picture_of(kind: MqttPicture, one: NewPass) -> PassPicture | None:
    """Return the image of a pass that is shown, None where it names none or is no camera's."""
    recognition = one.recognition
    keys = {MqttPicture.CROP: recognition.crop_key, MqttPicture.PHOTO: recognition.photo_key}
    key = keys.get(kind)
    if key is None or recognition.camera_id == NIL_UUID:
        return None
    return PassPicture(
        key=key, kind=kind, captured_ms=recognition.captured_ms, published_ms=one.published_ms
    )
