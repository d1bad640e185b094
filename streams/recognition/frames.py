"""Finds the frame of a settled pass: in memory, or again on the frames topic."""

from collections.abc import Collection

from contracts.frames import FrameReference
from streams.recognition.frame_cache import FrameCache
from streams.recognition.frame_fetcher import FrameFetcher
from streams.recognition.metrics import FetchOutcome, RecognitionMetrics


class FrameStore:
    """The frames that this worker can still show."""

    def __init__(
        self, cache: FrameCache, fetcher: FrameFetcher, metrics: RecognitionMetrics
    ) -> None:
        """Take where to look first and where to look then."""
        self._cache = cache
        self._fetcher = fetcher
        self._metrics = metrics

    async def jpeg(self, reference: FrameReference) -> bytes | None:
        """Return the frame, or None where it is gone for good.

        Raises:
            TransientError: Kafka does not answer.
        """
        cached = self._cache.get(reference)
        if cached is not None:
            return cached
        fetched = await self._fetcher.fetch(reference)
        self._metrics.frame_fetched(FetchOutcome.GONE if fetched is None else FetchOutcome.FOUND)
        return fetched

    def keep_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Let a camera's frames go that are not needed, up to and with one place."""
        self._cache.keep_only(camera, needed, up_to)
