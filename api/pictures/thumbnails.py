"""Small copies of stored images, the latest in memory."""

import asyncio
from typing import Final

import cv2
from cachetools import LRUCache

from api.limits.fair_threads import FairThreads
from api.limits.fair_turns import TurnLimits, current_caller
from common.errors import InvalidInputError
from recognition.images import decode_image

MIN_WIDTH_PX: Final = 16
MAX_WIDTH_PX: Final = 1024

_JPEG_QUALITY: Final = 80
_CACHE_BYTES: Final = 32 * 1024 * 1024
_TOO_MANY: Final = "Too many pictures are being made smaller; wait, then try again."
# One at a time: the largest image takes a quarter of a gigabyte while it is decoded.
_LIMITS: Final = TurnLimits(at_once=1, waiting=200)


class Thumbnails:
    """Makes images smaller, each once as long as it is remembered. Owners take turns."""

    def __init__(self, cache_bytes: int = _CACHE_BYTES) -> None:
        """``cache_bytes`` is how much is remembered."""
        self._known: LRUCache[tuple[str, int], bytes] = LRUCache(cache_bytes, getsizeof=len)
        self._cache_bytes = cache_bytes
        self._threads = FairThreads("thumbnails", _LIMITS, too_many=_TOO_MANY)

    def known(self, version: str, width_px: int) -> bytes | None:
        """Return what was made of the image of this version before."""
        return self._known.get((version, width_px))

    async def make(self, version: str, data: bytes, width_px: int) -> bytes:
        """Return a JPEG that is ``width_px`` wide, or as wide as the image where that is less.

        ``version`` names the content of ``data``.

        Raises:
            ApiError: 429, too many are being made.
            InvalidInputError: the image cannot be read.
        """
        made = await self._threads.run(current_caller(), shrunk, data, width_px)
        if len(made) <= self._cache_bytes // 8:
            self._known[version, width_px] = made
        return made

    async def close(self) -> None:
        """Let what is under way end."""
        await asyncio.to_thread(self._threads.close)


def shrunk(data: bytes, width_px: int) -> bytes:
    """Return a JPEG or PNG as a JPEG of at most this width, in the same proportions.

    Raises:
        InvalidInputError: it cannot be read, or is too large.
    """
    image = decode_image(data, enough_px=width_px)
    height, width = image.shape[:2]
    if width > width_px:
        size = (width_px, max(1, round(height * width_px / width)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)  # type: ignore[assignment] # cv2's arrays have no dtype
    coded, made = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    if not coded:
        raise InvalidInputError("The image cannot be coded.", code="unreadable_image")
    return made.tobytes()
