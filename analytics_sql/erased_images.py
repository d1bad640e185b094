"""Records images of erased recognitions in ClickHouse until they are removed from S3.

All recognitions of an image call share a photo. If one of these recognitions is erased, the photo
is removed. Then rows must not refer to the photo, even if the rows are written late or again.

All functions raise TransientError if ClickHouse is unavailable or busy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Final
from uuid import UUID

import msgspec

from analytics_sql.client import ClickHouseClient
from analytics_sql.rows import (
    TIME,
    UUIDS,
    Column,
    CropKey,
    PhotoKey,
    RecognitionRow,
    Table,
    columns_of,
    read_key,
    shared_fields,
)
from analytics_sql.traffic.analytics import OwnerSpan
from common.records.object_keys import STORED_WITHIN_MS, crop_key, photo_key
from common.records.recognitions import RecognitionSource


@dataclass(frozen=True, kw_only=True)
class ErasedImages:
    """The images of an erased recognition. A key is None if there is no such image.

    ``noted_ms`` (Unix ms, UTC) distinguishes several entries for the same recognition.
    """

    noted_ms: Annotated[int, Column(TIME, "noted_at")]
    user_id: Annotated[UUID, Column(UUIDS)]
    id: Annotated[UUID, Column(UUIDS)]
    photo_key: PhotoKey
    crop_key: CropKey

    @property
    def keys(self) -> tuple[str, ...]:
        """The S3 keys that are not None."""
        return tuple(key for key in (self.photo_key, self.crop_key) if key is not None)


def _table(removed: int) -> Table[ErasedImages]:
    flag = Column("UInt8", "removed", lambda _: removed)
    return Table("erased_images", (*columns_of(ErasedImages), flag))


STORED_BY_THEN_MS: Final = STORED_WITHIN_MS + 5 * 60_000
"""Time until no image of a recognition can be stored any more, with a margin for clocks and S3."""

_as_stored = shared_fields(ErasedImages, but=("noted_ms",))
_TO_REMOVE: Final = _table(removed=0)
_REMOVED: Final = _table(removed=1)


def images_of(row: RecognitionRow, noted_ms: int) -> tuple[ErasedImages, ErasedImages]:
    """Return two entries for a recognition's images, recorded at ``noted_ms`` (Unix ms, UTC).

    The second entry is due later, because an image that S3 rejected at first can still be stored.
    """
    fields = _as_stored(row)
    first = ErasedImages(noted_ms=noted_ms, **fields)
    return first, ErasedImages(noted_ms=noted_ms + STORED_BY_THEN_MS, **fields)


async def insert_erased_images(client: ClickHouseClient, images: Sequence[ErasedImages]) -> None:
    """Record images that must be removed from S3."""
    await client.insert(_TO_REMOVE, [each for each in images if each.keys])


async def mark_removed(client: ClickHouseClient, images: Sequence[ErasedImages]) -> None:
    """Record that images have been removed from S3."""
    await client.insert(_REMOVED, images)


async def list_images_to_remove(
    client: ClickHouseClient,
    limit: int,
    owner_id: UUID | None = None,
    after: ErasedImages | None = None,
) -> tuple[ErasedImages, ...]:
    """Return the images of at most ``limit`` recognitions that must still be removed.

    Without ``owner_id``, all accounts are searched. The oldest entry after ``after`` comes first.
    """
    given: dict[str, object] = {} if owner_id is None else {"user_id": owner_id}
    if after is not None:
        given |= {"after_ms": after.noted_ms, "after_user": after.user_id, "after_id": after.id}
    rows = await client.rows("erased_images", {"limit": limit, **given})
    return tuple(_images(*row) for row in rows)


def _images(noted_ms: int, user_id: UUID, recognition: UUID, photo: str, crop: str) -> ErasedImages:
    return ErasedImages(
        noted_ms=noted_ms,
        user_id=user_id,
        id=recognition,
        photo_key=read_key(photo, photo_key(user_id, recognition)),
        crop_key=read_key(crop, crop_key(user_id, recognition)),
    )


# ClickHouse accepts a request line of at most 1 MiB. An ID takes about 50 bytes.
_MAX_ROWS = 1000


def has_shared_photo(row: RecognitionRow) -> bool:
    """Return whether other recognitions can have the same photo."""
    return row.source is RecognitionSource.API and row.photo_key is not None


async def without_erased_photos(
    client: ClickHouseClient, rows: Sequence[RecognitionRow]
) -> list[RecognitionRow]:
    """Return the rows, with None as the key of each photo that is recorded as erased."""
    noted: set[str] = set()
    for first in range(0, len(rows), _MAX_ROWS):
        noted |= await _erased_photos(client, rows[first : first + _MAX_ROWS])
    return [_without_photo(row) if _photo(row) in noted else row for row in rows]


async def delete_erased_photos(client: ClickHouseClient, span: OwnerSpan) -> int:
    """Clear the keys of erased photos in the rows of a time range. Return the number of rows."""
    parameters = span.parameters()
    found = await client.count("rows_with_noted_photos", parameters)
    if found:
        await client.command("erase_noted_photos", parameters)
    return found


async def _erased_photos(client: ClickHouseClient, rows: Sequence[RecognitionRow]) -> set[str]:
    parameters = {
        "user_ids": list({row.user_id for row in rows}),
        "photos": list({_photo(row) for row in rows}),
    }
    return {str(photo) for (photo,) in await client.rows("noted_photos", parameters)}


def _without_photo(row: RecognitionRow) -> RecognitionRow:
    return msgspec.structs.replace(row, photo_key=None)


def _photo(row: RecognitionRow) -> str:
    """Return the ID in the photo's key, which is that of the image call's first recognition."""
    return PurePosixPath(row.photo_key or "").parent.name
