"""Deletes unpublished records of accounts and of erased plates, and old failed records."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import delete, or_, select, text
from sqlalchemy.orm import Session

from analytics_sql.deliveries import plates_of
from api.db.tables import ConfigOutbox
from api.outbox.outbox import split_trace
from common.errors import InvalidInputError, UnknownRecordVersionError
from common.plates.normalise import normalise_plate
from common.records.codec import decode
from common.records.deliveries import Delivery
from common.records.recognitions import Recognition
from common.records.topics import DELIVERIES, RECOGNITIONS

SET_ASIDE_KEPT: Final = timedelta(days=30)
"""Retention of failed records. A new release may be able to publish such a record."""

_HOLDS: Final = "position(CAST(:plate AS bytea) IN value) > 0"
_FETCHED: Final = 1_000
_EVENTS: Final = (DELIVERIES.name, RECOGNITIONS.name)


def drop_set_aside(session: Session, before: datetime) -> int:
    """Delete failed records older than ``before``, and return their number."""
    old = delete(ConfigOutbox).where(
        ConfigOutbox.error.is_not(None), ConfigOutbox.created_at < before
    )
    return len(session.scalars(old.returning(ConfigOutbox.id)).all())


def forget_owner_rows(session: Session, owner_id: UUID) -> int:
    """Delete all records of an account except tombstones, and return their number.

    The caller must have added the tombstones of the account.
    """
    rows = delete(ConfigOutbox).where(ConfigOutbox.owner_id == owner_id)
    return len(session.scalars(rows.returning(ConfigOutbox.id)).all())


def erase_plate_rows(session: Session, owner_id: UUID, plate: str, *, before_ms: int) -> int:
    """Delete an account's events that contain a plate (normalised), and return their number.

    Only events captured before ``before_ms`` (Unix ms, UTC) and undecodable events are deleted.
    """
    named = [
        row_id
        for row_id, topic, value in _holding(session, owner_id, plate)
        if _names(topic, value, plate, before_ms)
    ]
    session.execute(delete(ConfigOutbox).where(ConfigOutbox.id.in_(named)))
    return len(named)


def _holding(session: Session, owner_id: UUID, plate: str) -> Iterator[tuple[int, str, bytes]]:
    """Return the events of an account that may contain a plate.

    All deliveries are returned: a delivery contains plates as entered in alerts, so a search for
    the bytes of the normalised plate could miss the delivery.
    """
    found = select(ConfigOutbox.id, ConfigOutbox.topic, ConfigOutbox.value).where(
        ConfigOutbox.owner_id == owner_id,
        ConfigOutbox.topic.in_(_EVENTS),
        or_(
            ConfigOutbox.topic == DELIVERIES.name,
            text(_HOLDS).bindparams(plate=plate.encode()),
        ),
    )
    return (
        (row_id, topic, value or b"")
        for row_id, topic, value in session.execute(found.execution_options(yield_per=_FETCHED))
    )


def _names(topic: str, value: bytes, plate: str, before_ms: int) -> bool:
    record, _ = split_trace(value)
    try:
        if topic == DELIVERIES.name:
            delivery = decode(Delivery, record or b"")
            return plate in plates_of(delivery) and delivery.occurred_ms < before_ms
        recognition = decode(Recognition, record or b"")
    except (InvalidInputError, UnknownRecordVersionError):
        # The quotation marks between plates remain, so that two plates are not read as one.
        return plate in normalise_plate(value.decode(errors="replace"))
    read = (recognition.plate, *(each.plate for each in recognition.provisional_plates))
    return plate in map(normalise_plate, read) and recognition.captured_ms < before_ms
