"""Subscriptions of cameras in PostgreSQL: paid at first, paid again, given back."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from api.cameras.config import camera_config
from api.cameras.subscriptions import Subscription, renewed
from api.config_log.outbox import enqueue
from api.credits import repository as credits_repository
from api.credits.models import EntryKind, Reservation
from api.db.tables import Camera
from contracts.topics import CONFIG_CAMERAS

_REASON = "camera subscription"
_AT_A_TIME = 100


def reserve_first(
    session: Session, owner_id: UUID, price: int, lease: timedelta
) -> Reservation | None:
    """Hold back what a new camera costs; None where the balance does not cover it."""
    return credits_repository.reserve(session, owner_id, price, datetime.now(UTC) + lease)


def settle_first(session: Session, camera_id: UUID, reservation: Reservation) -> bool:
    """Take what was held back for a camera; False where it was released meanwhile."""
    if credits_repository.settle(session, reservation, _REASON) is None:
        return False
    camera = session.get_one(Camera, camera_id)
    _note(camera, renewed(Subscription(), reservation.amount, datetime.now(UTC)))
    return True


def pay(session: Session, camera_id: UUID, price: int) -> bool:
    """Pay a locked camera for another period; False where the balance does not cover it."""
    camera = session.get_one(Camera, camera_id)
    after = credits_repository.add_entry(
        session, camera.owner_id, delta=-price, kind=EntryKind.DEBIT, reason=_REASON
    )
    if after is None:
        return False
    current = Subscription(camera.subscription_credits, camera.paid_until)
    _note(camera, renewed(current, price, datetime.now(UTC)))
    return True


def give_back_unused(session: Session, owner_id: UUID, subscription: Subscription) -> int:
    """Give back the unused share of a deleted camera's subscription, and return it."""
    unused = subscription.unused_credits(datetime.now(UTC))
    if unused:
        credits_repository.add_entry(
            session,
            owner_id,
            delta=unused,
            kind=EntryKind.REFUND,
            reason=f"{_REASON}, unused share",
        )
    return unused


def renew_due(session: Session, price: int) -> int:
    """Pay for cameras whose period has ended; one that cannot be paid is switched off.

    Return how many there were.
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
        .limit(_AT_A_TIME)
        .with_for_update(skip_locked=True)
    ).all()
    for camera in due:
        if not pay(session, camera.id, price):
            _switch_off(session, camera)
    return len(due)


def _switch_off(session: Session, camera: Camera) -> None:
    camera.enabled = False
    camera.revision += 1
    camera.updated_at = datetime.now(UTC)
    session.flush()
    enqueue(session, CONFIG_CAMERAS, str(camera.id), camera_config(camera))


def _note(camera: Camera, subscription: Subscription) -> None:
    camera.subscription_credits = subscription.credits
    camera.paid_until = subscription.paid_until
