"""Stores corrections in PostgreSQL."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import delete, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from analytics_sql.recognitions import RecognitionCursor, RecognitionRow
from api.accounts.repository import lock_owner
from api.db.tables import ApiKey, CorrectionEntry
from api.security.permissions import Principal


class Misreading(NamedTuple):
    """A recognition whose plate was corrected to a different plate.

    ``captured_ms`` (Unix ms, UTC) and ``text`` (the reading) identify the recognition.
    """

    captured_ms: int
    text: str


@dataclass(frozen=True)
class Correction:
    """The correction of a recognition. ``plate`` is None if there is no plate.

    The reading, its time (Unix ms, UTC) and the S3 keys are copied from the recognition.
    """

    recognition_id: UUID
    camera_id: UUID
    captured_ms: int
    reading: str
    photo_key: str | None
    crop_key: str | None
    plate: str | None
    region: str | None
    corrected_by: str
    corrected_at: datetime


def upsert_correction(
    session: Session,
    caller: Principal,
    found: RecognitionRow,
    plate: str | None,
    region: str | None,
) -> Correction:
    """Store the correction of a recognition, replacing an earlier correction."""
    owner = lock_owner(session, caller.owner_id)
    values = {
        "camera_id": found.camera_id,
        "captured_ms": found.captured_ms,
        "reading": found.plate,
        "photo_key": found.photo_key,
        "crop_key": found.crop_key,
        "plate": plate,
        "region": region,
        "corrected_by": name_of(session, caller) or owner.email,
        "corrected_at": func.now(),
    }
    written = insert(CorrectionEntry).values(owner_id=owner.id, recognition_id=found.id, **values)
    entry = session.scalars(
        written.on_conflict_do_update(
            index_elements=["owner_id", "recognition_id"], set_=values
        ).returning(CorrectionEntry)
    ).one()
    return _correction(entry)


def name_of(session: Session, caller: Principal) -> str | None:
    """Return the caller's email address or API key name, or None if the key has been deleted."""
    if caller.person is not None:
        return caller.person.email
    key = session.get(ApiKey, caller.credential_id)
    return None if key is None else key.name


def delete_correction(session: Session, owner_id: UUID, recognition_id: UUID) -> bool:
    """Delete the correction of a recognition. Return False if there was no correction."""
    deleted = delete(CorrectionEntry).where(
        CorrectionEntry.owner_id == owner_id, CorrectionEntry.recognition_id == recognition_id
    )
    return bool(session.scalars(deleted.returning(CorrectionEntry.recognition_id)).all())


def get_corrections(
    session: Session, owner_id: UUID, recognition_ids: Collection[UUID]
) -> dict[UUID, Correction]:
    """Return the existing corrections of some recognitions, by recognition ID."""
    found = session.scalars(
        select(CorrectionEntry).where(
            CorrectionEntry.owner_id == owner_id,
            CorrectionEntry.recognition_id.in_(recognition_ids),
        )
    )
    return {entry.recognition_id: _correction(entry) for entry in found}


def list_corrections(
    session: Session,
    owner_id: UUID,
    plate: str | None,
    after: RecognitionCursor | None,
    limit: int,
) -> list[Correction]:
    """Return corrections, newest recognition first, starting after ``after``.

    If ``plate`` (normalised) is given, return only corrections whose plate contains ``plate``.
    """
    position = tuple_(CorrectionEntry.captured_ms, CorrectionEntry.recognition_id)
    wanted = select(CorrectionEntry).where(CorrectionEntry.owner_id == owner_id)
    if plate:
        wanted = wanted.where(CorrectionEntry.plate.contains(plate, autoescape=True))
    if after is not None:
        wanted = wanted.where(position < (after.captured_ms, after.id))
    newest = wanted.order_by(
        CorrectionEntry.captured_ms.desc(), CorrectionEntry.recognition_id.desc()
    )
    return [_correction(entry) for entry in session.scalars(newest.limit(limit))]


def corrected_before(
    session: Session, owner_id: UUID, from_ms: int, before_ms: int | None, limit: int
) -> list[Correction]:
    """Return corrections with a plate, of recognitions captured in a time range, newest first.

    Return at most ``limit`` rows, plus rows with the last row's time. Times are Unix ms (UTC).
    """
    wanted = select(CorrectionEntry).where(
        CorrectionEntry.owner_id == owner_id,
        CorrectionEntry.captured_ms >= from_ms,
        CorrectionEntry.plate.is_not(None),
    )
    if before_ms is not None:
        wanted = wanted.where(CorrectionEntry.captured_ms < before_ms)
    newest = wanted.order_by(CorrectionEntry.captured_ms.desc()).fetch(limit, with_ties=True)
    return [_correction(entry) for entry in session.scalars(newest)]


def list_misread(
    session: Session, owner_id: UUID, plate: str, *, before_ms: int
) -> list[Misreading]:
    """Return recognitions that were corrected to a plate (normalised) from another reading.

    Only recognitions captured before ``before_ms`` (Unix ms, UTC) are returned.
    """
    found = session.execute(
        select(CorrectionEntry.captured_ms, CorrectionEntry.reading).where(
            CorrectionEntry.owner_id == owner_id,
            CorrectionEntry.captured_ms < before_ms,
            CorrectionEntry.plate == plate,
            CorrectionEntry.reading != plate,
        )
    )
    return [Misreading(*row) for row in found]


def erase_corrections(session: Session, owner_id: UUID, plate: str, *, before_ms: int) -> int:
    """Delete corrections from or to a plate (normalised), and return their number.

    Only corrections of recognitions captured before ``before_ms`` (Unix ms, UTC) are deleted.
    """
    erased = delete(CorrectionEntry).where(
        CorrectionEntry.owner_id == owner_id,
        CorrectionEntry.captured_ms < before_ms,
        or_(CorrectionEntry.plate == plate, CorrectionEntry.reading == plate),
    )
    return len(session.scalars(erased.returning(CorrectionEntry.recognition_id)).all())


def delete_expired_corrections(session: Session, *, before_ms: int) -> int:
    """Delete corrections of recognitions captured before ``before_ms``, and return their number."""
    deleted = delete(CorrectionEntry).where(CorrectionEntry.captured_ms < before_ms)
    return len(session.scalars(deleted.returning(CorrectionEntry.recognition_id)).all())


def _correction(entry: CorrectionEntry) -> Correction:
    return Correction(
        recognition_id=entry.recognition_id,
        camera_id=entry.camera_id,
        captured_ms=entry.captured_ms,
        reading=entry.reading,
        photo_key=entry.photo_key,
        crop_key=entry.crop_key,
        plate=entry.plate,
        region=entry.region,
        corrected_by=entry.corrected_by,
        corrected_at=entry.corrected_at,
    )
