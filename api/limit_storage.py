"""The memory in which limits are counted, ended in good order."""

import asyncio

from limits.aio.storage import MemoryStorage


async def close_memory(storage: MemoryStorage) -> None:
    """End the task that forgets old counts.

    limits 5.8 does not expect counts to vanish under that task: its own ``reset`` and ``clear``
    make it fail with a KeyError that nobody fetches.
    """
    if storage.timer is not None:
        storage.timer.cancel()
        await asyncio.gather(storage.timer, return_exceptions=True)
