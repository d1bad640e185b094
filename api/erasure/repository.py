"""Jobs that erase a plate, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from api.accounts.repository import lock_owner
from api.db.tables import ErasureJob
from api.errors import ApiError, ErrorCode
from api.recognitions.repository import name_of
from api.security.permissions import Principal
from common.plates.normalise import mask_plate

WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"

_MAX_OPEN: Final = 20


def ask_for_job(session: Session, caller: Principal, plate: str, before_ms: int) -> ErasureJob:
    """Write that a plate (normalised) is to be erased, unless that waits already; return the job.

    Raises:
        ApiError: 409, too many of the account wait.
    """
    owner = lock_owner(session, caller.owner_id)
    is_open = (ErasureJob.owner_id == owner.id, ErasureJob.state != DONE)
    waiting = session.scalars(select(ErasureJob).where(*is_open)).all()
    # One that is at work may be past what was captured since.
    for job in waiting:
        if job.plate == plate and job.state == WAITING and not job.attempts:
            job.before_ms = before_ms
            return job
    if len(waiting) >= _MAX_OPEN:
        raise ApiError(ErrorCode.LIMIT_REACHED)
    job = ErasureJob(
        owner_id=owner.id,
        plate=plate,
        plate_masked=mask_plate(plate),
        before_ms=before_ms,
        requested_by=name_of(session, caller) or owner.email,
    )
    session.add(job)
    session.flush()
    session.refresh(job)
    return job


def find_job(session: Session, owner_id: UUID, job_id: UUID) -> ErasureJob | None:
    """Return one of the owner's jobs."""
    return session.scalar(
        select(ErasureJob).where(ErasureJob.id == job_id, ErasureJob.owner_id == owner_id)
    )


def list_jobs(session: Session, owner_id: UUID) -> Sequence[ErasureJob]:
    """Return the owner's jobs, newest first."""
    return session.scalars(
        select(ErasureJob)
        .where(ErasureJob.owner_id == owner_id)
        .order_by(ErasureJob.requested_at.desc(), ErasureJob.id)
    ).all()


def take_job(session: Session, lease: timedelta) -> ErasureJob | None:
    """Take a job that nobody has, the first of its account, for so long; None: there is none."""
    earlier = aliased(ErasureJob)
    is_first = ~exists().where(
        earlier.owner_id == ErasureJob.owner_id,
        earlier.state != DONE,
        (earlier.requested_at < ErasureJob.requested_at)
        | ((earlier.requested_at == ErasureJob.requested_at) & (earlier.id < ErasureJob.id)),
    )
    is_free = ErasureJob.leased_until.is_(None) | (ErasureJob.leased_until < func.now())
    job = session.scalar(
        select(ErasureJob)
        .where(ErasureJob.state != DONE, is_free, is_first)
        .order_by(ErasureJob.requested_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if job is None:
        return None
    job.state = RUNNING
    job.attempts += 1
    job.leased_until = session.scalar(select(func.now() + lease))
    session.flush()
    return job


def keep_job(session: Session, job: ErasureJob, lease: timedelta) -> bool:
    """Keep a job for longer, and tell whether it is still the one that was taken."""
    return _change(session, job, {"leased_until": func.now() + lease})


def put_job_off(session: Session, job: ErasureJob, error: str, pause: timedelta) -> None:
    """Give a job back that could not be done; it is taken again after a pause."""
    values = {"state": WAITING, "error": error, "leased_until": func.now() + pause}
    _change(session, job, values)


def finish_job(session: Session, job: ErasureJob, counts: Mapping[str, int]) -> None:
    """Note that a job is done, and forget its plate."""
    values = {
        "state": DONE,
        "plate": None,
        "error": None,
        "counts": dict(counts),
        "finished_at": func.now(),
    }
    _change(session, job, values)


def drop_jobs(session: Session, before: datetime) -> int:
    """Delete what was done before then, and return how many."""
    dropped = delete(ErasureJob).where(ErasureJob.finished_at < before)
    return len(session.scalars(dropped.returning(ErasureJob.id)).all())


def _change(session: Session, job: ErasureJob, values: Mapping[str, object]) -> bool:
    """Change a job, unless somebody else has taken it meanwhile."""
    changed = (
        update(ErasureJob)
        .where(
            ErasureJob.id == job.id,
            ErasureJob.attempts == job.attempts,
            ErasureJob.state == RUNNING,
        )
        .values(**values)
    )
    return bool(session.scalars(changed.returning(ErasureJob.id)).all())
