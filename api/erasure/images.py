"""Removes the images of erased recognitions from S3."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from analytics_sql.erased_images import ErasedImages
from api.erasure.models import RemovedImages
from api.image_store import ImageStore

_AT_ONCE = 500
_AGAIN_SECONDS = 600.0


class ErasedImageNotes(Protocol):
    """Where the images of erased recognitions are noted: in ClickHouse."""

    async def images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        """Return those of at most ``limit`` recognitions, of one owner or of all.

        The first noted first, from behind ``after``.
        """

    async def note_removed(self, images: tuple[ErasedImages, ...]) -> None:
        """Note that they are removed."""


@dataclass(frozen=True)
class _Page:
    """What came of some of the notes; ``last`` is the last of them, None where there were none."""

    images: RemovedImages
    last: ErasedImages | None
    is_full: bool


class ErasedImageRemoval:
    """Removes what is noted. Several processes may do so at once."""

    def __init__(
        self,
        notes: ErasedImageNotes,
        images: ImageStore,
        *,
        at_once: int = _AT_ONCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the notes and the bucket; ``clock`` counts seconds."""
        self._notes = notes
        self._images = images
        self._at_once = at_once
        self._clock = clock
        self._after: ErasedImages | None = None
        self._are_refused = False
        self._begun = -math.inf

    async def sweep(self) -> int:
        """Remove the images of some hundreds of recognitions; how many images it was at most.

        What S3 refuses is in nobody's way: it is passed over, and tried again after ten minutes.

        Raises:
            PartAwayError: ClickHouse or S3 does not answer; what is noted is removed another time.
        """
        if self._clock() - self._begun > _AGAIN_SECONDS:
            self._begin_anew()
        page = await self._remove_some(None, self._after)
        self._after = page.last or self._after
        self._are_refused = self._are_refused or page.images.refused > 0
        if not page.is_full and not self._are_refused:
            self._begin_anew()
        return page.images.removed

    async def remove_all_of(self, owner_id: UUID) -> RemovedImages:
        """Remove all images of an owner that are noted, as far as S3 does not refuse it.

        Raises:
            TransientError: ClickHouse or S3 does not answer.
        """
        page = await self._remove_some(owner_id, None)
        images = page.images
        while page.is_full:
            page = await self._remove_some(owner_id, page.last)
            images += page.images
        return images

    def _begin_anew(self) -> None:
        self._after, self._are_refused, self._begun = None, False, self._clock()

    async def _remove_some(self, owner_id: UUID | None, after: ErasedImages | None) -> _Page:
        noted = await self._notes.images_to_remove(self._at_once, owner_id, after)
        # Each key once: a recognition may be noted twice, an image call's photo by several.
        keys = sorted({key for each in noted for key in each.keys})
        refused = await self._images.remove(keys) if keys else frozenset()
        if removed := tuple(each for each in noted if refused.isdisjoint(each.keys)):
            await self._notes.note_removed(removed)
        return _Page(
            RemovedImages(len(keys) - len(refused), len(refused)),
            last=noted[-1] if noted else None,
            is_full=len(noted) == self._at_once,
        )
