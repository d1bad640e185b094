"""What an administrator sees of the installation: how far its stages are, and its disks."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from api.health.disks import DiskRoom
from common.errors import PlatestreamError
from common.kafka.stage_progress import StageProgress

log = structlog.get_logger()

_CACHE_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Installation:
    """How far the stages are, None: Kafka does not say; and the room on each disk."""

    stages: Sequence[StageProgress] | None
    disks: Sequence[DiskRoom]


class InstallationWatch:
    """Asks Kafka and the disks, no more often than every five seconds, whoever wants to know."""

    def __init__(
        self,
        stages: Callable[[], Sequence[StageProgress]],
        disks: Callable[[], Sequence[DiskRoom]],
    ) -> None:
        """Both block, and raise :class:`PlatestreamError` where nobody answers."""
        self._stages = stages
        self._disks = disks
        self._lock = asyncio.Lock()
        self._last = Installation(None, ())
        self._until = 0.0

    async def look(self) -> Installation:
        """Return how the installation is doing."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._last = await asyncio.to_thread(self._ask)
                self._until = time.monotonic() + _CACHE_SECONDS
            return self._last

    def _ask(self) -> Installation:
        disks = self._disks()
        try:
            return Installation(self._stages(), disks)
        except PlatestreamError as error:
            log.warning("stages_not_known", error=repr(error))
            return Installation(None, disks)
