"""Recognitions in ClickHouse: written in batches, listed in pages, read by id."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors
from analytics_sql.statements import query_text
from contracts.errors import InvalidInputError
from contracts.ids import uuid_unix_ms
from contracts.plates import normalise_plate
from contracts.records import Box, Recognition, RecognitionSource

# Where the newest page of most questions lies. Looking there first costs 5 ms and saves reading
# months of days for a page that two of them fill.
_FIRST_LOOK_MS = 2 * 86_400_000
_LAST_STORABLE_MS = 4_102_444_800_000  # 2100-01-01: day partitions are 16-bit

_INSERT_TYPES = {
    "user_id": "UUID",
    "id": "UUID",
    "ts": "DateTime64(3, 'UTC')",
    "camera_id": "UUID",
    "camera_name": "LowCardinality(String)",
    "plate": "String",
    "confidence": "Float64",
    "character_confidences": "Array(Float64)",
    "region": "LowCardinality(String)",
    "plate_type": "LowCardinality(String)",
    "source": "LowCardinality(String)",
    "first_seen": "DateTime64(3, 'UTC')",
    "last_seen": "DateTime64(3, 'UTC')",
    "readings_count": "UInt32",
    "photo_key": "String",
    "crop_key": "String",
    "box_x": "Float64",
    "box_y": "Float64",
    "box_width": "Float64",
    "box_height": "Float64",
}


@dataclass(frozen=True)
class RecognitionRow:
    """One recognition as stored.

    Times are Unix ms, UTC; confidences 0..1; ``box`` in pixels of the frame; ``plate`` normalised.
    """

    id: UUID
    user_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    character_confidences: tuple[float, ...]
    captured_ms: int
    first_seen_ms: int
    last_seen_ms: int
    readings_count: int
    box: Box | None = None
    photo_key: str | None = None
    crop_key: str | None = None
    region: str | None = None
    plate_type: str = "car"
    source: RecognitionSource = RecognitionSource.CAMERA


@dataclass(frozen=True)
class RecognitionFilter:
    """Which recognitions of an owner are wanted; None: no such condition.

    ``plate`` is matched as a substring after normalising; ``from_ms`` is inclusive, ``to_ms``
    exclusive (Unix ms, UTC); ``min_confidence`` is inclusive, 0..1.
    """

    user_id: UUID
    plate: str | None = None
    camera_id: UUID | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    min_confidence: float = 0.0


@dataclass(frozen=True)
class RecognitionCursor:
    """The last row of a page: the next page goes on behind it."""

    captured_ms: int
    id: UUID


@dataclass(frozen=True)
class RecognitionPage:
    """Rows, newest first; ``next_after`` is None where nothing follows."""

    rows: tuple[RecognitionRow, ...]
    next_after: RecognitionCursor | None


def recognition_row(record: Recognition) -> RecognitionRow:
    """Return the row for a record of the recognitions topic.

    Raises:
        InvalidInputError: a time that the table cannot hold, or an id of another time.
    """
    if not 0 <= record.captured_ms < _LAST_STORABLE_MS:
        raise InvalidInputError(f"captured_ms {record.captured_ms}", code="time_out_of_range")
    if uuid_unix_ms(record.id) != record.captured_ms:
        raise InvalidInputError("the id does not begin with captured_ms", code="id_of_other_time")
    return RecognitionRow(
        record.id,
        record.owner_id,
        record.camera_id,
        record.camera_name,
        normalise_plate(record.plate),
        record.confidence,
        record.character_confidences,
        record.captured_ms,
        record.first_seen_ms,
        record.last_seen_ms,
        record.readings_count,
        record.box,
        record.photo_key,
        record.crop_key,
        record.region,
        record.plate_type,
        record.source,
    )


async def insert_recognitions(client: AsyncClient, rows: Sequence[RecognitionRow]) -> None:
    """Write rows; when this returns they are stored. A row written before is the same row.

    Raises:
        TransientError: ClickHouse is away or busy: the same rows may be written again.
    """
    if not rows:
        return
    columns = list(zip(*(_values(row) for row in rows), strict=True))
    with clickhouse_errors():
        await client.insert(
            "recognitions",
            columns,
            column_names=list(_INSERT_TYPES),
            column_type_names=list(_INSERT_TYPES.values()),
            column_oriented=True,
            # Rows of many days are rare, after a long outage, but no reason to be refused.
            settings={"max_partitions_per_insert_block": 0},
        )


def _values(row: RecognitionRow) -> tuple[object, ...]:
    box = row.box or Box(x=0.0, y=0.0, width=0.0, height=0.0)
    return (
        row.user_id,
        row.id,
        row.captured_ms,
        row.camera_id,
        row.camera_name,
        row.plate,
        row.confidence,
        row.character_confidences,
        row.region or "",
        row.plate_type,
        row.source.value,
        row.first_seen_ms,
        row.last_seen_ms,
        row.readings_count,
        row.photo_key or "",
        row.crop_key or "",
        box.x,
        box.y,
        box.width,
        box.height,
    )


async def get_recognition(
    client: AsyncClient, user_id: UUID, recognition_id: UUID
) -> RecognitionRow | None:
    """Return an owner's recognition, or None if the owner has none of this id.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    captured_ms = uuid_unix_ms(recognition_id)
    if captured_ms >= _LAST_STORABLE_MS:
        return None
    parameters = {"user_id": user_id, "id": recognition_id, "captured_ms": captured_ms}
    rows = await _rows(client, "recognition_by_id", parameters)
    return rows[0] if rows else None


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
    first_look_from = _first_look_from(wanted, after)
    parameters = _parameters(wanted, after, limit + 1)
    if wanted.from_ms is not None and wanted.from_ms >= first_look_from:
        return _page(await _rows(client, "recognitions_page", parameters), limit)
    look = parameters | {"from_ms": first_look_from}
    rows = await _rows(client, "recognitions_page", look)
    if len(rows) <= limit:
        query = "recognitions_search" if _is_selective(wanted) else "recognitions_page"
        rows = await _rows(client, query, parameters)
    return _page(rows, limit)


def _first_look_from(wanted: RecognitionFilter, after: RecognitionCursor | None) -> int:
    ends = [int(time.time() * 1000)]
    if wanted.to_ms is not None:
        ends.append(wanted.to_ms)
    if after is not None:
        ends.append(after.captured_ms)
    return max(0, min(ends) - _FIRST_LOOK_MS)


def _is_selective(wanted: RecognitionFilter) -> bool:
    return bool(wanted.plate) or wanted.camera_id is not None or wanted.min_confidence > 0


def _page(rows: list[RecognitionRow], limit: int) -> RecognitionPage:
    if len(rows) <= limit:
        return RecognitionPage(tuple(rows), None)
    last = rows[limit - 1]
    return RecognitionPage(tuple(rows[:limit]), RecognitionCursor(last.captured_ms, last.id))


def _parameters(
    wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
) -> dict[str, object]:
    return {
        "user_id": wanted.user_id,
        "from_ms": wanted.from_ms,
        "to_ms": wanted.to_ms,
        "after_ms": None if after is None else after.captured_ms,
        "after_id": None if after is None else after.id,
        "camera_id": wanted.camera_id,
        "plate_pattern": like_pattern(wanted.plate),
        "min_confidence": wanted.min_confidence,
        "limit": limit,
    }


def like_pattern(plate: str | None) -> str:
    """Return the LIKE pattern for plates that contain ``plate`` once both are normalised.

    Empty where every plate does. ``%``, ``_`` and ``\\`` stand for themselves.
    """
    text = normalise_plate(plate or "")
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return f"%{text}%" if text else ""


async def _rows(
    client: AsyncClient, query: str, parameters: dict[str, object]
) -> list[RecognitionRow]:
    with clickhouse_errors():
        result = await client.query(query_text(query), parameters=parameters)
    return [_row(values) for values in result.result_rows]


def _row(values: Sequence[Any]) -> RecognitionRow:
    (
        *head,
        character_confidences,
        captured_ms,
        first_seen_ms,
        last_seen_ms,
        readings_count,
        x,
        y,
        width,
        height,
        photo_key,
        crop_key,
        region,
        plate_type,
        source,
    ) = values
    recognition_id, user_id, camera_id, camera_name, plate, confidence = head
    return RecognitionRow(
        recognition_id,
        user_id,
        camera_id,
        camera_name,
        plate,
        confidence,
        tuple(character_confidences),
        captured_ms,
        first_seen_ms,
        last_seen_ms,
        readings_count,
        Box(x=x, y=y, width=width, height=height) if width else None,
        photo_key or None,
        crop_key or None,
        region or None,
        plate_type,
        RecognitionSource(source),
    )
