"""Lists, finds and links recognitions."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
)
from analytics_sql.rows import LAST_STORABLE_MS
from api.adapters.image_store import ImageStore
from api.errors import ApiError, DependencyUnavailableError, ErrorCode, FieldFault
from api.paging.cursor import CursorSealer
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


class RecognitionStore(Protocol):
    """A searchable store of recognitions."""

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        """Return at most ``limit`` recognitions, newest first, from behind ``after``."""

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        """Return one of the owner's recognitions."""

    async def at(
        self, owner_id: UUID, places: Sequence[RecognitionCursor]
    ) -> tuple[RecognitionRow, ...]:
        """Return those of the owner's recognitions at these places that there are."""


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
        store: RecognitionStore,
        images: ImageStore,
        sealer: CursorSealer,
        *,
        image_retention: timedelta | None,
    ) -> None:
        """Images are linked for ``image_retention``, None: always."""
        self._store = store
        self._images = images
        self._sealer = sealer
        self._image_retention = image_retention

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        """Return one page of the list, from behind ``after``."""
        return await self._store.page(wanted, after, limit)

    async def at(
        self, owner_id: UUID, places: Sequence[RecognitionCursor]
    ) -> tuple[RecognitionRow, ...]:
        """Return those of the owner's recognitions at these places that there are."""
        return await self._store.at(owner_id, places)

    def position(self, wanted: RecognitionFilter, last_key: str | None) -> RecognitionCursor | None:
        """Return the place in the list of ``wanted`` that a cursor names; None: its beginning.

        Raises:
            ApiError: 400, the cursor is not one of this list.
        """
        return None if last_key is None else self._open(wanted, last_key)

    def key_after(self, wanted: RecognitionFilter, place: RecognitionCursor | None) -> str | None:
        """Return the cursor of what follows a place in the list; None at its end."""
        return None if place is None else self._sealer.seal(wanted, place)

    async def require(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow:
        """Return one of the owner's recognitions.

        Raises:
            ApiError: 404.
        """
        found = await self._store.find(owner_id, recognition_id)
        if found is None:
            raise ApiError(ErrorCode.NOT_FOUND)
        return found

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

    def _open(self, wanted: RecognitionFilter, last_key: str) -> RecognitionCursor:
        position = self._sealer.open(wanted, last_key)
        if position is None:
            fault = FieldFault("lastKey", "is not a nextKey of a list with these filters")
            raise ApiError(ErrorCode.INVALID_CURSOR, fields=(fault,))
        return position

    def _link(self, key: str | None) -> str | None:
        return None if key is None else self._images.link(key)


def _age(recognition: Pictured) -> timedelta:
    return datetime.now(UTC) - from_unix_ms(recognition.captured_ms)
