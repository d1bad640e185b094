"""Lists recognitions and links to their images.

With ``corrected=true``, recognitions whose reading matches are merged with recognitions of which
only the correction matches. No recognition is in both groups, so no page repeats or skips a row.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, Protocol
from uuid import UUID

from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
)
from analytics_sql.rows import LAST_STORABLE_MS
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.db.database import Database
from api.errors import DependencyUnavailableError, require_found
from api.paging.cursor import CursorSealer
from api.recognitions.repository import Correction, corrected_before
from api.validation.fields import from_unix_ms
from common.plates.matching import PlateMatcher, plate_matcher

_CHECKED_AGE = timedelta(days=1)
"""Images of newer recognitions may not be stored yet, so their existence is checked in S3."""
_CHECK_SECONDS = 1.0

_BATCH: Final = 1_000
"""Maximum number of corrections per query."""
_HALF: Final = 64
_LOW: Final = (1 << _HALF) - 1
Place = tuple[int, int, int]


def storable(wanted: RecognitionFilter) -> RecognitionFilter | None:
    """Clip the time range of ``wanted`` to storable times. Return None if the range is empty.

    Callers can send any ISO 8601 date-time, including the years 1 and 9999.
    """
    start = max(wanted.from_ms or 0, 0)
    end = LAST_STORABLE_MS if wanted.to_ms is None else min(wanted.to_ms, LAST_STORABLE_MS)
    if start >= end:
        return None
    return replace(wanted, from_ms=start or None, to_ms=None if end == LAST_STORABLE_MS else end)


class Pictured(Protocol):
    """A recognition or correction, with the keys of the images."""

    @property
    def captured_ms(self) -> int:
        """Capture time (Unix ms, UTC)."""

    @property
    def photo_key(self) -> str | None:
        """S3 key of the photo."""

    @property
    def crop_key(self) -> str | None:
        """S3 key of the crop."""


@dataclass(frozen=True)
class Page:
    """A page of a list. ``next_key`` is the cursor of the next page, or None on the last page."""

    recognitions: tuple[RecognitionRow, ...]
    next_key: str | None


@dataclass(frozen=True)
class Links:
    """URLs of a recognition's images. A URL is None if the image is missing or has expired."""

    photo: str | None
    crop: str | None


class Recognitions:
    """Reads recognitions. Raises ApiError 404 for a recognition of another account."""

    def __init__(
        self,
        store: ClickHouseStore,
        database: Database,
        images: ImageStore,
        sealer: CursorSealer,
        *,
        image_retention: timedelta | None,
    ) -> None:
        """Images are linked for ``image_retention``, or always if ``image_retention`` is None."""
        self._store = store
        self._database = database
        self._images = images
        self._sealer = sealer
        self._image_retention = image_retention

    async def search(
        self, wanted: RecognitionFilter, limit: int, last_key: str | None, *, corrected: bool
    ) -> Page:
        """Return one page. If ``corrected``, also include recognitions whose correction matches.

        Raises:
            ApiError: 400, the cursor belongs to a different list.
        """
        after, possible = self.position(wanted, last_key), storable(wanted)
        if possible is None:
            return Page((), None)
        page = await self._store.page(possible, after, limit)
        if corrected:
            page = await merge_corrections(
                self._database, self._store, possible, after, page, limit
            )
        return Page(page.rows, self.key_after(wanted, page.next_after))

    def position(self, wanted: RecognitionFilter, last_key: str | None) -> RecognitionCursor | None:
        """Return the position of a cursor in the list of ``wanted``, or None for the start.

        Raises:
            ApiError: 400, the cursor belongs to a different list.
        """
        return self._sealer.position(wanted, last_key)

    def key_after(
        self, wanted: RecognitionFilter, position: RecognitionCursor | None
    ) -> str | None:
        """Return the cursor that continues after ``position``, or None at the end of the list."""
        return None if position is None else self._sealer.seal(wanted, position)

    async def require(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow:
        """Return a recognition of the account, or raise ApiError 404."""
        return require_found(await self._store.find(owner_id, recognition_id))

    def is_past_retention(self, recognition: Pictured) -> bool:
        """Return whether the images of a recognition have expired."""
        return self._image_retention is not None and _age(recognition) > self._image_retention

    async def links(self, recognition: RecognitionRow) -> Links:
        """Return URLs of a recognition's images, valid for one hour.

        Images that are not stored yet have no URL; after an S3 outage, storing can take minutes. If
        S3 is not responding, images are linked without a check.
        """
        if self.is_past_retention(recognition):
            return Links(None, None)
        keys = (recognition.photo_key, recognition.crop_key)
        if _age(recognition) < _CHECKED_AGE:
            photo, crop = await asyncio.gather(*map(self._stored, keys))
        else:
            photo, crop = keys
        return Links(self._link(photo), self._link(crop))

    def links_to(self, pictured: Pictured) -> Links:
        """Return URLs of images, valid for one hour, without checking that the images exist."""
        if self.is_past_retention(pictured):
            return Links(None, None)
        return Links(self._link(pictured.photo_key), self._link(pictured.crop_key))

    async def _stored(self, key: str | None) -> str | None:
        """Return the key, or None if S3 responds that the image is not stored."""
        if key is None:
            return None
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                return key if await self._images.has(key) else None
        except (DependencyUnavailableError, TimeoutError):
            return key

    def _link(self, key: str | None) -> str | None:
        return None if key is None else self._images.link(key)


def _age(recognition: Pictured) -> timedelta:
    return datetime.now(UTC) - from_unix_ms(recognition.captured_ms)


async def merge_corrections(
    database: Database,
    store: ClickHouseStore,
    wanted: RecognitionFilter,
    after: RecognitionCursor | None,
    page: RecognitionPage,
    limit: int,
) -> RecognitionPage:
    """Merge a page with the recognitions of which only the correction matches.

    ``page`` contains at most ``limit`` rows, starting after ``after``.
    """
    if not wanted.plate:
        return page
    corrected = await _corrected(database, store, wanted, after, page.next_after, limit + 1)
    if not corrected:
        return page
    merged = sorted((*page.rows, *corrected), key=_position_of_row, reverse=True)
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
    """Return the first rows of which only the correction matches, up to ``end``."""
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
                limit=_BATCH,
            )
        )
        positions = _wanted_positions(some, wanted, matcher, after, end)
        for at in range(0, len(positions), limit):
            if len(found) >= limit:
                break
            there = await store.get_many(wanted.user_id, positions[at : at + limit])
            found += sorted(
                (row for row in there if row.confidence >= wanted.min_confidence),
                key=_position_of_row,
                reverse=True,
            )
        if len(some) < _BATCH:
            break
        before_ms = some[-1].captured_ms
    return found[:limit]


def _wanted_positions(
    corrections: Sequence[Correction],
    wanted: RecognitionFilter,
    matcher: PlateMatcher,
    after: RecognitionCursor | None,
    end: RecognitionCursor | None,
) -> list[RecognitionCursor]:
    """Return the positions of recognitions of which only the correction matches, newest first."""

    def are_wanted() -> Iterator[RecognitionCursor]:
        for each in corrections:
            is_of_camera = wanted.camera_id in (None, each.camera_id)
            is_meant = each.plate is not None and matcher.matches(each.plate)
            if is_of_camera and is_meant and not matcher.matches(each.reading):
                yield RecognitionCursor(each.captured_ms, each.recognition_id)

    highest = None if after is None else list_position(after.captured_ms, after.id)
    lowest = None if end is None else list_position(end.captured_ms, end.id)
    placed = ((list_position(one.captured_ms, one.id), one) for one in are_wanted())
    within = [
        (position, one)
        for position, one in placed
        if (highest is None or position < highest) and (lowest is None or position > lowest)
    ]
    return [one for _, one in sorted(within, key=lambda pair: pair[0], reverse=True)]


def list_position(captured_ms: int, identifier: UUID) -> Place:
    """Return the sort key of a recognition: the time, then the ID in ClickHouse's UUID order.

    ClickHouse compares the second halves of UUIDs first.
    """
    return captured_ms, identifier.int & _LOW, identifier.int >> _HALF


def _position_of_row(row: RecognitionRow) -> Place:
    return list_position(row.captured_ms, row.id)
