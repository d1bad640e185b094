"""What had been erased when a backup was restored over it goes again."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from analytics_sql.backup import stored_plates
from analytics_sql.client import clickhouse_errors
from analytics_sql.erasure import Erasure
from api.backup.manifest import BackupError, Steps
from api.db.engine import in_transaction
from api.db.tables import CorrectionEntry, Owner
from api.erasure.models import Misreading
from api.erasure.service import (
    ErasureSettings,
    delete_account,
    end_account,
    erase_stored_owner,
    erase_stored_plate,
)
from api.recognitions.correction_rows import corrections_to, erase_corrections
from api.trail.entries import erase_from_entries

Noted = tuple[UUID, str, int]
"""Owner, hash of the plate (empty: all of the owner), before (Unix ms, UTC)."""

_FILE: Final = "erased.json"


def remembered(folder: Path, noted: Sequence[Noted]) -> list[Noted]:
    """Return what is noted, and what a restore that was cut off had found, kept in the folder.

    Raises:
        BackupError: it cannot be kept there, and would be lost with what is replaced.
    """
    file = folder / _FILE
    try:
        before = msgspec.json.decode(file.read_bytes(), type=list[Noted]) if file.exists() else []
        found = [*before, *(each for each in noted if each not in before)]
        if found:
            fresh = file.with_suffix(".new")
            fresh.write_bytes(msgspec.json.encode(found))
            fresh.replace(file)
    except OSError as error:
        raise BackupError(f"what was erased cannot be noted in {folder}: {error}") from error
    return found


def forget_remembered(folder: Path) -> None:
    """Note that all of it was erased again."""
    (folder / _FILE).unlink(missing_ok=True)


def apply_erasures(
    settings: ErasureSettings, engine: Engine, client: Any, noted: Sequence[Noted], steps: Steps
) -> int:
    """Erase again what is noted, and return how many plates and accounts were found again.

    Raises:
        TransientError: a server is unavailable.
    """
    _note(client, noted)
    by_owner: dict[UUID, dict[str, int]] = defaultdict(dict)
    for owner_id, plate_hash, before_ms in noted:
        by_owner[owner_id][plate_hash] = before_ms
    return sum(
        _erase_of(settings, engine, client, owner_id, by_owner[owner_id])
        for owner_id in steps(list(by_owner), "erasing again")
    )


def _note(client: Any, noted: Iterable[Noted]) -> None:
    """Keep the notes: Kafka may bring what was erased for as long as they are kept."""
    lines = [
        [owner_id, plate_hash, datetime.fromtimestamp(before_ms / 1000, UTC)]
        for owner_id, plate_hash, before_ms in noted
    ]
    if lines:
        with clickhouse_errors():
            client.insert("erasures", lines, column_names=["user_id", "plate_hash", "before"])


def _erase_of(
    settings: ErasureSettings,
    engine: Engine,
    client: Any,
    owner_id: UUID,
    before: Mapping[str, int],
) -> int:
    if "" in before:
        if not in_transaction(engine, lambda session: session.get(Owner, owner_id)):
            return 0
        in_transaction(engine, lambda session: end_account(session, owner_id))
        asyncio.run(erase_stored_owner(settings, owner_id))
        in_transaction(engine, lambda session: delete_account(session, owner_id))
        return 1
    plates = {*stored_plates(client, owner_id)}
    plates |= in_transaction(engine, lambda session: _corrected(session, owner_id))
    erasures = [Erasure(owner_id, plate) for plate in sorted(plates)]
    found = [each for each in erasures if each.plate_hash in before]
    for erasure in found:
        _erase_plate(settings, engine, erasure, before[erasure.plate_hash])
    return len(found)


def _erase_plate(
    settings: ErasureSettings, engine: Engine, erasure: Erasure, before_ms: int
) -> None:
    owner_id, plate = erasure.user_id, erasure.plate or ""
    corrected = in_transaction(
        engine, lambda session: corrections_to(session, owner_id, plate, before_ms=before_ms)
    )
    misread = [Misreading(*each) for each in corrected]
    asyncio.run(
        erase_stored_plate(settings, settings, owner_id, plate, misread, before_ms=before_ms)
    )

    def rows(session: Session) -> None:
        erase_corrections(session, owner_id, plate, before_ms=before_ms)
        erase_from_entries(session, owner_id, plate)

    in_transaction(engine, rows)


def _corrected(session: Session, owner_id: UUID) -> set[str]:
    found = session.execute(
        select(CorrectionEntry.reading, CorrectionEntry.plate).where(
            CorrectionEntry.owner_id == owner_id
        )
    )
    return {text for row in found for text in row if text}
