"""Permanently erases a plate or an account: rows in ClickHouse and PostgreSQL, images in S3.

Only this code and the sink write to ClickHouse's tables. All calls can be repeated. Calls that use
ClickHouse or S3 raise TransientError if the server is unavailable or busy.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from analytics_sql.analysts.names import erase_names
from analytics_sql.client import ClickHouseClient
from analytics_sql.erased_images import ErasedImages, list_images_to_remove, mark_removed
from analytics_sql.erasure import (
    Erasure,
    erase_camera_counts,
    erase_deliveries,
    erase_outcomes,
    erase_recognitions,
    erase_triggers,
    insert_erasure,
)
from api.accounts.repository import close_owner, delete_owner
from api.adapters.image_store import ImageStore, RemovalRefusedError
from api.alerts.repository import delete_owner_alerts
from api.audit.repository import delete_account_entries
from api.cameras.repository import delete_owner_cameras
from api.credits.repository import count_entries
from api.db.tables import Alert
from api.erasure.images import ErasedImageRemoval, RemovedImages
from api.errors import DependencyUnavailableError
from api.outbox.outbox import forget_owner
from api.outbox.removal import erase_plate_rows, forget_owner_rows
from api.recognitions.repository import Misreading, erase_corrections
from api.webhooks.repository import delete_owner_webhooks
from common.plates.normalise import normalise_plate
from common.records.object_keys import RECOGNITION_FOLDER, SNAPSHOT_FOLDER
from common.settings import ClickHouseSettings, DatabaseSettings, S3Settings

Counts = Counter[str]
"""Numbers of erased items, by the field names of responses."""

_STATEMENT_SECONDS: Final = 3600
"""One hour, because ClickHouse rewrites all monthly partitions that contain erased rows."""
_PASS_MS: Final = 60_000
"""Maximum difference between the times of an early trigger and of its recognition."""


class ErasureSettings(DatabaseSettings, ClickHouseSettings, S3Settings):
    """The settings of all stores that can contain data to erase."""


@dataclass(frozen=True)
class ErasedPlate:
    """The result of erasing a plate. ``images`` is None if S3 is unavailable."""

    rows: Counts
    images: RemovedImages | None

    def counts(self) -> dict[str, int]:
        """Return the numbers of erased items by name, including zeros."""
        names = ("recognitions", "alertTriggers", "deliveries")
        removed = 0 if self.images is None else self.images.removed
        return {"images": removed, **{name: self.rows[name] for name in names}}


@asynccontextmanager
async def open_rows(settings: ClickHouseSettings) -> AsyncIterator["ErasableRows"]:
    """Connect to ClickHouse to erase rows of any account.

    Raises:
        MisconfiguredError: the user, password or database is wrong.
    """
    client = ClickHouseClient(settings, query_seconds=_STATEMENT_SECONDS)
    await client.connect()
    try:
        yield ErasableRows(client)
    finally:
        await client.close()


@dataclass(frozen=True)
class ErasableRows:
    """Erases rows of any account. ``client`` must allow long statements."""

    client: ClickHouseClient

    async def erase(self, erasure: Erasure) -> Counts:
        """Record an erasure, so that the sink stops writing matching rows, and erase existing rows.

        Return the counts. Image removals are recorded for a plate, but not for an account.
        """
        await insert_erasure(self.client, erasure)
        if erasure.plate is None:
            await erase_names(self.client, erasure.user_id)
            await erase_camera_counts(self.client, erasure)
        erased = await self._erase_events(
            erasure, erasure, records_images=erasure.plate is not None
        )
        return erased + Counter(outcomes=await erase_outcomes(self.client, erasure))

    async def erase_misread(self, owner_id: UUID, misread: Sequence[Misreading]) -> Counts:
        """Erase single recognitions, their alert triggers and deliveries. Return the counts.

        No erasure is recorded, because another vehicle can have the misread text as its plate.
        """
        erased = Counts()
        for at_ms, text_read in misread:
            one = Erasure(owner_id, text_read, before_ms=at_ms + 1, from_ms=at_ms)
            from_ms = max(0, at_ms - _PASS_MS)
            near = Erasure(owner_id, text_read, before_ms=at_ms + _PASS_MS, from_ms=from_ms)
            erased += await self._erase_events(one, near, records_images=True)
        return erased

    async def list_images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        """Return the images of at most ``limit`` recognitions, of one or all accounts."""
        return await list_images_to_remove(self.client, limit, owner_id, after)

    async def mark_removed(self, images: tuple[ErasedImages, ...]) -> None:
        """Record that images were removed."""
        await mark_removed(self.client, images)

    async def _erase_events(
        self, recognitions: Erasure, others: Erasure, *, records_images: bool
    ) -> Counts:
        erased = await erase_recognitions(self.client, recognitions, records_images=records_images)
        return Counter(
            recognitions=erased,
            alertTriggers=await erase_triggers(self.client, others),
            deliveries=await erase_deliveries(self.client, others),
        )


async def erase_stored_plate(
    clickhouse: ClickHouseSettings,
    s3: S3Settings,
    owner_id: UUID,
    plate: str,
    misread: Sequence[Misreading],
    before_ms: int,
) -> ErasedPlate:
    """Erase everything captured before ``before_ms`` (Unix ms, UTC) for a plate (normalised).

    The plate's ``misread`` recognitions are also erased. Images that S3 does not remove stay
    recorded and are removed later by the API. Return the counts.
    """
    async with open_rows(clickhouse) as rows:
        erased = await rows.erase(Erasure(owner_id, plate, before_ms))
        erased += await rows.erase_misread(owner_id, misread)
        with closing(ImageStore(s3)) as images:
            try:
                removed = await ErasedImageRemoval(rows, images).delete_all_for_owner(owner_id)
            except DependencyUnavailableError:
                return ErasedPlate(erased, images=None)
    return ErasedPlate(erased, images=removed)


def erase_plate_in_database(
    session: Session, owner_id: UUID, plate: str, before_ms: int
) -> dict[str, int]:
    """Erase a plate's rows in PostgreSQL, and return the counts.

    Call this after :func:`erase_stored_plate`, so that no more corrections can be added.
    """
    return {
        "corrections": erase_corrections(session, owner_id, plate, before_ms=before_ms),
        "outbox": erase_plate_rows(session, owner_id, plate, before_ms=before_ms),
    }


async def erase_stored_owner(settings: ErasureSettings, owner_id: UUID) -> Counts:
    """Erase all data of an account in ClickHouse and S3. Return the counts."""
    async with open_rows(settings) as rows:
        erased = await rows.erase(Erasure(owner_id))
    return erased + Counter(images=await erase_stored_images(settings, owner_id))


async def erase_stored_images(settings: S3Settings, owner_id: UUID) -> int:
    """Erase all images of an account. Return the number of images.

    Raises:
        RemovalRefusedError: S3 refused to remove some images; all other images are removed.
    """
    removed, refusals = 0, list[RemovalRefusedError]()
    with closing(ImageStore(settings)) as images:
        for folder in (RECOGNITION_FOLDER, SNAPSHOT_FOLDER):
            try:
                while some := await images.remove_some(f"{folder}{owner_id}/"):
                    removed += some
            except RemovalRefusedError as error:
                refusals.append(error)
    if refusals:
        raise refusals[0]
    return removed


def end_account(session: Session, owner_id: UUID) -> Counts:
    """Delete an account's sessions, keys, cameras, alerts and webhooks, and disable login.

    Return the counts. The account's row remains, so that an interrupted removal can resume.
    """
    sessions, keys = close_owner(session, owner_id)
    return Counter(
        sessions=sessions,
        apiKeys=keys,
        cameras=delete_owner_cameras(session, owner_id),
        alerts=delete_owner_alerts(session, owner_id),
        webhooks=delete_owner_webhooks(session, owner_id),
    )


def delete_account(session: Session, owner_id: UUID) -> Counts:
    """Delete an account, its ledger and rows added after :func:`end_account`. Return the counts."""
    # Deleting a ledger of several years exceeds the usual statement timeout.
    session.execute(text("SET LOCAL statement_timeout = '10min'"))
    late = end_account(session, owner_id)
    entries = count_entries(session, owner_id)
    forget_owner(session, owner_id)
    forget_owner_rows(session, owner_id)
    delete_owner(session, owner_id)
    delete_account_entries(session, owner_id)
    return late + Counter(ledger=entries)


def alerts_naming(session: Session, owner_id: UUID, plate: str) -> int:
    """Return the number of the account's alerts that list a plate (normalised)."""
    lists = session.scalars(select(Alert.plates).where(Alert.owner_id == owner_id))
    return sum(plate in map(normalise_plate, plates) for plates in lists)
