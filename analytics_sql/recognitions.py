"""Recognitions in ClickHouse: written in batches, listed in pages, read by id."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors
from analytics_sql.inserts import insert_values
from analytics_sql.plate_conditions import like_pattern, plate_question
from analytics_sql.rows import (
    COLUMN_TYPES,
    LAST_STORABLE_MS,
    ListedRecognition,
    RecognitionRow,
    column_values,
    full_recognition,
    listed_recognition,
    recognition_row,
)
from analytics_sql.statements import query_asking_for, query_text
from contracts.ids import LONGEST_PASS_MS, uuid_unix_ms
from contracts.matching import MatchMode

__all__ = [
    "ListedRecognition",
    "RecognitionCursor",
    "RecognitionFilter",
    "RecognitionPage",
    "RecognitionRow",
    "get_recognition",
    "insert_recognitions",
    "like_pattern",
    "list_recognitions",
    "recognition_row",
]

# Copies of rows are rare: merges drop them within minutes of a replay.
_EXPECTED_COPIES = 4
# Reading in the order of time would keep the projection by camera from being used, and takes rows
# one by one where few are wanted.
_SCAN = {"optimize_read_in_order": 0}


@dataclass(frozen=True)
class RecognitionFilter:
    """Which recognitions of an owner are wanted; None: no such condition.

    ``plate`` is matched as ``match`` says after normalising; a fuzzy one holds no wildcards.
    ``from_ms`` is inclusive, ``to_ms`` exclusive (Unix ms, UTC); ``min_confidence`` is inclusive,
    0..1.
    """

    user_id: UUID
    plate: str | None = None
    camera_id: UUID | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    min_confidence: float = 0.0
    match: MatchMode = MatchMode.SUBSTRING


@dataclass(frozen=True)
class RecognitionCursor:
    """The last row of a page: the next page goes on behind it."""

    captured_ms: int
    id: UUID


@dataclass(frozen=True)
class RecognitionPage:
    """Rows, newest first; ``next_after`` is None where nothing follows."""

    rows: tuple[ListedRecognition, ...]
    next_after: RecognitionCursor | None


async def insert_recognitions(client: AsyncClient, rows: Sequence[RecognitionRow]) -> None:
    """Write rows; when this returns they are stored. A row written before is the same row.

    Raises:
        TransientError: ClickHouse is away or busy: the same rows may be written again.
    """
    await insert_values(client, "recognitions", COLUMN_TYPES, [column_values(row) for row in rows])


async def get_recognition(
    client: AsyncClient, user_id: UUID, recognition_id: UUID
) -> RecognitionRow | None:
    """Return an owner's recognition, or None if the owner has none of this id.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    id_ms = uuid_unix_ms(recognition_id)
    if id_ms >= LAST_STORABLE_MS:
        return None
    parameters = {
        "user_id": user_id,
        "id": recognition_id,
        "from_ms": max(0, id_ms - LONGEST_PASS_MS),
        "to_ms": id_ms + LONGEST_PASS_MS,
    }
    with clickhouse_errors():
        result = await client.query(query_text("recognition_by_id"), parameters=parameters)
    return full_recognition(result.result_rows[0]) if result.result_rows else None


async def list_recognitions(
    client: AsyncClient,
    wanted: RecognitionFilter,
    after: RecognitionCursor | None,
    limit: int,
) -> RecognitionPage:
    """Return an owner's recognitions, newest first, from behind ``after``.

    Rows of the same millisecond come in the order of their ids as ClickHouse compares them. Rows
    that arrive between two pages never make one repeat or skip.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    asked = limit + 1 + _EXPECTED_COPIES
    while True:
        found = await _listed(client, wanted, after, asked)
        rows = _without_copies(found)
        if len(rows) > limit or len(found) < asked:
            return _page(rows, limit)
        asked *= 2


def _without_copies(rows: list[ListedRecognition]) -> list[ListedRecognition]:
    return list({row.id: row for row in rows}.values())


def _page(rows: list[ListedRecognition], limit: int) -> RecognitionPage:
    if len(rows) <= limit:
        return RecognitionPage(tuple(rows), None)
    last = rows[limit - 1]
    return RecognitionPage(tuple(rows[:limit]), RecognitionCursor(last.captured_ms, last.id))


def _conditions(
    wanted: RecognitionFilter, after: RecognitionCursor | None
) -> dict[str, object | None]:
    return {
        "from_ms": wanted.from_ms,
        "to_ms": wanted.to_ms,
        "after_ms": None if after is None else after.captured_ms,
        "after_id": None if after is None else after.id,
        "camera_id": wanted.camera_id,
        "min_confidence": wanted.min_confidence or None,
    }


async def _listed(
    client: AsyncClient, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
) -> list[ListedRecognition]:
    plates = plate_question(wanted.plate, wanted.match)
    asked = {**_conditions(wanted, after), **plates.parameters}
    given = {name: value for name, value in asked.items() if value is not None}
    scan = plates.is_rarely_met or wanted.camera_id is not None
    with clickhouse_errors():
        result = await client.query(
            query_asking_for("recognitions_page", frozenset(given)),
            parameters={"user_id": wanted.user_id, "limit": limit, **given},
            settings=_SCAN if scan else None,
        )
    return [listed_recognition(values) for values in result.result_rows]
