"""Stores cameras in PostgreSQL, together with the records of changes for the ingest workers.

A camera's subscription costs credits per 30 days. Deleting a camera refunds the unused share.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from api.credits import repository as credits_repository
from api.credits.repository import EntryKind, Reservation
from api.db.records import camera_config
from api.db.tables import Camera, newest_first
from api.outbox.outbox import enqueue
from common.records.cameras import CameraState
from common.records.frames import Zone
from common.records.topics import CONFIG_CAMERAS

PERIOD = timedelta(days=30)
_MICROSECOND = timedelta(microseconds=1)

_REASON = "camera subscription"
_BATCH_SIZE = 100


@dataclass(frozen=True)
class Subscription:
    """The last payment for a camera, and the end of the paid period (None if never paid)."""

    credits: int = 0
    paid_until: datetime | None = None

    def is_paid(self, now: datetime) -> bool:
        """Return whether the camera is paid for at ``now``."""
        return self.paid_until is not None and self.paid_until > now

    def unused_credits(self, now: datetime) -> int:
        """Return the share of the credits for the remaining time, rounded down."""
        if self.paid_until is None or self.paid_until <= now:
            return 0
        left = min(self.paid_until - now, PERIOD)
        return self.credits * (left // _MICROSECOND) // (PERIOD // _MICROSECOND)


def renewed(subscription: Subscription, price: int, now: datetime) -> Subscription:
    """Return the subscription after ``price`` credits were paid for another period.

    The new period follows the last period, or starts now if it would otherwise already be over.
    """
    since = subscription.paid_until
    start = since if since is not None and since + PERIOD > now else now
    return Subscription(price, start + PERIOD)


def reserve_first(
    session: Session, owner_id: UUID, price: int, lease: timedelta
) -> Reservation | None:
    """Reserve the price of a new camera. Return None if the balance is too low."""
    return credits_repository.reserve(session, owner_id, price, datetime.now(UTC) + lease)


def settle_first(session: Session, camera_id: UUID, reservation: Reservation) -> bool:
    """Debit the reserved price of a camera. Return False if the reservation has been released."""
    if credits_repository.settle(session, reservation, _REASON) is None:
        return False
    camera = session.get_one(Camera, camera_id)
    _set(camera, renewed(Subscription(), reservation.amount, datetime.now(UTC)))
    return True


def pay(session: Session, camera_id: UUID, price: int) -> bool:
    """Pay for another period of a locked camera. Return False if the balance is too low."""
    camera = session.get_one(Camera, camera_id)
    after = credits_repository.insert_entry(
        session, camera.owner_id, delta=-price, kind=EntryKind.DEBIT, reason=_REASON
    )
    if after is None:
        return False
    current = Subscription(camera.subscription_credits, camera.paid_until)
    _set(camera, renewed(current, price, datetime.now(UTC)))
    return True


def refund_unused(session: Session, owner_id: UUID, subscription: Subscription) -> int:
    """Refund the unused credits of a deleted camera's subscription, and return their number."""
    unused = subscription.unused_credits(datetime.now(UTC))
    if unused:
        credits_repository.insert_entry(
            session,
            owner_id,
            delta=unused,
            kind=EntryKind.REFUND,
            reason=f"{_REASON}: refund for unused days",
        )
    return unused


def renew_due(session: Session, price: int) -> int:
    """Pay for cameras whose paid period has ended. Disable cameras that cannot be paid for.

    Return the number of cameras whose period had ended.
    """
    now = datetime.now(UTC)
    due = session.scalars(
        select(Camera)
        .where(
            Camera.confirmed,
            Camera.enabled,
            or_(Camera.paid_until.is_(None), Camera.paid_until <= now),
        )
        .order_by(Camera.owner_id, Camera.id)
        .limit(_BATCH_SIZE)
        .with_for_update(skip_locked=True)
    ).all()
    for camera in due:
        if not pay(session, camera.id, price):
            _disable(session, camera)
    return len(due)


def _disable(session: Session, camera: Camera) -> None:
    camera.enabled = False
    camera.revision += 1
    camera.updated_at = datetime.now(UTC)
    session.flush()
    enqueue(session, CONFIG_CAMERAS, str(camera.id), camera_config(camera))


def _set(camera: Camera, subscription: Subscription) -> None:
    camera.subscription_credits = subscription.credits
    camera.paid_until = subscription.paid_until


@dataclass(frozen=True)
class CameraValues:
    """The fields of a camera that clients can set, in stored form.

    If ``identifier_derived``, the identifier is derived from the stream URL and changes with it.
    """

    name: str
    location: str
    enabled: bool
    identifier: str
    identifier_derived: bool
    stream_url_encrypted: str
    stream_url_shown: str
    sample_fps: float | None
    min_plate_width_px: int
    zones: tuple[Zone, ...]
    timezone: str | None


@dataclass(frozen=True)
class CameraRow:
    """A stored camera."""

    id: UUID
    owner_id: UUID
    revision: int
    values: CameraValues
    created_at: datetime
    subscription: Subscription = Subscription()


@dataclass(frozen=True)
class CameraCondition:
    """The state of a camera, as reported by the camera's ingest worker."""

    state: CameraState
    last_seen_at: datetime | None = None
    last_error: str | None = None
    frame_width_px: int | None = None
    frame_height_px: int | None = None
    decoder: str | None = None


@dataclass(frozen=True)
class CameraView:
    """A camera as shown in responses, with the stored row and the current condition."""

    row: CameraRow
    condition: CameraCondition


class DuplicateIdentifierError(Exception):
    """The account has a camera with this identifier."""


def list_cameras(session: Session, owner_id: UUID | None = None) -> list[CameraRow]:
    """Return the cameras of an account, or of all accounts if None, newest first."""
    found = session.scalars(newest_first(Camera, owner_id).where(Camera.confirmed))
    return [_row(camera) for camera in found]


def existing_cameras(session: Session, camera_ids: Collection[UUID]) -> frozenset[UUID]:
    """Return the IDs in ``camera_ids`` that exist in any account, even if not confirmed."""
    return frozenset(session.scalars(select(Camera.id).where(Camera.id.in_(camera_ids))))


def find_camera(
    session: Session, owner_id: UUID, camera_id: UUID, *, locks: bool = False
) -> CameraRow | None:
    """Return a camera of an account, or None if it does not exist.

    If ``locks``, lock the camera until the transaction ends.
    """
    of_account = Camera.id == camera_id, Camera.owner_id == owner_id
    wanted = select(Camera).where(*of_account, Camera.confirmed)
    camera = session.scalar(wanted.with_for_update() if locks else wanted)
    return None if camera is None else _row(camera)


def count_cameras(session: Session, owner_id: UUID) -> int:
    """Return the number of an account's cameras, including unconfirmed cameras."""
    owned = select(func.count()).select_from(Camera).where(Camera.owner_id == owner_id)
    return session.scalar(owned) or 0


def frames_per_second(session: Session, owner_id: UUID, default: float) -> float:
    """Return the total sampling rate of an account's enabled cameras, in frames per second.

    ``default`` is the sampling rate of cameras without their own setting.
    """
    total = select(func.sum(func.coalesce(Camera.sample_fps, default)))
    found = session.scalar(total.where(Camera.owner_id == owner_id, Camera.enabled))
    return float(found or 0)


def insert_camera(session: Session, owner_id: UUID, values: CameraValues) -> CameraRow:
    """Insert and publish a camera. It stays hidden until :func:`confirm_camera` is called.

    Raises:
        DuplicateIdentifierError: the account has a camera with this identifier.
    """
    camera = Camera(owner_id=owner_id, **_columns(values))
    session.add(camera)
    return _written(session, camera)


def confirm_camera(session: Session, camera_id: UUID) -> bool:
    """Make a camera visible. Return False if a sweep has deleted the camera."""
    confirmed = session.scalar(
        update(Camera).where(Camera.id == camera_id).values(confirmed=True).returning(Camera.id)
    )
    return confirmed is not None


def change_camera(session: Session, camera_id: UUID, values: CameraValues) -> CameraRow:
    """Write ``values`` to a locked camera, publish the camera, and return it.

    Raises:
        DuplicateIdentifierError: the account has another camera with this identifier.
    """
    camera = session.get_one(Camera, camera_id)
    for column, value in _columns(values).items():
        setattr(camera, column, value)
    camera.revision += 1
    camera.updated_at = datetime.now(UTC)
    return _written(session, camera)


def delete_camera(session: Session, owner_id: UUID, camera_id: UUID) -> Subscription | None:
    """Delete a camera of an account and publish the deletion.

    Return the camera's subscription, or None if the camera does not exist.
    """
    row = find_camera(session, owner_id, camera_id, locks=True)
    if row is None or not _delete(session, Camera.id == camera_id):
        return None
    return row.subscription


def delete_unconfirmed_camera(session: Session, camera_id: UUID) -> None:
    """Delete a camera, unless an ingest worker has accepted it."""
    _delete(session, Camera.id == camera_id, ~Camera.confirmed)


def delete_stale_unconfirmed(session: Session, before: datetime) -> int:
    """Delete unconfirmed cameras that were created before ``before``, and return their number."""
    return _delete(session, ~Camera.confirmed, Camera.created_at < before)


def delete_owner_cameras(session: Session, owner_id: UUID) -> int:
    """Delete all cameras of an account, publish the deletions, and return their number."""
    return _delete(session, Camera.owner_id == owner_id)


def _delete(session: Session, *conditions: Any) -> int:
    deleted = session.scalars(delete(Camera).where(*conditions).returning(Camera.id)).all()
    for camera_id in deleted:
        enqueue(session, CONFIG_CAMERAS, str(camera_id), None)
    return len(deleted)


def _written(session: Session, camera: Camera) -> CameraRow:
    """Write the row of a camera to the database, then the record to the outbox."""
    try:
        session.flush()
    except IntegrityError as error:
        constraint = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
        if constraint == "uq_cameras_owner_id_identifier":
            raise DuplicateIdentifierError from error
        raise
    session.refresh(camera)
    enqueue(session, CONFIG_CAMERAS, str(camera.id), camera_config(camera))
    return _row(camera)


def _columns(values: CameraValues) -> dict[str, Any]:
    """Return the values by column name. Columns are named like the fields; zones are JSON."""
    columns = {field.name: getattr(values, field.name) for field in fields(values)}
    return {**columns, "zones": msgspec.to_builtins(values.zones)}


def _row(camera: Camera) -> CameraRow:
    zones = msgspec.convert(camera.zones, tuple[Zone, ...])
    columns = {field.name: getattr(camera, field.name) for field in fields(CameraValues)}
    return CameraRow(
        id=camera.id,
        owner_id=camera.owner_id,
        revision=camera.revision,
        values=CameraValues(**{**columns, "zones": zones}),
        created_at=camera.created_at,
        subscription=Subscription(camera.subscription_credits, camera.paid_until),
    )
