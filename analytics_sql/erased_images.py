"""Images of erased recognitions, noted in ClickHouse until they are removed from S3."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors
from analytics_sql.inserts import insert_values
from analytics_sql.rows import RecognitionRow, read_key, stored_key
from analytics_sql.statements import query_asking_for
from contracts.object_keys import crop_key, photo_key

_COLUMN_TYPES = {
    "noted_at": "DateTime64(3, 'UTC')",
    "user_id": "UUID",
    "id": "UUID",
    "photo_key": "String",
    "crop_key": "String",
    "removed": "UInt8",
}


@dataclass(frozen=True, kw_only=True)
class ErasedImages:
    """The images of one erased recognition; a key is None where there is none.

    ``noted_ms`` (Unix ms, UTC) tells one note from a later one of the same recognition.
    """

    noted_ms: int
    user_id: UUID
    id: UUID
    photo_key: str | None
    crop_key: str | None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that there are."""
        return tuple(key for key in (self.photo_key, self.crop_key) if key is not None)


def images_of(row: RecognitionRow, noted_ms: int) -> ErasedImages:
    """Return the note of a recognition's images, made at ``noted_ms`` (Unix ms, UTC)."""
    return ErasedImages(
        noted_ms=noted_ms,
        user_id=row.user_id,
        id=row.id,
        photo_key=row.photo_key,
        crop_key=row.crop_key,
    )


async def note_images(client: AsyncClient, images: Sequence[ErasedImages]) -> None:
    """Note images that are to be removed.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    await _write(client, [each for each in images if each.keys], removed=0)


async def note_removed(client: AsyncClient, images: Sequence[ErasedImages]) -> None:
    """Note that images are removed.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    await _write(client, images, removed=1)


async def images_to_remove(
    client: AsyncClient,
    limit: int,
    user_id: UUID | None = None,
    after: ErasedImages | None = None,
) -> tuple[ErasedImages, ...]:
    """Return the images of at most ``limit`` recognitions that are still to be removed.

    Those of one owner, or of all; the first noted first, from behind ``after``.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    given: dict[str, object] = {} if user_id is None else {"user_id": user_id}
    if after is not None:
        given |= {"after_ms": after.noted_ms, "after_user": after.user_id, "after_id": after.id}
    with clickhouse_errors():
        result = await client.query(
            query_asking_for("erased_images", frozenset(given)),
            parameters={"limit": limit, **given},
        )
    return tuple(_images(*row) for row in result.result_rows)


async def _write(client: AsyncClient, images: Sequence[ErasedImages], *, removed: int) -> None:
    rows = [(*_values(each), removed) for each in images]
    await insert_values(client, "erased_images", _COLUMN_TYPES, rows)


def _values(images: ErasedImages) -> tuple[object, ...]:
    owner, recognition = images.user_id, images.id
    return (
        images.noted_ms,
        owner,
        recognition,
        stored_key(images.photo_key, photo_key(owner, recognition)),
        stored_key(images.crop_key, crop_key(owner, recognition)),
    )


def _images(noted_ms: int, user_id: UUID, recognition: UUID, photo: str, crop: str) -> ErasedImages:
    return ErasedImages(
        noted_ms=noted_ms,
        user_id=user_id,
        id=recognition,
        photo_key=read_key(photo, photo_key(user_id, recognition)),
        crop_key=read_key(crop, crop_key(user_id, recognition)),
    )
