"""Derives the deterministic keys of objects in S3, so that a replay overwrites its objects."""

from datetime import UTC, date, datetime
from functools import lru_cache
from uuid import UUID

from common.records.ids import uuid_unix_ms

_DAY_MS = 86_400_000
_TIME_ORDERED = 8
"""The UUID version of recognition IDs, which begin with a time."""

STORED_WITHIN_MS = 30 * 60_000
"""Maximum time between publishing a recognition and storing its images."""

RECOGNITION_FOLDER = "recognitions/"
"""Folder of recognition images, with subfolders owner, year, month, day, recognition."""

SNAPSHOT_FOLDER = "snapshots/"
"""Folder of snapshots, with subfolders owner, camera."""


@lru_cache(maxsize=1024)
def _day_path(day: int) -> str:
    """Return the path of a day, given in days since 1970. Cached, because lists repeat days."""
    return datetime.fromtimestamp(day * _DAY_MS / 1000, tz=UTC).strftime("%Y/%m/%d")


def _folder(owner_id: UUID, recognition: UUID) -> str:
    if recognition.version != _TIME_ORDERED:
        raise ValueError(f"not the ID of a recognition: {recognition}")
    day = _day_path(uuid_unix_ms(recognition) // _DAY_MS)
    return f"{RECOGNITION_FOLDER}{owner_id}/{day}/{recognition}"


def day_of_folder(folder: str) -> date | None:
    """Return the day (UTC) of an image folder, ``recognitions/owner/YYYY/MM/DD/``, or None."""
    try:
        return date.fromisoformat("-".join(folder.split("/")[2:5]))
    except ValueError:
        return None


def photo_key(owner_id: UUID, recognition: UUID) -> str:
    """Return the key of a recognition's full frame (JPEG)."""
    return uploaded_photo_key(owner_id, recognition, "jpg")


def uploaded_photo_key(owner_id: UUID, recognition: UUID, extension: str) -> str:
    """Return the key of the unchanged image of an image call (``jpg`` or ``png``)."""
    return f"{_folder(owner_id, recognition)}/photo.{extension}"


def crop_key(owner_id: UUID, recognition: UUID) -> str:
    """Return the key of a recognition's plate crop (JPEG)."""
    return f"{_folder(owner_id, recognition)}/crop.jpg"


def snapshot_key(owner_id: UUID, camera_id: UUID) -> str:
    """Return the key of a camera's latest snapshot (JPEG; user metadata width, height in px)."""
    return f"{SNAPSHOT_FOLDER}{owner_id}/{camera_id}.jpg"


def camera_of_snapshot(key: str) -> UUID | None:
    """Return the camera whose snapshot has this key, or None for any other key."""
    name, _, extension = key.rpartition("/")[2].partition(".")
    try:
        return UUID(name) if extension == "jpg" else None
    except ValueError:
        return None
