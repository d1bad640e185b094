"""Writes recognitions to ClickHouse in batches, and reads them in pages or by ID.

All functions raise TransientError if ClickHouse is unavailable or busy. Rows that were not stored
can then be written again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.plate_search import plate_question
from analytics_sql.rows import (
    LAST_STORABLE_MS,
    RECOGNITIONS,
    TIME,
    Column,
    RecognitionRow,
    Table,
    read_recognition,
    recognition_row,
)
from common.plates.edit_distance import ANY_CHARACTER, ANY_TEXT
from common.plates.matching import MatchMode
from common.records.ids import MAX_PASS_MS, uuid_unix_ms
from common.records.topics import RECOGNITIONS as RECOGNITIONS_TOPIC
from common.timestamps import now_ms

__all__ = [
    "RecognitionCursor",
    "RecognitionFilter",
    "RecognitionPage",
    "RecognitionRow",
    "correct_recognitions",
    "get_recognition",
    "insert_recognitions",
    "list_recognitions",
    "page_parameters",
    "get_recognitions",
    "recognition_row",
]

# The latest row with an ID is valid. Corrections count as later than rows written from Kafka.
_CORRECTIONS: Final = Table[RecognitionRow](
    RECOGNITIONS.name,
    (
        *RECOGNITIONS.columns,
        Column(TIME, "ingested_at", lambda _: now_ms() + RECOGNITIONS_TOPIC.retention_ms),
    ),
)

# Duplicate rows are rare, because merges remove duplicates within minutes after a replay.
_EXPECTED_COPIES = 4
# The newest rows are searched first, because frequent plates fill a page from these rows. The
# projections then find the few rows of rare plates. A lookup of a plate costs as much as reading a
# thousand rows in order, so a frequent text justifies searching more rows. For long texts, the
# small number only detects whether nearly all plates are alike.
_NEWEST_ROWS = 65_536
_NEWEST_OF_RARE = 1_024
_NEWEST_WITH_THREE = 524_288
_NEWEST_WITH_THREE_IN_PLACE = 8_192
_NEWEST_WITHOUT_PIECE = 1_048_576
_RARE_CHARACTERS = 3


@dataclass(frozen=True)
class RecognitionFilter:
    """Conditions on an account's recognitions. A field that is None sets no condition.

    ``plate`` is normalised and matched according to ``match``. A fuzzy search has no wildcards.
    ``from_ms`` is inclusive, ``to_ms`` exclusive (Unix ms, UTC); ``min_confidence`` is inclusive, 0
    to 1.
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
    """The last row of a page, after which the next page starts."""

    captured_ms: int
    id: UUID


@dataclass(frozen=True)
class RecognitionPage:
    """A page of rows, newest first. ``next_after`` is None on the last page."""

    rows: tuple[RecognitionRow, ...]
    next_after: RecognitionCursor | None


async def insert_recognitions(client: ClickHouseClient, rows: Sequence[RecognitionRow]) -> None:
    """Write rows and return once they are stored. Rewriting a row does not duplicate it."""
    await client.insert(RECOGNITIONS, rows)


async def correct_recognitions(client: ClickHouseClient, rows: Sequence[RecognitionRow]) -> None:
    """Write rows that replace all rows with the same IDs, even rows that are written later."""
    await client.insert(_CORRECTIONS, rows)


async def get_recognition(
    client: ClickHouseClient, owner_id: UUID, recognition_id: UUID
) -> RecognitionRow | None:
    """Return an account's recognition, or None if the account has none with this ID."""
    id_ms = uuid_unix_ms(recognition_id)
    if id_ms >= LAST_STORABLE_MS:
        return None
    parameters = {
        "user_id": owner_id,
        "id": recognition_id,
        "from_ms": max(0, id_ms - MAX_PASS_MS),
        "to_ms": id_ms + MAX_PASS_MS,
    }
    result = await client.query("recognition_by_id", parameters)
    return next(map(read_recognition, result.named()), None)


async def list_recognitions(
    client: ClickHouseClient,
    wanted: RecognitionFilter,
    after: RecognitionCursor | None,
    limit: int,
) -> RecognitionPage:
    """Return an account's recognitions, newest first, starting after ``after``.

    Rows with the same millisecond are ordered by ID, as compared by ClickHouse. Rows added between
    two pages never cause a row to be repeated or skipped.
    """
    if newest := _newest_rows(wanted):
        rows = _without_copies(await _newest(client, wanted, after, limit, newest))
        if len(rows) > limit:
            return _page(rows, limit)
    asked = limit + 1 + _EXPECTED_COPIES
    while True:
        found = await _listed(client, wanted, after, asked)
        rows = _without_copies(found)
        if len(rows) > limit or len(found) < asked:
            return _page(rows, limit)
        asked *= 2


async def get_recognitions(
    client: ClickHouseClient, owner_id: UUID, positions: Sequence[RecognitionCursor]
) -> tuple[RecognitionRow, ...]:
    """Return an account's existing recognitions at these positions, unordered."""
    if not positions:
        return ()
    parameters = {
        "user_id": owner_id,
        "ids": [place.id for place in positions],
        "times": [place.captured_ms for place in positions],
    }
    found = await client.query("recognitions_at", parameters)
    return tuple(_without_copies([read_recognition(row) for row in found.named()]))


def _characters(wanted: RecognitionFilter) -> int:
    return len((wanted.plate or "").replace(ANY_TEXT, "").replace(ANY_CHARACTER, ""))


def _is_in_few(wanted: RecognitionFilter) -> bool:
    """Return whether matching plates probably have fewer rows than the camera, if one is given."""
    return wanted.camera_id is None or _characters(wanted) > _RARE_CHARACTERS


def _newest_rows(wanted: RecognitionFilter) -> int:
    """Return how many of the newest rows to search first, or 0 to skip this search."""
    if not wanted.plate:
        return _NEWEST_ROWS if wanted.camera_id is not None or wanted.min_confidence else 0
    if wanted.camera_id is not None:
        # A single camera has few rows.
        return 0
    characters = _characters(wanted)
    pieces = plate_question(wanted.plate, wanted.match).pieces
    if wanted.match is MatchMode.WILDCARD and "pieces" not in pieces:
        # No two adjacent characters are given, so nearly all plates would have to be compared.
        return _NEWEST_WITHOUT_PIECE
    if wanted.match is MatchMode.EXACT or characters > _RARE_CHARACTERS:
        return _NEWEST_OF_RARE
    if characters < _RARE_CHARACTERS:
        return _NEWEST_ROWS
    is_anywhere = wanted.match is MatchMode.SUBSTRING
    return _NEWEST_WITH_THREE if is_anywhere else _NEWEST_WITH_THREE_IN_PLACE


def _without_copies(rows: list[RecognitionRow]) -> list[RecognitionRow]:
    """Return each row once. Of duplicates, return the row with the fewest images."""
    found: dict[UUID, RecognitionRow] = {}
    for row in rows:
        known = found.get(row.id)
        if known is None or _image_count(row) < _image_count(known):
            found[row.id] = row
    return list(found.values())


def _image_count(row: RecognitionRow) -> int:
    return (row.photo_key is not None) + (row.crop_key is not None)


def _page(rows: list[RecognitionRow], limit: int) -> RecognitionPage:
    if len(rows) <= limit:
        return RecognitionPage(tuple(rows), None)
    last = rows[limit - 1]
    return RecognitionPage(tuple(rows[:limit]), RecognitionCursor(last.captured_ms, last.id))


def page_parameters(
    wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
) -> dict[str, object]:
    """Return the parameters of ``recognitions_page.sql``."""
    asked: dict[str, object | None] = {
        "from_ms": wanted.from_ms,
        "to_ms": wanted.to_ms,
        "after_ms": None if after is None else after.captured_ms,
        "after_id": None if after is None else after.id,
        "camera_id": wanted.camera_id,
        "min_confidence": wanted.min_confidence or None,
        **plate_question(wanted.plate, wanted.match).parameters,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return {"user_id": wanted.user_id, "limit": limit, **given}


async def _newest(
    client: ClickHouseClient,
    wanted: RecognitionFilter,
    after: RecognitionCursor | None,
    limit: int,
    newest: int,
) -> list[RecognitionRow]:
    """Return matches among the account's ``newest`` most recent rows after ``after``."""
    question = page_parameters(wanted, after, limit + 1 + _EXPECTED_COPIES)
    result = await client.query("recognitions_page", {**question, "newest": newest})
    return [read_recognition(found) for found in result.named()]


async def _listed(
    client: ClickHouseClient, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
) -> list[RecognitionRow]:
    """Return matches from all rows, however old."""
    question = page_parameters(wanted, after, limit)
    if not (wanted.plate or wanted.camera_id is not None):
        result = await client.query("recognitions_page", question)
    else:
        pieces = plate_question(wanted.plate, wanted.match).pieces
        where = pieces if _is_in_few(wanted) else {"by_camera": True}
        result = await client.query("recognitions_page_by_index", {**question, **where})
    return [read_recognition(found) for found in result.named()]
