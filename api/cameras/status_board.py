"""What the ingest workers last said of each camera, in the memory of this process.

Lives on one event loop: only that loop writes and reads it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from contracts.cameras import CameraStatus


class StatusBoard:
    """The latest status of each camera."""

    def __init__(self) -> None:
        """Begin empty."""
        self._latest: dict[UUID, CameraStatus] = {}
        self._waiters: dict[UUID, set[asyncio.Future[None]]] = defaultdict(set)

    def latest(self, camera_id: UUID) -> CameraStatus | None:
        """Return what was last heard of a camera."""
        return self._latest.get(camera_id)

    def post(self, news: Iterable[tuple[UUID, CameraStatus | None]]) -> None:
        """Take news in the order of the topic; None forgets a camera."""
        for camera_id, status in news:
            if status is None:
                self._latest.pop(camera_id, None)
            else:
                self._latest[camera_id] = status
            for waiter in self._waiters.get(camera_id, ()):
                if not waiter.done():
                    waiter.set_result(None)

    async def wait_until_taken(self, camera_id: UUID, revision: int, seconds: float) -> bool:
        """Return True once a worker acts on ``revision`` or later, False after ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                while not self._is_taken(camera_id, revision):
                    await self._news_of(camera_id)
        except TimeoutError:
            return False
        return True

    def _is_taken(self, camera_id: UUID, revision: int) -> bool:
        status = self._latest.get(camera_id)
        return status is not None and status.revision >= revision

    async def _news_of(self, camera_id: UUID) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[camera_id].add(waiter)
        try:
            await waiter
        finally:
            self._waiters[camera_id].discard(waiter)
            if not self._waiters[camera_id]:
                del self._waiters[camera_id]
