"""Stores one row per outcome of a pass or an image call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.rows import (
    LABEL,
    LAST_STORABLE_MS,
    TIME,
    UUIDS,
    Column,
    Table,
    columns_of,
    shared_fields,
)
from common.errors import InvalidInputError
from common.records.ids import uuid_unix_ms
from common.records.recognitions import PassOutcome, RecognitionSource


@dataclass(frozen=True, kw_only=True)
class OutcomeRow:
    """The outcome of a pass or an image call as stored. ``at_ms`` is Unix ms, UTC."""

    user_id: Annotated[UUID, Column(UUIDS)]
    at_ms: Annotated[int, Column(TIME, "ts")]
    id: Annotated[UUID, Column(UUIDS)]
    camera_id: Annotated[UUID, Column(UUIDS)]
    source: Annotated[RecognitionSource, Column(LABEL, value=lambda row: row.source.value)]
    accepted: Annotated[bool, Column("Bool")]


_as_recorded = shared_fields(OutcomeRow, but=("user_id",))
_OUTCOMES: Final = Table[OutcomeRow]("pass_outcomes", columns_of(OutcomeRow))


def outcome_row(record: PassOutcome) -> OutcomeRow:
    """Return the row for a record of the outcomes topic.

    Raises:
        InvalidInputError: the time is out of range, or the ID does not match the time.
    """
    if not 0 <= record.at_ms < LAST_STORABLE_MS:
        raise InvalidInputError(f"at_ms is out of range: {record.at_ms}", code="time_out_of_range")
    if uuid_unix_ms(record.id) != record.at_ms:
        raise InvalidInputError("the ID does not begin with at_ms", code="id_of_other_time")
    return OutcomeRow(user_id=record.owner_id, **_as_recorded(record))


async def insert_outcomes(client: ClickHouseClient, rows: Sequence[OutcomeRow]) -> None:
    """Write rows and return once they are stored. Rewriting a row does not duplicate it.

    Raises:
        TransientError: ClickHouse is unavailable or busy; the rows can be written again.
    """
    await client.insert(_OUTCOMES, rows)
