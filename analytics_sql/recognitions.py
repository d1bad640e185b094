"""Recognitions in ClickHouse: written in batches, listed in pages, read by id.

All functions raise TransientError if ClickHouse is unavailable or busy. Rows that were not stored
then can be written again.
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

# Of two rows of one id that counts which was written later: none is while Kafka holds records.
_CORRECTIONS: Final = Table[RecognitionRow](
    RECOGNITIONS.name,
    (
        *RECOGNITIONS.columns,
        Column(TIME, "ingested_at", lambda _: now_ms() + RECOGNITIONS_TOPIC.retention_ms),
    ),
)

# Copies of rows are rare: merges drop them within minutes of a replay.
_EXPECTED_COPIES = 4
# The newest rows are looked through first: what is frequent fills a page from them, and of what
# does not there are few rows, whose times the projections find. How many depends on how often the
# text is met: each plate that is looked up costs as much as a thousand rows that are read in order.
# Among so few as for a long text it is only found out whether nearly all plates are alike.
_NEWEST_ROWS = 65_536
_NEWEST_OF_RARE = 1_024
_NEWEST_WITH_THREE = 524_288
_NEWEST_WITH_THREE_IN_PLACE = 8_192
_NEWEST_WITHOUT_PIECE = 1_048_576
_RARE_CHARACTERS = 3


@dataclass(frozen=True)
class RecognitionFilter:
    """Conditions on an owner's recognitions; None: no such condition.

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

    rows: tuple[RecognitionRow, ...]
    next_after: RecognitionCursor | None


async def insert_recognitions(client: ClickHouseClient, rows: Sequence[RecognitionRow]) -> None:
    """Write rows; when this returns they are stored. A row written before is the same row."""
    await client.insert(RECOGNITIONS, rows)


async def correct_recognitions(client: ClickHouseClient, rows: Sequence[RecognitionRow]) -> None:
    """Write rows that stand for the ones of their ids, also where these are written afterwards."""
    await client.insert(_CORRECTIONS, rows)


async def get_recognition(
    client: ClickHouseClient, owner_id: UUID, recognition_id: UUID
) -> RecognitionRow | None:
    """Return an owner's recognition, or None if the owner has none of this id."""
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
    """Return an owner's recognitions, newest first, from behind ``after``.

    Rows of the same millisecond come in the order of their ids as ClickHouse compares them. Rows
    that arrive between two pages never make one repeat or skip.
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
    """Return those of an owner's recognitions at these places that there are, in no order."""
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
    """Tell whether fewer rows are of such plates than of one camera, where one is asked for."""
    return wanted.camera_id is None or _characters(wanted) > _RARE_CHARACTERS


def _newest_rows(wanted: RecognitionFilter) -> int:
    """Return how many of the newest rows to look through first; 0: none."""
    if not wanted.plate:
        return _NEWEST_ROWS if wanted.camera_id is not None or wanted.min_confidence else 0
    if wanted.camera_id is not None:
        # There are few rows of one camera.
        return 0
    characters = _characters(wanted)
    pieces = plate_question(wanted.plate, wanted.match).pieces
    if wanted.match is MatchMode.WILDCARD and "pieces" not in pieces:
        # No two neighbours are given: nearly all plates would have to be looked at.
        return _NEWEST_WITHOUT_PIECE
    if wanted.match is MatchMode.EXACT or characters > _RARE_CHARACTERS:
        return _NEWEST_OF_RARE
    if characters < _RARE_CHARACTERS:
        return _NEWEST_ROWS
    is_anywhere = wanted.match is MatchMode.SUBSTRING
    return _NEWEST_WITH_THREE if is_anywhere else _NEWEST_WITH_THREE_IN_PLACE


def _without_copies(rows: list[RecognitionRow]) -> list[RecognitionRow]:
    """Return each row once; of copies the one that names fewest images: the others are gone."""
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
    """Return what matches among so many of the newest rows of the owner behind ``after``."""
    question = page_parameters(wanted, after, limit + 1 + _EXPECTED_COPIES)
    result = await client.query("recognitions_page", {**question, "newest": newest})
    return [read_recognition(found) for found in result.named()]


async def _listed(
    client: ClickHouseClient, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
) -> list[RecognitionRow]:
    """Return what matches, however old."""
    question = page_parameters(wanted, after, limit)
    if not (wanted.plate or wanted.camera_id is not None):
        result = await client.query("recognitions_page", question)
    else:
        pieces = plate_question(wanted.plate, wanted.match).pieces
        where = pieces if _is_in_few(wanted) else {"by_camera": True}
        result = await client.query("recognitions_page_by_index", {**question, **where})
    return [read_recognition(found) for found in result.named()]
