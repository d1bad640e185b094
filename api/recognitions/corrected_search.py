"""Corrected recognitions in a search: those that the plate written by hand makes a part of a list.

A list of readings and this one are merged in one order. What is read as the text is in the first
alone, whatever it was corrected to, so no page repeats or skips a row.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
)
from api.adapters.clickhouse import ClickHouseStore
from api.db.database import Database
from api.recognitions.repository import Correction, corrected_before
from common.plates.matching import PlateMatcher, plate_matcher

_AT_ONCE: Final = 1_000
"""Corrections that are looked at together; more of one account take another question each."""

_HALF: Final = 64
_LOW: Final = (1 << _HALF) - 1

Place = tuple[int, int, int]


async def with_corrected(
    database: Database,
    store: ClickHouseStore,
    wanted: RecognitionFilter,
    after: RecognitionCursor | None,
    page: RecognitionPage,
    limit: int,
) -> RecognitionPage:
    """Return a page of readings with the corrected recognitions that belong to it.

    ``page`` holds at most ``limit`` rows, from behind ``after`` on.
    """
    if not wanted.plate:
        return page
    corrected = await _corrected(database, store, wanted, after, page.next_after, limit + 1)
    if not corrected:
        return page
    merged = sorted((*page.rows, *corrected), key=_place_of_row, reverse=True)
    shown = tuple(merged[:limit])
    is_all = page.next_after is None and len(merged) <= limit
    last = shown[-1]
    return RecognitionPage(shown, None if is_all else RecognitionCursor(last.captured_ms, last.id))


async def _corrected(
    database: Database,
    store: ClickHouseStore,
    wanted: RecognitionFilter,
    after: RecognitionCursor | None,
    end: RecognitionCursor | None,
    limit: int,
) -> list[RecognitionRow]:
    """Return the first rows that only their correction makes what is wanted, to ``end`` at most."""
    matcher = plate_matcher(wanted.plate or "", wanted.match)
    before_ms = None if after is None else after.captured_ms + 1
    if wanted.to_ms is not None:
        before_ms = wanted.to_ms if before_ms is None else min(before_ms, wanted.to_ms)
    from_ms = max(wanted.from_ms or 0, 0 if end is None else end.captured_ms)
    found: list[RecognitionRow] = []
    while len(found) < limit:
        some = await database.run(
            partial(
                corrected_before,
                owner_id=wanted.user_id,
                from_ms=from_ms,
                before_ms=before_ms,
                limit=_AT_ONCE,
            )
        )
        places = _wanted_places(some, wanted, matcher, after, end)
        for at in range(0, len(places), limit):
            if len(found) >= limit:
                break
            there = await store.at(wanted.user_id, places[at : at + limit])
            found += sorted(
                (row for row in there if row.confidence >= wanted.min_confidence),
                key=_place_of_row,
                reverse=True,
            )
        if len(some) < _AT_ONCE:
            break
        before_ms = some[-1].captured_ms
    return found[:limit]


def _wanted_places(
    corrections: Sequence[Correction],
    wanted: RecognitionFilter,
    matcher: PlateMatcher,
    after: RecognitionCursor | None,
    end: RecognitionCursor | None,
) -> list[RecognitionCursor]:
    """Return the places of those that are wanted, the newest first."""

    def are_wanted() -> Iterator[RecognitionCursor]:
        for each in corrections:
            is_of_camera = wanted.camera_id in (None, each.camera_id)
            is_meant = each.plate is not None and matcher.matches(each.plate)
            if is_of_camera and is_meant and not matcher.matches(each.reading):
                yield RecognitionCursor(each.captured_ms, each.recognition_id)

    highest = None if after is None else place_in_list(after.captured_ms, after.id)
    lowest = None if end is None else place_in_list(end.captured_ms, end.id)
    placed = ((place_in_list(one.captured_ms, one.id), one) for one in are_wanted())
    within = [
        (place, one)
        for place, one in placed
        if (highest is None or place < highest) and (lowest is None or place > lowest)
    ]
    return [one for _, one in sorted(within, key=lambda pair: pair[0], reverse=True)]


def place_in_list(captured_ms: int, identifier: UUID) -> Place:
    """Return a recognition's place: by time, then by id as ClickHouse compares UUIDs.

    It compares their second halves first.
    """
    return captured_ms, identifier.int & _LOW, identifier.int >> _HALF


def _place_of_row(row: RecognitionRow) -> Place:
    return place_in_list(row.captured_ms, row.id)
