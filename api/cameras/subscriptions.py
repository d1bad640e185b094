"""Subscriptions of cameras: credits for each 30 days, the unused share given back."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from api.credits import repository as credits_repository
from api.credits.repository import EntryKind, Reservation
from api.db.records import camera_config
from api.db.tables import Camera
from api.outbox.outbox import enqueue
from common.records.topics import CONFIG_CAMERAS

PERIOD = timedelta(days=30)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Subscription:
    """The last payment for a camera and its end; empty where nothing was ever due."""

    credits: int = 0
    paid_until: datetime | None = None

    def is_paid(self, now: datetime) -> bool:
        """Tell whether the camera is paid for at the moment ``now``."""
        return self.paid_until is not None and self.paid_until > now

    def unused_credits(self, now: datetime) -> int:
        """Return the share of the credits that stands for the time left, rounded down."""
        if self.paid_until is None or self.paid_until <= now:
            return 0
        left = min(self.paid_until - now, PERIOD)
        return self.credits * (left // _MICROSECOND) // (PERIOD // _MICROSECOND)


def renewed(subscription: Subscription, price: int, now: datetime) -> Subscription:
    """Return the subscription after ``price`` credits were paid for another period.

    It goes on where the last one ended, unless that is so long ago that it would end in the past.
    """
    since = subscription.paid_until
    start = since if since is not None and since + PERIOD > now else now
    return Subscription(price, start + PERIOD)


_REASON = "camera subscription"
_BATCH_SIZE = 100


def reserve_first(
    session: Session, owner_id: UUID, price: int, lease: timedelta
) -> Reservation | None:
    """Hold back what a new camera costs; None where the balance does not cover it."""
    return credits_repository.reserve(session, owner_id, price, datetime.now(UTC) + lease)


def settle_first(session: Session, camera_id: UUID, reservation: Reservation) -> bool:
    """Debit what was reserved for a camera; False where it was released meanwhile."""
    if credits_repository.settle(session, reservation, _REASON) is None:
        return False
    camera = session.get_one(Camera, camera_id)
    _set(camera, renewed(Subscription(), reservation.amount, datetime.now(UTC)))
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
    _set(camera, renewed(current, price, datetime.now(UTC)))
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
        .limit(_BATCH_SIZE)
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


def _set(camera: Camera, subscription: Subscription) -> None:
    camera.subscription_credits = subscription.credits
    camera.paid_until = subscription.paid_until
