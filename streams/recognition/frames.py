"""Finds the frame of a settled pass: in memory, or again on the frames topic."""

from contracts.records import FrameReference
from streams.recognition.frame_cache import FrameCache
from streams.recognition.frame_fetcher import FrameFetcher


class FrameStore:
    """The frames that this worker can still show."""

    def __init__(self, cache: FrameCache, fetcher: FrameFetcher) -> None:
        """Take where to look first and where to look then."""
        self._cache = cache
        self._fetcher = fetcher

    async def jpeg(self, reference: FrameReference) -> bytes | None:
        """Return the frame, or None where it is gone for good.

        Raises:
            TransientError: Kafka does not answer.
        """
        cached = self._cache.get(reference)
        return cached if cached is not None else await self._fetcher.fetch(reference)
