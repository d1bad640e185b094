"""An owner's cameras, keys and time zone in PostgreSQL: the only SQL of this resource."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from api.accounts.repository import require_owner
from api.analytics.models import Inventory
from api.db.tables import ApiKey, Camera


def inventory(session: Session, owner_id: UUID, now: datetime) -> Inventory:
    """Return the owner's time zone and cameras, and how many cameras and keys work ``now``.

    Raises:
        OwnerGoneError: the owner has been removed.
    """
    cameras = session.execute(
        select(Camera.id, Camera.name, Camera.enabled).where(
            Camera.owner_id == owner_id, Camera.confirmed
        )
    ).all()
    unexpired = or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > now)
    keys = (
        select(func.count())
        .select_from(ApiKey)
        .where(ApiKey.owner_id == owner_id, ApiKey.enabled, unexpired)
    )
    return Inventory(
        timezone=require_owner(session, owner_id).timezone,
        camera_names={camera.id: camera.name for camera in cameras},
        active_cameras=sum(camera.enabled for camera in cameras),
        active_api_keys=session.scalar(keys) or 0,
    )
