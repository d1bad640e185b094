"""Waits for state without events: a database row, or a process that responds."""

import asyncio
from collections.abc import Awaitable, Callable

from sqlalchemy import text

from api.db.database import Database

_LOOK_AGAIN_SECONDS = 0.02


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float) -> None:
    """Return as soon as ``condition`` holds, and fail after ``seconds``."""
    async with asyncio.timeout(seconds):
        # ASYNC110: the condition depends on another process, which sets no event here.
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def until_somebody_waits(database: Database) -> None:
    """Return as soon as a transaction waits for a lock."""
    waiting = text("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")
    await until(lambda: database.run(lambda session: bool(session.scalar(waiting))), seconds=10)
