"""Erases plates on request, one plate at a time per account. Erasures survive crashes.

API processes lease jobs from a table for a minute, and renew the lease while they work. If a
process crashes, its job is leased again. Erasing twice is harmless.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from api.accounts.repository import lock_owner
from api.actors import Action
from api.audit.actions import ActionSubject, current_action
from api.audit.repository import write_actions
from api.db.database import Database
from api.db.tables import ErasureJob
from api.erasure.service import ErasedPlate, erase_plate_in_database
from api.errors import ApiError, DependencyUnavailableError, ErrorCode, require_found
from api.outbox.removal import SET_ASIDE_KEPT, drop_set_aside
from api.recognitions.repository import Misreading, list_misread, name_of
from api.security.permissions import Principal
from common.errors import PlatestreamError, TransientError
from common.plates.normalise import mask_plate

WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"

_MAX_OPEN: Final = 20

log = structlog.get_logger()
_LEASE: Final = timedelta(seconds=60)
_RENEW_SECONDS: Final = 15.0
_PAUSE: Final = timedelta(seconds=30)
_CLEAN_UP_EVERY_MS: Final = 3_600_000
_RETENTION: Final = timedelta(days=90)
"""Time for which finished jobs are stored, to show who erased what, and when."""
_UNAVAILABLE: Final = "A server is unavailable or busy. The erasure will be retried."
_FAILED: Final = "The erasure failed and will be retried. See the API log."
ErasePlate = Callable[[UUID, str, Sequence[Misreading], int], Awaitable[ErasedPlate]]
"""The function :func:`api.erasure.service.erase_stored_plate`, with the settings bound."""


def enqueue_job(session: Session, caller: Principal, plate: str, before_ms: int) -> ErasureJob:
    """Queue the erasure of a plate (normalised), or extend a queued erasure. Return the job.

    Raises:
        ApiError: 409, the account has too many unfinished jobs.
    """
    owner = lock_owner(session, caller.owner_id)
    is_open = (ErasureJob.owner_id == owner.id, ErasureJob.state != DONE)
    waiting = session.scalars(select(ErasureJob).where(*is_open)).all()
    # A running job may already have passed the newest captures.
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
    """Return a job of the account, or None if the job does not exist."""
    return session.scalar(
        select(ErasureJob).where(ErasureJob.id == job_id, ErasureJob.owner_id == owner_id)
    )


def list_jobs(session: Session, owner_id: UUID) -> Sequence[ErasureJob]:
    """Return the account's jobs, newest first."""
    return session.scalars(
        select(ErasureJob)
        .where(ErasureJob.owner_id == owner_id)
        .order_by(ErasureJob.requested_at.desc(), ErasureJob.id)
    ).all()


def lease_job(session: Session, lease: timedelta) -> ErasureJob | None:
    """Lease an account's oldest unfinished job for ``lease``. Return None if no job is free."""
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


def renew_lease(session: Session, job: ErasureJob, lease: timedelta) -> bool:
    """Extend the lease of a job. Return False if the job now belongs to another process."""
    return _change(session, job, {"leased_until": func.now() + lease})


def postpone_job(session: Session, job: ErasureJob, error: str, pause: timedelta) -> None:
    """Release a failed job so that it is retried after ``pause``."""
    values = {"state": WAITING, "error": error, "leased_until": func.now() + pause}
    _change(session, job, values)


def finish_job(session: Session, job: ErasureJob, counts: Mapping[str, int]) -> None:
    """Mark a job as done and delete its plate."""
    values = {
        "state": DONE,
        "plate": None,
        "error": None,
        "counts": dict(counts),
        "finished_at": func.now(),
    }
    _change(session, job, values)


def delete_finished_jobs(session: Session, before: datetime) -> int:
    """Delete jobs that finished before ``before``. Return the number of jobs."""
    dropped = delete(ErasureJob).where(ErasureJob.finished_at < before)
    return len(session.scalars(dropped.returning(ErasureJob.id)).all())


def _change(session: Session, job: ErasureJob, values: Mapping[str, object]) -> bool:
    """Update a job unless another process has leased the job. Return whether it was updated."""
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


class ErasureJobs:
    """Manages the jobs of all accounts. Raises ApiError 404 for a job of another account."""

    def __init__(self, database: Database, erase: ErasePlate, now_ms: Callable[[], int]) -> None:
        """``now_ms`` returns the current time (Unix ms)."""
        self._database = database
        self._erase = erase
        self._now_ms = now_ms
        self._next_clean_up_ms = 0

    async def request(self, caller: Principal, plate: str) -> ErasureJob:
        """Queue the erasure of everything captured so far for a normalised plate. Return the job.

        Raises:
            ApiError: 409, the account has too many unfinished jobs.
        """
        before_ms, owner_id = self._now_ms(), caller.owner_id

        def work(session: Session) -> ErasureJob:
            job = enqueue_job(session, caller, plate, before_ms)
            subject = ActionSubject("plate", job.id)
            write_actions(session, [current_action(owner_id, Action.PLATE_ERASURE_ASKED, subject)])
            return job

        return await self._database.run(work)

    async def list_all(self, owner_id: UUID) -> Sequence[ErasureJob]:
        """Return the account's jobs, newest first."""
        return await self._database.run(lambda session: list_jobs(session, owner_id))

    async def get(self, owner_id: UUID, job_id: UUID) -> ErasureJob:
        """Return a job of the account."""
        return require_found(
            await self._database.run(lambda session: find_job(session, owner_id, job_id))
        )

    async def sweep(self) -> int:
        """Run one queued job. Return the number of finished jobs.

        Raises:
            PlatestreamError: the job failed and will be retried.
        """
        await self._clean_up()
        job = await self._database.run(lambda session: lease_job(session, _LEASE))
        if job is None:
            return 0
        try:
            async with self._lease_renewed(job):
                await self._run(job)
        except PlatestreamError as error:
            sentence = _UNAVAILABLE if isinstance(error, TransientError) else _FAILED
            await self._database.run(lambda session: postpone_job(session, job, sentence, _PAUSE))
            raise
        return 1

    async def _clean_up(self) -> None:
        """Once an hour, delete old jobs, and old records that could not be published."""
        now_ms = self._now_ms()
        if now_ms < self._next_clean_up_ms:
            return
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        await self._database.run(lambda session: delete_finished_jobs(session, now - _RETENTION))
        await self._database.run(lambda session: drop_set_aside(session, now - SET_ASIDE_KEPT))
        self._next_clean_up_ms = now_ms + _CLEAN_UP_EVERY_MS

    async def _run(self, job: ErasureJob) -> None:
        owner_id, plate, before_ms = job.owner_id, job.plate or "", job.before_ms
        misread = await self._database.run(
            lambda session: list_misread(session, owner_id, plate, before_ms=before_ms)
        )
        erased = await self._erase(owner_id, plate, misread, before_ms)
        refused = 0 if erased.images is None else erased.images.refused
        counts = erased.counts() | {"imagesLeft": refused, "misread": len(misread)}
        counts |= await self._database.run(
            lambda session: erase_plate_in_database(session, owner_id, plate, before_ms)
        )

        def finish(session: Session) -> None:
            finish_job(session, job, counts)
            subject = ActionSubject("plate", job.id)
            write_actions(
                session, [current_action(owner_id, Action.PLATE_ERASED, subject, **counts)]
            )

        await self._database.run(finish)

    @asynccontextmanager
    async def _lease_renewed(self, job: ErasureJob) -> AsyncIterator[None]:
        """Renew the lease of a job until the block ends."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(_RENEW_SECONDS)
                try:
                    await self._database.run(lambda session: renew_lease(session, job, _LEASE))
                except DependencyUnavailableError:
                    # Another process may then lease the job. Erasing twice is harmless.
                    log.warning("erasure_lease_not_renewed", job_id=str(job.id))

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
