"""Deletes images that are past their retention."""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from api.image_store import ImageStore, RemovalRefusedError
from contracts.object_keys import RECOGNITION_FOLDER, day_of_folder

_EVERY = timedelta(hours=1)
_MOST_A_SWEEP = 5000
"""Images; other things wait for their turn to be swept. The next sweep goes on."""


class ImageRetention:
    """Removes whole days of pictures and crops. Several processes may do so at once."""

    def __init__(
        self, images: ImageStore, retention: timedelta | None, now_ms: Callable[[], int]
    ) -> None:
        """Take the bucket, how long its images are kept (None: for ever) and the clock."""
        self._images = images
        self._retention = retention
        self._now_ms = now_ms
        self._next = datetime.min.replace(tzinfo=UTC)

    async def sweep(self) -> int:
        """Delete what is past the retention, some thousands at the most; how many images it was.

        A day's images go when the last of them is past it; links to the others end before. Once
        nothing is left to delete, it looks for more after an hour.

        Raises:
            PartAwayError: S3 does not answer.
        """
        now = datetime.fromtimestamp(self._now_ms() / 1000, UTC)
        if self._retention is None or now < self._next:
            return 0
        first_kept, removed = (now - self._retention).date(), 0
        async for folder in self._days_before(first_kept):
            with suppress(RemovalRefusedError):
                # Said by the store; other days go all the same, and these are tried with the next.
                while some := await self._images.remove_some(folder):
                    removed += some
                    if removed >= _MOST_A_SWEEP:
                        return removed
        self._next = now + _EVERY
        return removed

    async def _days_before(self, first_kept: date) -> AsyncIterator[str]:
        for owner in await self._images.folders(RECOGNITION_FOLDER):
            for year in await self._images.folders(owner):
                for month in await self._images.folders(year):
                    for folder in await self._images.folders(month):
                        day = day_of_folder(folder)
                        if day is not None and day < first_kept:
                            yield folder
