"""Erases again what had been erased when the databases were restored."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from analytics_sql.erasure import Erasure, NotedErasure, noted
from api.db.tables import Alert, CorrectionEntry, ErasureJob, Owner
from api.erasure.models import Misreading
from api.erasure.rows import open_rows
from api.erasure.service import (
    ErasureSettings,
    delete_account,
    end_account,
    erase_stored_owner,
    erase_stored_plate,
)
from api.recognitions.correction_rows import corrections_to, erase_corrections
from common.plates.normalise import normalise_plate
from common.settings import ClickHouseSettings

_T = TypeVar("_T")
InDatabase = Callable[[Callable[[Session], _T]], _T]
"""Runs work in a transaction and returns its result."""

_ALL: Final = ""


def open_requests(session: Session) -> list[NotedErasure]:
    """Return the erasures that were requested and are not done."""
    jobs = session.scalars(select(ErasureJob).where(ErasureJob.plate.is_not(None)))
    return [noted(Erasure(job.owner_id, job.plate, job.before_ms)) for job in jobs]


async def stored_notes(settings: ClickHouseSettings) -> list[NotedErasure]:
    """Return the erasures that ClickHouse has noted.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    async with open_rows(settings) as rows:
        return await rows.noted()


async def erase_again(
    settings: ErasureSettings, in_database: InDatabase[Any], erasures: Sequence[NotedErasure]
) -> dict[UUID, int]:
    """Erase what the notes name; return by account how many plates (or the account) were found.

    May be repeated. The erasures that ClickHouse has noted itself are applied too: PostgreSQL may
    be of an earlier time.

    Raises:
        TransientError: a server is unavailable or busy.
    """
    async with open_rows(settings) as rows:
        await rows.note_again(erasures)
        known = await rows.noted()
    by_owner: dict[UUID, dict[str, int]] = defaultdict(dict)
    for each in known:
        by_owner[each.user_id][each.plate_hash] = each.before_ms
    return {
        owner_id: await _of_owner(settings, in_database, owner_id, before)
        for owner_id, before in by_owner.items()
    }


async def _of_owner(
    settings: ErasureSettings,
    in_database: InDatabase[Any],
    owner_id: UUID,
    before: Mapping[str, int],
) -> int:
    if _ALL in before:
        return await _account(settings, in_database, owner_id)
    async with open_rows(settings) as rows:
        plates = await rows.plates_of(owner_id)
    plates |= in_database(lambda session: _named(session, owner_id))
    erasures = [Erasure(owner_id, plate) for plate in sorted(plates) if plate]
    found = [each for each in erasures if each.plate_hash in before]
    for erasure in found:
        await _plate(settings, in_database, erasure, before[erasure.plate_hash])
    return len(found)


async def _account(settings: ErasureSettings, in_database: InDatabase[Any], owner_id: UUID) -> int:
    if in_database(lambda session: session.get(Owner, owner_id)) is None:
        # ClickHouse and S3 may have something of it all the same.
        await erase_stored_owner(settings, owner_id)
        return 0
    in_database(lambda session: end_account(session, owner_id))
    await erase_stored_owner(settings, owner_id)
    in_database(lambda session: delete_account(session, owner_id))
    return 1


async def _plate(
    settings: ErasureSettings, in_database: InDatabase[Any], erasure: Erasure, before_ms: int
) -> None:
    owner_id, plate = erasure.user_id, erasure.plate or ""
    corrected = in_database(
        lambda session: corrections_to(session, owner_id, plate, before_ms=before_ms)
    )
    misread = [Misreading(*each) for each in corrected]
    await erase_stored_plate(settings, settings, owner_id, plate, misread, before_ms=before_ms)
    in_database(lambda session: erase_corrections(session, owner_id, plate, before_ms=before_ms))


def _named(session: Session, owner_id: UUID) -> set[str]:
    """Return the plates of an owner's corrections and of the lists of its alerts."""
    corrected = session.execute(
        select(CorrectionEntry.reading, CorrectionEntry.plate).where(
            CorrectionEntry.owner_id == owner_id
        )
    )
    named = {text for row in corrected for text in row if text}
    for plates in session.scalars(select(Alert.plates).where(Alert.owner_id == owner_id)):
        named.update(map(normalise_plate, plates))
    return named
