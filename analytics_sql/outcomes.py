"""What became of passes and image calls, in ClickHouse: one row each."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.inserts import insert_values
from analytics_sql.rows import LAST_STORABLE_MS
from contracts.errors import InvalidInputError
from contracts.ids import uuid_unix_ms
from contracts.recognitions import PassOutcome

_COLUMN_TYPES = {
    "user_id": "UUID",
    "ts": "DateTime64(3, 'UTC')",
    "id": "UUID",
    "camera_id": "UUID",
    "source": "LowCardinality(String)",
    "accepted": "Bool",
}


@dataclass(frozen=True, kw_only=True)
class OutcomeRow:
    """The outcome of a pass or an image call as stored. ``at_ms`` is Unix ms, UTC."""

    user_id: UUID
    at_ms: int
    id: UUID
    camera_id: UUID
    source: str
    accepted: bool


def outcome_row(record: PassOutcome) -> OutcomeRow:
    """Return the row for a record of the outcomes topic.

    Raises:
        InvalidInputError: a time that the table cannot hold, or an id of another time.
    """
    if not 0 <= record.at_ms < LAST_STORABLE_MS:
        raise InvalidInputError(f"at_ms {record.at_ms}", code="time_out_of_range")
    if uuid_unix_ms(record.id) != record.at_ms:
        raise InvalidInputError("the id does not begin with at_ms", code="id_of_other_time")
    return OutcomeRow(
        user_id=record.owner_id,
        at_ms=record.at_ms,
        id=record.id,
        camera_id=record.camera_id,
        source=record.source.value,
        accepted=record.accepted,
    )


async def insert_outcomes(client: AsyncClient, rows: Sequence[OutcomeRow]) -> None:
    """Write rows; when this returns they are stored. A row written before is the same row.

    Raises:
        TransientError: ClickHouse is away or busy: the same rows may be written again.
    """
    await insert_values(client, "pass_outcomes", _COLUMN_TYPES, [_values(row) for row in rows])


def _values(row: OutcomeRow) -> tuple[object, ...]:
    return (row.user_id, row.at_ms, row.id, row.camera_id, row.source, row.accepted)
