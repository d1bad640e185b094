"""Records of a camera: the configuration for its worker, and its status."""

from enum import StrEnum
from uuid import UUID

from common.records.codec import Record
from common.records.frames import Zone


class CameraConfig(Record, frozen=True, kw_only=True):
    """Record on config-cameras (compacted, key = camera ID; an empty value deletes the camera).

    ``stream_url_encrypted`` is decrypted by :class:`common.secrets.SecretBox`. ``revision``
    increases with each change of the camera. ``timezone`` is an IANA name, or None for the
    account's time zone. ``created_ms`` is Unix ms, UTC.
    """

    camera_id: UUID
    owner_id: UUID
    name: str
    stream_url_encrypted: str
    enabled: bool
    revision: int
    sample_fps: float | None = None
    min_plate_width_px: int = 0
    zones: tuple[Zone, ...] = ()
    identifier: str = ""
    location: str = ""
    timezone: str | None = None
    created_ms: int = 0


class CameraState(StrEnum):
    """Connection state of a camera."""

    CONNECTING = "connecting"
    ONLINE = "online"
    OFFLINE = "offline"
    DISABLED = "disabled"


class CameraStatus(Record, frozen=True, kw_only=True):
    """Record on camera-status (compacted, key = camera ID), sent on changes and every few seconds.

    ``revision`` is the configuration that the worker uses. ``last_error`` is a sentence for people,
    without passwords. ``decoder`` is the decoder of the last frame: ``software``, or the kind of a
    video device. Times are Unix ms, UTC.
    """

    camera_id: UUID
    owner_id: UUID
    state: CameraState
    revision: int
    worker: str
    at_ms: int
    last_seen_ms: int | None = None
    last_error: str | None = None
    frame_width_px: int | None = None
    frame_height_px: int | None = None
    decoder: str | None = None
