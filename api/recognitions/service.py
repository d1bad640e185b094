"""Lists, finds and links recognitions."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

from analytics_sql.recognitions import RecognitionCursor, RecognitionFilter, RecognitionRow
from analytics_sql.rows import LAST_STORABLE_MS
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.db.database import Database
from api.errors import DependencyUnavailableError, found
from api.paging.cursor import CursorSealer
from api.recognitions.corrected_search import with_corrected
from api.validation.fields import from_unix_ms

_LOOKED_FOR = timedelta(days=1)
"""Images of recognitions of so long may be missing; the rows of others name what is there."""
_LOOK_SECONDS = 1.0


def storable(wanted: RecognitionFilter) -> RecognitionFilter | None:
    """Return ``wanted`` with its span cut to what can be stored; None where nothing can match.

    Any date-time of ISO 8601 may be asked for, the years 1 and 9999 included.
    """
    start = max(wanted.from_ms or 0, 0)
    end = LAST_STORABLE_MS if wanted.to_ms is None else min(wanted.to_ms, LAST_STORABLE_MS)
    if start >= end:
        return None
    return replace(wanted, from_ms=start or None, to_ms=None if end == LAST_STORABLE_MS else end)


class Pictured(Protocol):
    """A recognition, or what stands for it, with the keys of its images."""

    @property
    def captured_ms(self) -> int:
        """When it was captured (Unix ms, UTC)."""

    @property
    def photo_key(self) -> str | None:
        """The photo's."""

    @property
    def crop_key(self) -> str | None:
        """The crop's."""


@dataclass(frozen=True)
class Page:
    """A part of a list, and the cursor of what follows; None at the end."""

    recognitions: tuple[RecognitionRow, ...]
    next_key: str | None


@dataclass(frozen=True)
class Links:
    """URLs of a recognition's images; None where there is no image (yet, or any more)."""

    photo: str | None
    crop: str | None


class Recognitions:
    """The recognitions of all owners; every call names the owner it acts for."""

    def __init__(
        self,
        store: ClickHouseStore,
        database: Database,
        images: ImageStore,
        sealer: CursorSealer,
        *,
        image_retention: timedelta | None,
    ) -> None:
        """Images are linked for ``image_retention``, None: always."""
        self._store = store
        self._database = database
        self._images = images
        self._sealer = sealer
        self._image_retention = image_retention

    async def search(
        self, wanted: RecognitionFilter, limit: int, last_key: str | None, *, corrected: bool
    ) -> Page:
        """Return one page of the list; with ``corrected``, also what was corrected to the plate.

        Raises:
            ApiError: 400, the cursor is not one of this list.
        """
        after, possible = self.position(wanted, last_key), storable(wanted)
        if possible is None:
            return Page((), None)
        page = await self._store.page(possible, after, limit)
        if corrected:
            page = await with_corrected(self._database, self._store, possible, after, page, limit)
        return Page(page.rows, self.key_after(wanted, page.next_after))

    def position(self, wanted: RecognitionFilter, last_key: str | None) -> RecognitionCursor | None:
        """Return the place in the list of ``wanted`` that a cursor names; None: its beginning.

        Raises:
            ApiError: 400, the cursor is not one of this list.
        """
        return self._sealer.position(wanted, last_key)

    def key_after(self, wanted: RecognitionFilter, place: RecognitionCursor | None) -> str | None:
        """Return the cursor of what follows a place in the list; None at its end."""
        return None if place is None else self._sealer.seal(wanted, place)

    async def require(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow:
        """Return one of the owner's recognitions.

        Raises:
            ApiError: 404.
        """
        return found(await self._store.find(owner_id, recognition_id))

    def is_past_retention(self, recognition: Pictured) -> bool:
        """Tell whether the recognition's images are no longer shown."""
        return self._image_retention is not None and _age(recognition) > self._image_retention

    async def links(self, recognition: RecognitionRow) -> Links:
        """Return URLs, valid for an hour, of the recognition's images.

        While S3 was unavailable an image may be stored minutes after its recognition was published.
        Where S3 does not say whether it is there, it is linked.
        """
        if self.is_past_retention(recognition):
            return Links(None, None)
        keys = (recognition.photo_key, recognition.crop_key)
        if _age(recognition) < _LOOKED_FOR:
            photo, crop = await asyncio.gather(*map(self._stored, keys))
        else:
            photo, crop = keys
        return Links(self._link(photo), self._link(crop))

    def links_to(self, pictured: Pictured) -> Links:
        """Return URLs, valid for an hour, of images, whether they are there or not any more."""
        if self.is_past_retention(pictured):
            return Links(None, None)
        return Links(self._link(pictured.photo_key), self._link(pictured.crop_key))

    async def _stored(self, key: str | None) -> str | None:
        """Return a key unless there is no image of it."""
        if key is None:
            return None
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                return key if await self._images.has(key) else None
        except (DependencyUnavailableError, TimeoutError):
            return key

    def _link(self, key: str | None) -> str | None:
        return None if key is None else self._images.link(key)


def _age(recognition: Pictured) -> timedelta:
    return datetime.now(UTC) - from_unix_ms(recognition.captured_ms)
