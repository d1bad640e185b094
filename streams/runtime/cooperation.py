"""Room for others on an event loop while something long is done there."""

import asyncio
import time

_LONGEST_SECONDS = 0.005


class Cooperation:
    """Lets the loop's other work have a turn wherever this work has gone on for a moment."""

    def __init__(self, longest_seconds: float = _LONGEST_SECONDS) -> None:
        self._longest_seconds = longest_seconds
        self._since = time.monotonic()

    async def give_way(self) -> None:
        """Return at once, or after one turn of the others."""
        if time.monotonic() - self._since >= self._longest_seconds:
            await asyncio.sleep(0)
            self._since = time.monotonic()
