"""A fake ingest worker that claims cameras without opening their streams."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy import text

from api.db.database import Database
from common.records.cameras import CameraState, CameraStatus
from tests.integration.api.application import NOW_MS, Application


@asynccontextmanager
async def taking_cameras(application: Application) -> AsyncIterator[None]:
    """Claim every camera as soon as its row exists."""

    async def take_all() -> None:
        taken: set[UUID] = set()
        while True:
            for camera_id in await unconfirmed_cameras(application.database):
                if camera_id not in taken:
                    taken.add(camera_id)
                    status = camera_status(camera_id, CameraState.CONNECTING)
                    application.camera_statuses.post([(camera_id, status)])
            await asyncio.sleep(0.01)

    task = asyncio.create_task(take_all())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def unconfirmed_cameras(database: Database) -> list[UUID]:
    """Return the cameras that no worker has claimed yet."""
    query = text("SELECT id FROM cameras WHERE NOT confirmed")
    return await database.run(lambda session: list(session.scalars(query)))


def camera_status(camera_id: UUID, state: CameraState, revision: int = 1) -> CameraStatus:
    is_online = state is CameraState.ONLINE
    return CameraStatus(
        camera_id=camera_id,
        owner_id=uuid.uuid4(),
        state=state,
        revision=revision,
        worker="test",
        at_ms=NOW_MS,
        last_seen_ms=NOW_MS if is_online else None,
        frame_width_px=1920 if is_online else None,
        frame_height_px=1080 if is_online else None,
    )
