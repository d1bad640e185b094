"""Removes images of erased recognitions, expired images and unused snapshots from S3.

Several processes can run these sweeps at the same time.
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
_RETRY_REFUSED_SECONDS = 600.0

_EVERY = timedelta(hours=1)
_MAX_PER_SWEEP = 5000
"""Maximum number of images per sweep, so that other sweeps are not delayed."""


@dataclass(frozen=True)
class RemovedImages:
    """Numbers of removed keys, including keys without an image, and of refused keys."""

    removed: int
    refused: int

    def __add__(self, other: "RemovedImages") -> "RemovedImages":
        """Return the sum."""
        return RemovedImages(self.removed + other.removed, self.refused + other.refused)


class ErasedImageStore(Protocol):
    """The images of erased recognitions, as recorded in ClickHouse."""

    async def list_images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        """Return the images of at most ``limit`` recognitions, of one account or all accounts.

        Records are returned oldest first, starting after ``after``.
        """

    async def mark_removed(self, images: tuple[ErasedImages, ...]) -> None:
        """Record that images were removed."""


@dataclass(frozen=True)
class _Page:
    """The outcome of a batch of records. ``last`` is None if the batch is empty."""

    images: RemovedImages
    last: ErasedImages | None
    is_full: bool


class ErasedImageRemoval:
    """Removes the images that are recorded for removal."""

    def __init__(
        self,
        image_records: ErasedImageStore,
        images: ImageStore,
        *,
        batch_size: int = _BATCH_SIZE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock`` returns the time in seconds."""
        self._image_records = image_records
        self._images = images
        self._batch_size = batch_size
        self._clock = clock
        self._after: ErasedImages | None = None
        self._are_refused = False
        self._begun = -math.inf

    async def sweep(self) -> int:
        """Remove the images of one batch of recognitions. Return the number of images.

        Images that S3 refuses to remove are skipped and retried after ten minutes.

        Raises:
            DependencyUnavailableError: ClickHouse or S3 is not responding. Recorded images are
                removed by a later sweep.
        """
        if self._clock() - self._begun > _RETRY_REFUSED_SECONDS:
            self._restart()
        page = await self._remove_some(None, self._after)
        self._after = page.last or self._after
        self._are_refused = self._are_refused or page.images.refused > 0
        if not page.is_full and not self._are_refused:
            self._restart()
        return page.images.removed

    async def delete_all_for_owner(self, owner_id: UUID) -> RemovedImages:
        """Remove all recorded images of an account. Return the numbers removed and refused.

        Raises:
            TransientError: ClickHouse or S3 is not responding.
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
        batch = await self._image_records.list_images_to_remove(self._batch_size, owner_id, after)
        # This is a set, because recognitions can be recorded twice and can share photos.
        keys = sorted({key for each in batch for key in each.keys})
        refused = await self._images.remove(keys) if keys else frozenset()
        if removed := tuple(each for each in batch if refused.isdisjoint(each.keys)):
            await self._image_records.mark_removed(removed)
        return _Page(
            RemovedImages(len(keys) - len(refused), len(refused)),
            last=batch[-1] if batch else None,
            is_full=len(batch) == self._batch_size,
        )


class ImageRetention:
    """Removes expired photos and crops, a whole day at a time."""

    def __init__(
        self, images: ImageStore, retention: timedelta | None, now_ms: Callable[[], int]
    ) -> None:
        """If ``retention`` is None, images never expire."""
        self._images = images
        self._retention = retention
        self._now_ms = now_ms
        self._next = datetime.min.replace(tzinfo=UTC)

    async def sweep(self) -> int:
        """Delete expired images, a few thousand per sweep. Return the number of images.

        A day's images are deleted when the day's last image has expired. Links to images expire
        earlier. After a complete sweep, the next sweep follows an hour later.

        Raises:
            DependencyUnavailableError: S3 is not responding.
        """
        now = datetime.fromtimestamp(self._now_ms() / 1000, UTC)
        if self._retention is None or now < self._next:
            return 0
        first_retained, removed = (now - self._retention).date(), 0
        async for folder in self._days_before(first_retained):
            with suppress(RemovalRefusedError):
                # The image store logs refusals. Refused images are retried in the next sweep.
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
    """Removes snapshots that the ingest worker of a deleted camera did not remove.

    A worker tries to remove the snapshot once, when it learns that the camera was deleted. The
    snapshot remains if S3 is unavailable then, or if no worker ran the camera.
    """

    def __init__(self, database: Database, images: ImageStore, now_ms: Callable[[], int]) -> None:
        self._database = database
        self._images = images
        self._now_ms = now_ms
        self._next = datetime.min.replace(tzinfo=UTC)

    async def sweep(self) -> int:
        """Once an hour, remove snapshots without a camera. Return the number of snapshots.

        Images that S3 refuses to remove are skipped and retried in the next sweep.

        Raises:
            DependencyUnavailableError: S3 or PostgreSQL is not responding.
        """
        now = datetime.fromtimestamp(self._now_ms() / 1000, UTC)
        if now < self._next:
            return 0
        removed = 0
        for folder in await self._images.folders(SNAPSHOT_FOLDER):
            # Snapshots are listed before cameras, because a camera exists before its snapshot.
            orphans = iter(await self._without_camera(await self._images.keys(folder)))
            while keys := list(islice(orphans, REMOVAL_BATCH_SIZE)):
                removed += len(keys) - len(await self._images.remove(keys))
        self._next = now + _EVERY
        return removed

    async def _without_camera(self, keys: Collection[str]) -> list[str]:
        cameras = {key: camera for key in keys if (camera := camera_of_snapshot(key)) is not None}
        existing = await self._database.run(
            lambda session: existing_cameras(session, set(cameras.values()))
        )
        return [key for key, camera in cameras.items() if camera not in existing]
