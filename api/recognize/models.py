"""The answer of the image call, before it is JSON."""

from dataclasses import dataclass
from typing import Protocol

from recognition.pool import ImageReadings


class ImageReader(Protocol):
    """What reads the plates of an image (:class:`recognition.pool.RecognizerPool` does)."""

    async def read_image(self, data: bytes) -> ImageReadings:
        """Return the plates of a JPEG or PNG file."""


@dataclass(frozen=True)
class IdempotentCall:
    """A call that must not be done twice: the caller's key and a hash of what it asks."""

    key: str
    fingerprint: bytes
