"""Caches the latest status that an ingest worker has reported for each camera.

Only one event loop reads and writes the cache.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from api.cameras.repository import CameraCondition, CameraRow
from api.validation.fields import from_unix_ms_if_any
from common.records.cameras import CameraState, CameraStatus

_SILENT = "No ingest worker has reported on this camera recently."


class CameraStatusCache:
    """In-memory cache of the latest status of each camera."""

    def __init__(self) -> None:
        self._latest: dict[UUID, CameraStatus] = {}
        self._waiters: dict[UUID, set[asyncio.Future[None]]] = defaultdict(set)

    def latest(self, camera_id: UUID) -> CameraStatus | None:
        """Return the latest status of a camera, or None if no status has been reported."""
        return self._latest.get(camera_id)

    def post(self, updates: Iterable[tuple[UUID, CameraStatus | None]]) -> None:
        """Apply updates in the order of the topic. A status of None removes the camera."""
        for camera_id, status in updates:
            if status is None:
                self._latest.pop(camera_id, None)
            else:
                self._latest[camera_id] = status
            for waiter in self._waiters.get(camera_id, ()):
                if not waiter.done():
                    waiter.set_result(None)

    async def wait_until_running(self, camera_id: UUID, revision: int, seconds: float) -> bool:
        """Return True once a worker uses ``revision`` or later, or False after ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                while not self._is_assigned(camera_id, revision):
                    await self._update_of(camera_id)
        except TimeoutError:
            return False
        return True

    def _is_assigned(self, camera_id: UUID, revision: int) -> bool:
        status = self._latest.get(camera_id)
        return status is not None and status.revision >= revision

    async def _update_of(self, camera_id: UUID) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[camera_id].add(waiter)
        try:
            await waiter
        finally:
            self._waiters[camera_id].discard(waiter)
            if not self._waiters[camera_id]:
                del self._waiters[camera_id]


def condition_of(
    camera: CameraRow, status: CameraStatus | None, *, now_ms: int, stale_ms: float
) -> CameraCondition:
    """Return the state of a camera as shown in responses.

    A camera that is not enabled is always shown as disabled. A status of an older revision means
    that the worker will reconnect. A camera whose status is older than ``stale_ms`` is offline.
    """
    if status is None:
        return CameraCondition(
            CameraState.CONNECTING if camera.values.enabled else CameraState.DISABLED
        )
    state, error = status.state, status.last_error
    if not camera.values.enabled:
        state, error = CameraState.DISABLED, None
    elif now_ms - status.at_ms > stale_ms:
        state, error = CameraState.OFFLINE, _SILENT
    elif status.revision < camera.revision or state is CameraState.DISABLED:
        state = CameraState.CONNECTING
    return CameraCondition(
        state=state,
        last_seen_at=from_unix_ms_if_any(status.last_seen_ms),
        last_error=error,
        frame_width_px=status.frame_width_px,
        frame_height_px=status.frame_height_px,
        decoder=status.decoder,
    )
