"""The answer of the image call, before it is JSON."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from recognition.workers.pool import ImageReadings


class ImageReader(Protocol):
    """A reader of the plates of an image (:class:`recognition.workers.pool.RecognizerPool`)."""

    async def read_image(self, data: bytes, *, wait_seconds: float) -> ImageReadings:
        """Return the plates of a JPEG or PNG file; wait at most so long until it is read."""


class PhotoStore(Protocol):
    """A store of pictures (:class:`api.adapters.image_store.ImageStore` does)."""

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Store an image; the same key again overwrites it."""

    async def remove(self, keys: Sequence[str]) -> frozenset[str]:
        """Remove images, and return the keys of those that it refuses to."""


@dataclass(frozen=True)
class ImageCall:
    """An image to read; ``store``: keep what is found; ``key``: the Idempotency-Key."""

    image: bytes
    store: bool = False
    key: str | None = None

    def idempotent(self) -> "IdempotentCall | None":
        """Return what makes the call one that must not be done twice; None without a key."""
        if self.key is None:
            return None
        asked = b"store " if self.store else b""
        return IdempotentCall(self.key, hashlib.sha256(asked + self.image).digest())


@dataclass(frozen=True)
class IdempotentCall:
    """A call that must not be done twice: the caller's key and a hash of what it asks."""

    key: str
    fingerprint: bytes
