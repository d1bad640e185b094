"""Erases again what had been erased when the databases were restored.

The erasures are kept in a file, so that a restore of all servers does not bring back what was
erased.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from analytics_sql.erasure import (
    Erasure,
    NotedErasure,
    note_again,
    noted,
    noted_erasures,
    plates_of_owner,
)
from api.db.tables import Alert, CorrectionEntry, ErasureJob, Owner
from api.erasure.service import (
    ErasureSettings,
    delete_account,
    end_account,
    erase_stored_owner,
    erase_stored_plate,
    open_rows,
)
from api.recognitions.repository import erase_corrections, list_misread
from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate
from common.settings import ClickHouseSettings

_T = TypeVar("_T")
InDatabase = Callable[[Callable[[Session], _T]], _T]
"""Runs work in a transaction and returns its result."""

_ALL: Final = ""
_MODE: Final = 0o600


class _Noted(msgspec.Struct, frozen=True, rename="camel"):
    """An erasure; without ``plate_hash`` the whole account. ``before_ms`` is Unix ms, UTC."""

    owner_id: UUID
    before_ms: int
    plate_hash: str | None = None


class _File(msgspec.Struct, frozen=True):
    erasures: list[_Noted]


def read_noted(path: Path) -> list[NotedErasure]:
    """Return the erasures of a file that :func:`add_noted` wrote.

    Raises:
        InvalidInputError: the file cannot be read.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File).erasures
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}", code="unreadable") from error
    return [NotedErasure(each.owner_id, each.plate_hash or "", each.before_ms) for each in found]


def add_noted(path: Path, noted: Sequence[NotedErasure]) -> int:
    """Add erasures to a file that only its owner can read, and return how many are in it.

    The file is replaced as a whole. Erasures that are already in it stay: the databases forget
    theirs after 30 days.

    Raises:
        InvalidInputError: the file cannot be read or written.
    """
    latest: dict[tuple[UUID, str], int] = {}
    for each in [*(read_noted(path) if path.exists() else ()), *noted]:
        key = each.user_id, each.plate_hash
        latest[key] = max(each.before_ms, latest.get(key, 0))
    lines = [_Noted(user, before_ms, text or None) for (user, text), before_ms in latest.items()]
    try:
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.touch(_MODE)
        fresh.write_bytes(msgspec.json.encode(_File(lines)))
        fresh.replace(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error}", code="unwritable") from error
    return len(lines)


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
        return await noted_erasures(rows.client)


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
        await note_again(rows.client, erasures)
        known = await noted_erasures(rows.client)
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
        plates = await plates_of_owner(rows.client, owner_id)
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
    misread = in_database(
        lambda session: list_misread(session, owner_id, plate, before_ms=before_ms)
    )
    await erase_stored_plate(settings, settings, owner_id, plate, misread, before_ms)
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
