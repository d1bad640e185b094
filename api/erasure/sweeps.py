"""Sweeps of the API over what was erased or deleted: recognitions in memory, snapshots in S3."""

import asyncio
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, Protocol
from uuid import UUID

from analytics_sql.erasure import Erasures
from api.adapters.image_store import REMOVAL_BATCH_SIZE, ImageStore
from api.cameras.repository import existing_cameras
from api.db.database import Database
from api.errors import Dependency, DependencyUnavailableError
from api.live.recent import RecentRecognitions
from common.errors import PlatestreamError
from common.records.object_keys import SNAPSHOT_FOLDER, camera_of_snapshot

_SNAPSHOTS_EVERY: Final = timedelta(hours=1)


class ErasureList(Protocol):
    """The erasures noted in ClickHouse."""

    async def erasures(self) -> Erasures:
        """Return what was erased within thirty days."""


class ErasureWatch:
    """Applies erasures to this process's memory of new recognitions."""

    def __init__(self, noted: ErasureList, recent: RecentRecognitions) -> None:
        self._noted = noted
        self._recent = recent
        self._first = asyncio.Lock()

    async def ready(self) -> None:
        """Return once the list has been read since the process began; read it where it was not.

        A new process reads recognitions again that may have been erased meanwhile.

        Raises:
            DependencyUnavailableError: it cannot be read.
        """
        if self._recent.knows_erasures:
            return
        async with self._first:
            if self._recent.knows_erasures:
                return
            try:
                await self.sweep()
            except PlatestreamError as error:
                # Also where the table is not there yet; the log of the sweeps says so.
                raise DependencyUnavailableError(Dependency.SEARCH) from error

    async def sweep(self) -> int:
        """Forget what was erased since the last time, and return how many recognitions.

        Raises:
            PlatestreamError: ClickHouse does not answer, or has no such list; what was erased
                before stays forgotten.
        """
        return self._recent.apply_erasures(await self._noted.erasures())


class SnapshotRemoval:
    """Removes what the worker of a deleted camera left. Several processes may do so side by side.

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
        self._next = now + _SNAPSHOTS_EVERY
        return removed

    async def _without_camera(self, keys: Collection[str]) -> list[str]:
        cameras = {key: camera for key in keys if (camera := camera_of_snapshot(key)) is not None}
        existing = await self._existing(set(cameras.values()))
        return [key for key, camera in cameras.items() if camera not in existing]

    async def _existing(self, cameras: Collection[UUID]) -> frozenset[UUID]:
        return await self._database.run(lambda session: existing_cameras(session, cameras))
