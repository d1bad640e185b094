"""Recognitions in ClickHouse: written in batches, listed in pages, read by id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.rows import (
    LAST_STORABLE_MS,
    RECOGNITIONS,
    RecognitionRow,
    read_recognition,
    recognition_row,
)
from common.plates.edit_distance import ANY_CHARACTER, ANY_TEXT
from common.plates.matching import (
    LOOK_ALIKES,
    STAND_INS,
    MatchMode,
    fold_look_alikes,
    normalise_pattern,
)
from common.plates.normalise import normalise_plate
from common.records.ids import MAX_PASS_MS, uuid_unix_ms

SEARCH_TOLERANCE = 1
"""Edits that a fuzzy search forgives beside look-alikes.

Over seven characters one edit finds a few neighbours of a plate, two find some thousand.
"""


@dataclass(frozen=True)
class PlateQuestion:
    """The parameters that ask for the plates that are wanted."""

    parameters: Mapping[str, object]
    is_rarely_met: bool = False
    """True where few rows fulfil it, so that a scan is quicker than reading in order."""


def plate_question(plate: str | None, match: MatchMode) -> PlateQuestion:
    """Return how ``recognitions_page.sql`` is asked for ``plate``; None or blank: for every one."""
    wanted = normalise_plate(plate or "")
    if match is MatchMode.FUZZY and wanted:
        return _resembling(fold_look_alikes(wanted))
    pattern = like_pattern(plate, match)
    if not pattern:
        return PlateQuestion({})
    return PlateQuestion({"plate_pattern": pattern}, match is MatchMode.WILDCARD)


def _resembling(folded: str) -> PlateQuestion:
    parameters: dict[str, object] = {
        "folded_plate": folded,
        "max_edits": SEARCH_TOLERANCE,
        "look_alikes": LOOK_ALIKES,
        "stand_ins": STAND_INS,
    }
    if parts := parts_for_edits(folded, SEARCH_TOLERANCE):
        parameters["folded_parts"] = parts
    return PlateQuestion(parameters, is_rarely_met=True)


def like_pattern(plate: str | None, match: MatchMode = MatchMode.SUBSTRING) -> str:
    """Return the LIKE pattern for plates that ``plate`` stands for once both are normalised.

    Empty where every plate does. ``%``, ``_`` and ``\\`` stand for themselves. Not for fuzzy.
    """
    text = normalise_pattern(plate or "") if match is MatchMode.WILDCARD else plate or ""
    text = _literal(normalise_plate(text))
    match match:
        case _ if not text:
            return ""
        case MatchMode.EXACT:
            return text
        case MatchMode.PREFIX:
            return f"{text}%"
        case MatchMode.WILDCARD:
            return text.replace(ANY_TEXT, "%").replace(ANY_CHARACTER, "_")
        case _:
            return f"%{text}%"


def _literal(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return text


def parts_for_edits(text: str, edits: int) -> list[str]:
    """Cut ``text`` into parts of which ``edits`` edits can not touch all.

    What is within so many edits of ``text`` therefore holds one of them as it is. No parts where
    ``text`` is too short to be cut.
    """
    if len(text) <= edits:
        return []
    count = edits + 1
    cuts = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]


__all__ = [
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
    """Write rows; when this returns they are stored. A row written before is the same row.

    Raises:
        TransientError: ClickHouse is unavailable or busy: the same rows may be written again.
    """
    await client.insert(RECOGNITIONS, rows)


async def get_recognition(
    client: ClickHouseClient, owner_id: UUID, recognition_id: UUID
) -> RecognitionRow | None:
    """Return an owner's recognition, or None if the owner has none of this id.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
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

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    asked = limit + 1 + _EXPECTED_COPIES
    while True:
        found = await _listed(client, wanted, after, asked)
        rows = _without_copies(found)
        if len(rows) > limit or len(found) < asked:
            return _page(rows, limit)
        asked *= 2


def _without_copies(rows: list[RecognitionRow]) -> list[RecognitionRow]:
    return list({row.id: row for row in rows}.values())


def _page(rows: list[RecognitionRow], limit: int) -> RecognitionPage:
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
    client: ClickHouseClient, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
) -> list[RecognitionRow]:
    plates = plate_question(wanted.plate, wanted.match)
    asked = {**_conditions(wanted, after), **plates.parameters}
    given = {name: value for name, value in asked.items() if value is not None}
    scan = plates.is_rarely_met or wanted.camera_id is not None
    result = await client.query(
        "recognitions_page",
        {"user_id": wanted.user_id, "limit": limit, **given},
        settings=_SCAN if scan else None,
    )
    return [read_recognition(found) for found in result.named()]
