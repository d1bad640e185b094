"""Removes images from S3: of erased recognitions, past their retention, of deleted cameras.

Several processes may do so at the same time.
"""

import math
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Protocol
from uuid import UUID

from analytics_sql.erased_images import ErasedImages
from api.adapters.image_store import REMOVAL_BATCH_SIZE, ImageStore, RemovalRefusedError
from api.cameras.repository import existing_cameras
from api.db.database import Database
from common.records.object_keys import (
    RECOGNITION_FOLDER,
    SNAPSHOT_FOLDER,
    camera_of_snapshot,
    day_of_folder,
)

_BATCH_SIZE = 500
_AGAIN_SECONDS = 600.0

_EVERY = timedelta(hours=1)
_MAX_PER_SWEEP = 5000
"""Images; other things wait for their turn to be swept. The next sweep goes on."""


@dataclass(frozen=True)
class RemovedImages:
    """Counts of keys that are free now (also where no image was left), and of the others."""

    removed: int
    refused: int

    def __add__(self, other: "RemovedImages") -> "RemovedImages":
        """Return both together."""
        return RemovedImages(self.removed + other.removed, self.refused + other.refused)


class ErasedImageStore(Protocol):
    """The images of erased recognitions as ClickHouse notes them."""

    async def list_images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        """Return those of at most ``limit`` recognitions, of one owner or of all.

        The first noted first, from behind ``after``.
        """

    async def mark_removed(self, images: tuple[ErasedImages, ...]) -> None:
        """Note that they are removed."""


@dataclass(frozen=True)
class _Page:
    """The outcome of a batch of notes; ``last`` is the last of them, None where there were none."""

    images: RemovedImages
    last: ErasedImages | None
    is_full: bool


class ErasedImageRemoval:
    """Removes what is noted."""

    def __init__(
        self,
        image_records: ErasedImageStore,
        images: ImageStore,
        *,
        batch_size: int = _BATCH_SIZE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock`` counts seconds."""
        self._image_records = image_records
        self._images = images
        self._batch_size = batch_size
        self._clock = clock
        self._after: ErasedImages | None = None
        self._are_refused = False
        self._begun = -math.inf

    async def sweep(self) -> int:
        """Remove the images of some hundreds of recognitions; return how many were removed.

        What S3 refuses is in nobody's way: it is passed over, and tried again after ten minutes.

        Raises:
            DependencyUnavailableError: ClickHouse or S3 does not answer; what is noted is removed
            another time.
        """
        if self._clock() - self._begun > _AGAIN_SECONDS:
            self._restart()
        page = await self._remove_some(None, self._after)
        self._after = page.last or self._after
        self._are_refused = self._are_refused or page.images.refused > 0
        if not page.is_full and not self._are_refused:
            self._restart()
        return page.images.removed

    async def delete_all_for_owner(self, owner_id: UUID) -> RemovedImages:
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

    def _restart(self) -> None:
        self._after, self._are_refused, self._begun = None, False, self._clock()

    async def _remove_some(self, owner_id: UUID | None, after: ErasedImages | None) -> _Page:
        noted = await self._image_records.list_images_to_remove(self._batch_size, owner_id, after)
        # Each key once: a recognition may be noted twice, an image call's photo by several.
        keys = sorted({key for each in noted for key in each.keys})
        refused = await self._images.remove(keys) if keys else frozenset()
        if removed := tuple(each for each in noted if refused.isdisjoint(each.keys)):
            await self._image_records.mark_removed(removed)
        return _Page(
            RemovedImages(len(keys) - len(refused), len(refused)),
            last=noted[-1] if noted else None,
            is_full=len(noted) == self._batch_size,
        )


class ImageRetention:
    """Removes whole days of photos and crops."""

    def __init__(
        self, images: ImageStore, retention: timedelta | None, now_ms: Callable[[], int]
    ) -> None:
        """``retention`` None keeps images for ever."""
        self._images = images
        self._retention = retention
        self._now_ms = now_ms
        self._next = datetime.min.replace(tzinfo=UTC)

    async def sweep(self) -> int:
        """Delete what is past the retention, some thousands a sweep, and return how many.

        A day's images go when the last of them is past it; links to the others end before. Once
        nothing is left to delete, it looks for more after an hour.

        Raises:
            DependencyUnavailableError: S3 does not answer.
        """
        now = datetime.fromtimestamp(self._now_ms() / 1000, UTC)
        if self._retention is None or now < self._next:
            return 0
        first_retained, removed = (now - self._retention).date(), 0
        async for folder in self._days_before(first_retained):
            with suppress(RemovalRefusedError):
                # Said by the store; other days go all the same, and these are tried with the next.
                while some := await self._images.remove_some(folder):
                    removed += some
                    if removed >= _MAX_PER_SWEEP:
                        return removed
        self._next = now + _EVERY
        return removed

    async def _days_before(self, first_retained: date) -> AsyncIterator[str]:
        for owner in await self._images.folders(RECOGNITION_FOLDER):
            for year in await self._images.folders(owner):
                for month in await self._images.folders(year):
                    for folder in await self._images.folders(month):
                        day = day_of_folder(folder)
                        if day is not None and day < first_retained:
                            yield folder


class SnapshotRemoval:
    """Removes what the worker of a deleted camera left.

    A worker removes a camera's snapshot once, when it hears that the camera is deleted. Where S3 is
    away then, or no worker has the camera, it stays.
    """

    def __init__(self, database: Database, images: ImageStore, now_ms: Callable[[], int]) -> None:
        self._database = database
        self._images = images
        self._now_ms = now_ms
        self._next = datetime.min.replace(tzinfo=UTC)

    async def sweep(self) -> int:
        """Remove snapshots that belong to no camera, once an hour, and return how many.

        What S3 refuses is in nobody's way, and is tried again with the next.

        Raises:
            DependencyUnavailableError: S3 or PostgreSQL does not answer.
        """
        now = datetime.fromtimestamp(self._now_ms() / 1000, UTC)
        if now < self._next:
            return 0
        removed = 0
        for folder in await self._images.folders(SNAPSHOT_FOLDER):
            # First what is stored, then who is there: a camera is there before its snapshot.
            left = iter(await self._without_camera(await self._images.keys(folder)))
            while keys := list(islice(left, REMOVAL_BATCH_SIZE)):
                removed += len(keys) - len(await self._images.remove(keys))
        self._next = now + _EVERY
        return removed

    async def _without_camera(self, keys: Collection[str]) -> list[str]:
        cameras = {key: camera for key in keys if (camera := camera_of_snapshot(key)) is not None}
        existing = await self._database.run(
            lambda session: existing_cameras(session, set(cameras.values()))
        )
        return [key for key, camera in cameras.items() if camera not in existing]
