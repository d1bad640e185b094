"""Erases rows permanently, and records each erasure so that late rows are not written again.

All functions raise TransientError if ClickHouse is unavailable or busy.

The ``erase_`` functions return once the rows are deleted, and are safe to repeat. They also raise
TransientError if a statement times out. The server then continues the statement.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final
from uuid import UUID

from analytics_sql.client import ClickHouseClient, query_text
from analytics_sql.erased_images import STORED_BY_THEN_MS
from analytics_sql.rows import LAST_STORABLE_MS, TEXT, TIME, UUIDS, Column, Table
from common.plates.normalise import normalise_plate

_ALL_PLATES = ""
_SPELLINGS: Final = 50
"""Maximum number of spellings of a plate per statement, as its parameters are part of the URL."""
DERIVED: Final = (
    "plate_pieces",
    "plate_ranks",
    "traffic_buckets",
    "traffic_reopened",
    "traffic_states",
)


@dataclass(frozen=True)
class Erasure:
    """Selects the rows to erase: an account's rows with a normalised plate, in a time range.

    ``from_ms`` is inclusive, ``before_ms`` exclusive (Unix ms, UTC). Without a plate, all data of
    the account is erased, regardless of the capture time.
    """

    user_id: UUID
    plate: str | None = None
    before_ms: int = LAST_STORABLE_MS
    from_ms: int = 0

    @property
    def plate_hash(self) -> str:
        """Lower-case hexadecimal SHA-256 of account and plate, or empty without a plate."""
        return _ALL_PLATES if self.plate is None else _plate_hash(self.user_id, self.plate)


@dataclass(frozen=True)
class StoredErasure:
    """A recorded erasure. ``plate_hash`` is empty if the whole account is erased.

    ``before_ms`` is exclusive (Unix ms, UTC).
    """

    user_id: UUID
    plate_hash: str
    before_ms: int


_ERASURES: Final = Table[StoredErasure](
    "erasures",
    (
        Column(UUIDS, "user_id"),
        Column(TEXT, "plate_hash"),
        Column(TIME, "before", attrgetter("before_ms")),
    ),
)


@dataclass(frozen=True)
class Subject:
    """The account, the time (Unix ms, UTC) and the normalised plates of a row."""

    user_id: UUID
    at_ms: int
    plates: frozenset[str] = frozenset()


class Erasures:
    """The erasures of the last thirty days. Only the hashes of plates are known."""

    def __init__(self, rows: Iterable[tuple[UUID, str, int]] = ()) -> None:
        """Each row has an account, a plate hash (empty: whole account) and ``before_ms``."""
        self._before_ms: dict[UUID, dict[str, int]] = {}
        for user_id, plate_hash, before_ms in rows:
            self._before_ms.setdefault(user_id, {})[plate_hash] = before_ms
        self._last_ms = {user: max(each.values()) for user, each in self._before_ms.items()}

    def __eq__(self, other: object) -> bool:
        """Return whether both objects contain the same erasures."""
        return isinstance(other, Erasures) and self._before_ms == other._before_ms

    def covering(self, subject: Subject) -> Iterator[Erasure]:
        """Return the erasures that apply to a row with this subject."""
        # Most rows are newer than all erasures, so few plates have to be hashed.
        if not self.reach(subject):
            return
        of_owner = self._before_ms[subject.user_id]
        if _ALL_PLATES in of_owner:
            yield Erasure(subject.user_id)
            return
        for plate in subject.plates:
            before_ms = of_owner.get(_plate_hash(subject.user_id, plate), 0)
            if subject.at_ms < before_ms:
                yield Erasure(subject.user_id, plate, before_ms)

    def reach(self, subject: Subject) -> bool:
        """Return whether an erasure covers the subject's account and time, for any plate."""
        return subject.at_ms < self._last_ms.get(subject.user_id, 0)

    def covers(self, subject: Subject) -> bool:
        """Return whether any erasure applies to a row with this subject."""
        return any(self.covering(subject))


async def insert_erasure(client: ClickHouseClient, erasure: Erasure) -> None:
    """Record an erasure for thirty days, so that the sink does not write erased rows again."""
    await insert_erasures(client, [stored_erasure(erasure)])


def stored_erasure(erasure: Erasure) -> StoredErasure:
    """Return the recorded form of an erasure, which does not contain the plate."""
    return StoredErasure(erasure.user_id, erasure.plate_hash, erasure.before_ms)


async def insert_erasures(client: ClickHouseClient, erasures: Sequence[StoredErasure]) -> None:
    """Record erasures for thirty days from now, for example after restoring an older backup."""
    await client.insert(_ERASURES, erasures)


async def list_stored_erasures(client: ClickHouseClient) -> list[StoredErasure]:
    """Return the erasures of the last thirty days."""
    rows = await client.rows("erasures")
    return [StoredErasure(user_id, str(text), before_ms) for user_id, text, before_ms in rows]


async def list_plates(client: ClickHouseClient, user_id: UUID) -> set[str]:
    """Return the plates of an account's recognitions and triggers."""
    rows = await client.rows("plates_of_owner", {"user_id": user_id})
    return {str(plate) for (plate,) in rows}


async def list_erasures(client: ClickHouseClient) -> Erasures:
    """Return the erasures of the last thirty days, prepared for matching."""
    found = await list_stored_erasures(client)
    return Erasures((each.user_id, each.plate_hash, each.before_ms) for each in found)


def _plate_hash(user_id: UUID, plate: str) -> str:
    return hashlib.sha256(f"{user_id} {plate}".encode()).hexdigest()


_Statements = tuple[str, str]
"""The query that counts the rows of a plate, and the statement that erases these rows."""

_TRIGGERS = ("plate_triggers", "erase_plate_triggers")
_DELIVERIES = ("plate_deliveries", "erase_plate_deliveries")
_PIECES = ("plate_in_pieces", "erase_plate_pieces")
_RANK = ("plate_in_rank", "erase_plate_rank")
_SHARED_PHOTOS = ("plate_shared_photos", "erase_shared_photos")


async def erase_recognitions(
    client: ClickHouseClient, erasure: Erasure, *, records_images: bool = True
) -> int:
    """Delete recognitions, record their images for removal, and return the number of rows.

    If ``records_images`` is false, the caller must remove the images that an account already has;
    only images that are stored later are recorded. The photo of an image call is removed even if it
    shows other plates. The rows of these plates lose the photo's key.
    """
    if erasure.plate is None:
        parameters = {**_parameters("note_owner_images", erasure), "now_too": int(records_images)}
        await client.command("note_owner_images", parameters)
        erased = await _erase_owner(client, "recognitions", erasure.user_id)
        await erase_derived(client, erasure.user_id)
        return erased
    found = await client.count("plate_recognitions", _parameters("plate_recognitions", erasure))
    if found:
        # Until the rows are deleted, count these quarters row by row instead of using rollups.
        await _run(client, "reopen_plate_quarters", erasure)
        await _run(client, "note_plate_images", erasure)
        await _erase(client, _SHARED_PHOTOS, erasure)
        await _run(client, "erase_plate_recognitions", erasure)
        await _run(client, "plate_quarters_erased", erasure)
    if await _erase(client, _PIECES, erasure):
        await _run(client, "restore_plate_pieces", erasure)
    await _erase(client, _RANK, erasure)
    return found


async def erase_derived(client: ClickHouseClient, user_id: UUID) -> None:
    """Delete the rollups of an account's recognitions and outcomes."""
    for table in DERIVED:
        await _erase_owner(client, table, user_id)


async def erase_triggers(client: ClickHouseClient, erasure: Erasure) -> int:
    """Clear a plate from triggers, or delete an account's triggers. Return how many were erased."""
    if erasure.plate is None:
        return await _erase_owner(client, "alert_triggers", erasure.user_id)
    return await _erase(client, _TRIGGERS, erasure)


async def erase_deliveries(client: ClickHouseClient, erasure: Erasure) -> int:
    """Clear the content of deliveries that contain the plate. Return the number of deliveries.

    If the erasure covers a whole account, delete and count all delivery attempts instead.
    """
    if erasure.plate is None:
        return await _erase_owner(client, "delivery_attempts", erasure.user_id)
    # ClickHouse does not normalise plates, so the query gets the hashes of all spellings.
    found = await client.rows("plate_spellings", _parameters("plate_spellings", erasure))
    written = [str(plate) for (plate,) in found if normalise_plate(plate) == erasure.plate]
    hashes = [_plate_hash(erasure.user_id, plate) for plate in (erasure.plate, *written)]
    erased = 0
    for start in range(0, len(hashes), _SPELLINGS):
        some = hashes[start : start + _SPELLINGS]
        erased += await _erase(client, _DELIVERIES, erasure, spelling_hashes=some)
    return erased


async def erase_outcomes(client: ClickHouseClient, erasure: Erasure) -> int:
    """Delete an account's outcomes and return their number. If only a plate is erased, return 0."""
    if erasure.plate is None:
        return await _erase_owner(client, "pass_outcomes", erasure.user_id)
    return 0


async def erase_camera_counts(client: ClickHouseClient, erasure: Erasure) -> int:
    """Delete an account's camera counts, and return their number; 0 if only a plate is erased."""
    if erasure.plate is None:
        return await _erase_owner(client, "camera_counts", erasure.user_id)
    return 0


async def _run(client: ClickHouseClient, statement: str, erasure: Erasure) -> None:
    await client.command(statement, _parameters(statement, erasure))


async def _erase(
    client: ClickHouseClient, statements: _Statements, erasure: Erasure, **more: object
) -> int:
    # Count first, because a statement that changes nothing still scans every part of the table.
    count, erase = statements
    found = await client.count(count, _parameters(count, erasure) | more)
    if found:
        await client.command(erase, _parameters(erase, erasure) | more)
    return found


async def _erase_owner(client: ClickHouseClient, table: str, user_id: UUID) -> int:
    parameters = {"table": table, "user_id": user_id}
    found = await client.count("owner_rows", parameters)
    if found:
        await client.command("erase_owner_rows", parameters)
    return found


def _parameters(statement: str, erasure: Erasure) -> dict[str, object]:
    """Return the parameters that a statement uses, to pass the plate only if it is needed."""
    given: dict[str, object] = {
        "user_id": erasure.user_id,
        "plate": erasure.plate,
        "plate_hash": erasure.plate_hash,
        "from_ms": erasure.from_ms,
        "before_ms": erasure.before_ms,
        "later_ms": STORED_BY_THEN_MS,
    }
    text = query_text(statement)
    return {name: value for name, value in given.items() if f"{{{name}:" in text}
