"""Keys of the objects in S3. Deterministic: a replay overwrites an object with itself."""

from datetime import UTC, datetime
from uuid import UUID

from contracts.ids import uuid_unix_ms


def _day(identifier: UUID) -> str:
    return datetime.fromtimestamp(uuid_unix_ms(identifier) / 1000, tz=UTC).strftime("%Y/%m/%d")


def photo_key(owner_id: UUID, recognition: UUID) -> str:
    """Return the key of a recognition's full frame (JPEG)."""
    return f"recognitions/{owner_id}/{_day(recognition)}/{recognition}/photo.jpg"


def uploaded_photo_key(owner_id: UUID, recognition: UUID, extension: str) -> str:
    """Return the key of the picture of an image call (``jpg`` or ``png``), kept as it came."""
    return f"recognitions/{owner_id}/{_day(recognition)}/{recognition}/photo.{extension}"


def crop_key(owner_id: UUID, recognition: UUID) -> str:
    """Return the key of a recognition's plate crop (JPEG)."""
    return f"recognitions/{owner_id}/{_day(recognition)}/{recognition}/crop.jpg"


def snapshot_key(owner_id: UUID, camera_id: UUID) -> str:
    """Return the key of a camera's latest snapshot (JPEG; user metadata width, height in px)."""
    return f"snapshots/{owner_id}/{camera_id}.jpg"
