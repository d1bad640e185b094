"""The picture that one image call keeps, until the call has succeeded or failed."""

import asyncio

import structlog

from api.recognize.models import PhotoStore
from contracts.errors import TransientError

log = structlog.get_logger()


class CallPhoto:
    """At most one picture; ``may_be_named``: records that name it may have been published.

    Its key is this call's alone. A lapsed call with the same Idempotency-Key had another.
    """

    def __init__(self, photos: PhotoStore) -> None:
        """Begin with none."""
        self._photos = photos
        self._key: str | None = None
        self._putting: asyncio.Future[None] | None = None
        self.may_be_named = False

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Store it. A caller who is cancelled leaves it to go on.

        Raises:
            TransientError: the store does not answer; it may be stored all the same.
        """
        self._key = key
        self._putting = asyncio.ensure_future(self._photos.put(key, data, content_type))
        await asyncio.shield(self._putting)

    async def remove(self) -> None:
        """Remove what was put, if anything was: no record will ever name it."""
        if self._key is None or self._putting is None:
            return
        # What is on its way would come after its own removal.
        await asyncio.gather(self._putting, return_exceptions=True)
        try:
            refused = await self._photos.remove([self._key])
        except TransientError as error:
            log.warning("photo_not_removed", key=self._key, error=str(error))
        else:
            if refused:
                log.warning("photo_not_removed", key=self._key, error="the picture store refuses")
