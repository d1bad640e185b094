"""Removes the images of erased recognitions from S3."""

from typing import Protocol
from uuid import UUID

from analytics_sql.erased_images import ErasedImages
from api.image_store import ImageStore

_AT_ONCE = 500


class ErasedImageNotes(Protocol):
    """Where the images of erased recognitions are noted: in ClickHouse."""

    async def images_to_remove(
        self, limit: int, owner_id: UUID | None = None
    ) -> tuple[ErasedImages, ...]:
        """Return those of at most ``limit`` recognitions, of one owner or of all."""

    async def note_removed(self, images: tuple[ErasedImages, ...]) -> None:
        """Note that they are removed."""


class ErasedImageRemoval:
    """Removes what is noted. Several processes may do so at once."""

    def __init__(self, notes: ErasedImageNotes, images: ImageStore) -> None:
        """Take the notes and the bucket."""
        self._notes = notes
        self._images = images

    async def sweep(self) -> int:
        """Remove the images of some hundreds of recognitions; how many images it was at most.

        Raises:
            PartAwayError: ClickHouse or S3 does not answer; what is noted is removed another time.
        """
        return await self._remove_some(None)

    async def remove_all_of(self, owner_id: UUID) -> int:
        """Remove all images of an owner that are noted; how many it was at most.

        Raises:
            TransientError: ClickHouse or S3 does not answer.
        """
        removed = 0
        while some := await self._remove_some(owner_id):
            removed += some
        return removed

    async def _remove_some(self, owner_id: UUID | None) -> int:
        noted = await self._notes.images_to_remove(_AT_ONCE, owner_id)
        # Each key once: a recognition may be noted twice, an image call's photo by several.
        keys = sorted({key for each in noted for key in each.keys})
        if keys:
            await self._images.remove(keys)
            await self._notes.note_removed(noted)
        return len(keys)
