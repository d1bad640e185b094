"""Cameras as the rest of the service sees them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from api.cameras.subscriptions import Subscription
from contracts.cameras import CameraState
from contracts.frames import Zone


@dataclass(frozen=True)
class CameraValues:
    """What a client decides of a camera, as it is stored.

    ``identifier_derived`` tells that the identifier follows the stream address.
    """

    name: str
    location: str
    enabled: bool
    identifier: str
    identifier_derived: bool
    stream_url_encrypted: str
    stream_url_shown: str
    sample_fps: float | None
    min_plate_width_px: int
    zones: tuple[Zone, ...]
    timezone: str | None


@dataclass(frozen=True)
class CameraRow:
    """A camera as it is stored."""

    id: UUID
    owner_id: UUID
    revision: int
    values: CameraValues
    created_at: datetime
    subscription: Subscription = Subscription()


@dataclass(frozen=True)
class CameraCondition:
    """How a camera is doing, from what its ingest worker says."""

    state: CameraState
    last_seen_at: datetime | None = None
    last_error: str | None = None
    frame_width_px: int | None = None
    frame_height_px: int | None = None


@dataclass(frozen=True)
class CameraView:
    """What a reader is shown."""

    row: CameraRow
    condition: CameraCondition
