"""What was erased on request, in ClickHouse: none of it is written again, however late it comes."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors
from analytics_sql.inserts import insert_values
from analytics_sql.rows import LAST_STORABLE_MS
from analytics_sql.statements import query_text

_COLUMN_TYPES = {
    "user_id": "UUID",
    "plate_hash": "String",
    "before": "DateTime64(3, 'UTC')",
}
_ALL_PLATES = ""


@dataclass(frozen=True)
class Erasure:
    """A plate (normalised) of an owner, as far as it was captured in a time.

    ``from_ms`` is inclusive, ``before_ms`` exclusive (Unix ms, UTC). No plate: all that there is of
    the owner, whenever it was captured.
    """

    user_id: UUID
    plate: str | None = None
    before_ms: int = LAST_STORABLE_MS
    from_ms: int = 0

    @property
    def plate_hash(self) -> str:
        """SHA-256 of owner and plate, lower hexadecimal; empty without a plate."""
        return _ALL_PLATES if self.plate is None else _plate_hash(self.user_id, self.plate)


@dataclass(frozen=True)
class Subject:
    """What a row is about: the plates (normalised) that it names, and when (Unix ms, UTC)."""

    user_id: UUID
    at_ms: int
    plates: frozenset[str] = frozenset()


class Erasures:
    """What was erased, as a list of thirty days; plates are known by their hash alone."""

    def __init__(self, rows: Iterable[tuple[UUID, str, int]] = ()) -> None:
        """Take owner, hash of the plate (empty: all of the owner), before (Unix ms) of each."""
        self._before_ms: dict[UUID, dict[str, int]] = {}
        for user_id, plate_hash, before_ms in rows:
            self._before_ms.setdefault(user_id, {})[plate_hash] = before_ms
        self._last_ms = {user: max(each.values()) for user, each in self._before_ms.items()}

    def __eq__(self, other: object) -> bool:
        """Tell whether both are the same list."""
        return isinstance(other, Erasures) and self._before_ms == other._before_ms

    def covering(self, subject: Subject) -> Iterator[Erasure]:
        """Return the erasures that a row of this subject falls under."""
        # Almost no row does: what has just happened is past all of them, and nothing is hashed.
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
        """Tell whether anything of its owner and its time was erased, of whatever plate."""
        return subject.at_ms < self._last_ms.get(subject.user_id, 0)

    def covers(self, subject: Subject) -> bool:
        """Tell whether a row of this subject falls under any."""
        return any(self.covering(subject))


async def note_erasure(client: AsyncClient, erasure: Erasure) -> None:
    """Remember an erasure for thirty days; from then on the sink writes nothing that it covers.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    values = (erasure.user_id, erasure.plate_hash, erasure.before_ms)
    await insert_values(client, "erasures", _COLUMN_TYPES, [values])


async def list_erasures(client: AsyncClient) -> Erasures:
    """Return what was erased within thirty days.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    with clickhouse_errors():
        result = await client.query(query_text("erasures"))
    return Erasures(
        (user_id, str(text), before_ms) for user_id, text, before_ms in result.result_rows
    )


def _plate_hash(user_id: UUID, plate: str) -> str:
    return hashlib.sha256(f"{user_id} {plate}".encode()).hexdigest()
