"""Erases a plate or an account for good: rows in ClickHouse and PostgreSQL, images in S3."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from analytics_sql.erasure import Erasure
from api.accounts.repository import close_owner, delete_owner
from api.adapters.image_store import ImageStore, RemovalRefusedError
from api.alerts.repository import delete_alerts_of
from api.cameras.repository import delete_cameras_of
from api.credits.repository import count_entries
from api.db.tables import Alert
from api.erasure.images import ErasedImageRemoval
from api.erasure.models import EndedAccount, ErasedOwner, ErasedPlate, Misreading
from api.erasure.rows import open_rows
from api.errors import DependencyUnavailableError
from api.outbox.outbox import forget_owner
from api.outbox.removal import forget_owner_rows
from api.trail.entries import forget_account
from api.webhooks.repository import delete_webhooks_of
from common.plates.normalise import normalise_plate
from common.records.object_keys import RECOGNITION_FOLDER, SNAPSHOT_FOLDER
from common.settings import ClickHouseSettings, DatabaseSettings, S3Settings


class ErasureSettings(DatabaseSettings, ClickHouseSettings, S3Settings):
    """The settings of every store that may hold what is erased."""


async def erase_stored_plate(
    clickhouse: ClickHouseSettings,
    s3: S3Settings,
    owner_id: UUID,
    plate: str,
    misread: Sequence[Misreading],
    *,
    before_ms: int,
) -> ErasedPlate:
    """Erase what was captured of an owner's plate (normalised) before a moment (Unix ms, UTC).

    Recognitions of it that were ``misread`` go, too. Images that S3 does not remove stay noted: the
    API removes them once it does. May be repeated.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    async with open_rows(clickhouse) as rows:
        erased = await rows.erase(Erasure(owner_id, plate, before_ms))
        erased += await rows.erase_misread(owner_id, misread)
        with _image_store(s3) as images:
            removal = ErasedImageRemoval(rows, images)
            try:
                removed = await removal.remove_all_of(owner_id)
            except DependencyUnavailableError:
                return ErasedPlate(erased, images=None)
    return ErasedPlate(erased, images=removed)


async def erase_stored_owner(settings: ErasureSettings, owner_id: UUID) -> ErasedOwner:
    """Erase all that is stored of an owner. May be repeated.

    Raises:
        TransientError: ClickHouse or S3 is unavailable or busy.
    """
    async with open_rows(settings) as rows:
        erased = await rows.erase(Erasure(owner_id))
    return ErasedOwner(erased, images=await erase_stored_images(settings, owner_id))


async def erase_stored_images(settings: S3Settings, owner_id: UUID) -> int:
    """Erase all images that S3 has of an owner, and return how many. May be repeated.

    Raises:
        TransientError: S3 is unavailable or busy, or refuses to remove some: all others are
        removed.
    """
    removed, refusals = 0, list[RemovalRefusedError]()
    with _image_store(settings) as images:
        for folder in (RECOGNITION_FOLDER, SNAPSHOT_FOLDER):
            try:
                while some := await images.remove_some(f"{folder}{owner_id}/"):
                    removed += some
            except RemovalRefusedError as error:
                refusals.append(error)
    if refusals:
        raise refusals[0]
    return removed


@contextmanager
def _image_store(settings: S3Settings) -> Iterator[ImageStore]:
    images = ImageStore(settings)
    try:
        yield images
    finally:
        images.close()


def end_account(session: Session, owner_id: UUID) -> EndedAccount:
    """End all by which an account works; nobody can log in to it any more. May be repeated.

    The account's row stays until nothing is stored of it, so that its removal can go on after a
    crash.
    """
    sessions, keys = close_owner(session, owner_id)
    return EndedAccount(
        sessions=sessions,
        keys=keys,
        cameras=delete_cameras_of(session, owner_id),
        alerts=delete_alerts_of(session, owner_id),
        webhooks=delete_webhooks_of(session, owner_id),
    )


def delete_account(session: Session, owner_id: UUID) -> EndedAccount:
    """Delete an account with its ledger, and what a call in flight added to it after its end."""
    # A ledger of years takes longer than any other statement may.
    session.execute(text("SET LOCAL statement_timeout = '10min'"))
    late = end_account(session, owner_id)
    entries = count_entries(session, owner_id)
    forget_owner(session, owner_id)
    forget_owner_rows(session, owner_id)
    delete_owner(session, owner_id)
    forget_account(session, owner_id)
    return late + EndedAccount(0, 0, 0, 0, 0, ledger_entries=entries)


def alerts_naming(session: Session, owner_id: UUID, plate: str) -> int:
    """Return how many of the owner's alerts have a plate (normalised) in their list."""
    lists = session.scalars(select(Alert.plates).where(Alert.owner_id == owner_id))
    return sum(plate in map(normalise_plate, plates) for plates in lists)
