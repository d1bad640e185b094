"""Cameras that tests write directly to the database."""

import uuid
from uuid import UUID

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from api.accounts.service import create_owner
from api.cameras import repository
from api.cameras.repository import CameraValues
from api.db.engine import in_transaction


def values(name: str = "gate", identifier: str | None = None) -> CameraValues:
    """Return the values of a camera that no other test uses."""
    return CameraValues(
        name=name,
        location="",
        enabled=True,
        identifier=identifier or uuid.uuid4().hex,
        identifier_derived=False,
        stream_url_encrypted="sealed",
        stream_url_shown="rtsp://viewer:***@10.0.0.8/1",
        sample_fps=None,
        min_plate_width_px=0,
        zones=(),
        timezone=None,
    )


def insert_owner(engine: Engine) -> UUID:
    def work(session: Session) -> UUID:
        email = f"{uuid.uuid4().hex}@platestream.example"
        owner = create_owner(
            session, email=email, password="long enough", timezone="UTC", credits=0
        )
        return owner.id

    return in_transaction(engine, work)


def add_camera(engine: Engine, owner_id: UUID, name: str = "gate") -> UUID:
    """Insert a camera that counts as claimed by a worker, and return its ID."""

    def work(session: Session) -> UUID:
        row = repository.insert_camera(session, owner_id, values(name))
        assert repository.confirm_camera(session, row.id)
        return row.id

    return in_transaction(engine, work)


def rename_camera(engine: Engine, owner_id: UUID, camera_id: UUID, name: str) -> None:
    def work(session: Session) -> None:
        assert repository.find_camera(session, owner_id, camera_id, locks=True)
        repository.change_camera(session, camera_id, values(name))

    in_transaction(engine, work)


def remove_camera(engine: Engine, owner_id: UUID, camera_id: UUID) -> None:
    assert in_transaction(
        engine, lambda session: repository.delete_camera(session, owner_id, camera_id)
    )
