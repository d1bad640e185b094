"""Publishing all configuration again, for a topic that was lost."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.cameras.config import camera_config
from api.config_log.outbox import enqueue
from api.db.tables import Camera
from contracts.topics import CONFIG_CAMERAS


def republish_all(session: Session) -> int:
    """Put every camera into the outbox again and return how many.

    The rows are locked meanwhile, so that no change of a camera is overtaken by its older state.
    """
    cameras = session.scalars(select(Camera).order_by(Camera.id).with_for_update(read=True)).all()
    for camera in cameras:
        enqueue(session, CONFIG_CAMERAS, _key(camera.id), camera_config(camera))
    return len(cameras)


def _key(camera_id: UUID) -> str:
    return str(camera_id)
