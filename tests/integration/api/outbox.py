"""Reads the outbox for tests."""

from sqlalchemy import text
from sqlalchemy.orm import Session

from api.db.database import Database
from common.records.topics import Topic


async def outbox_of(database: Database, topic: Topic) -> list[tuple[str, bytes | None]]:
    """Return the keys and values in the outbox for ``topic``, in order."""

    def work(session: Session) -> list[tuple[str, bytes | None]]:
        rows = session.execute(
            text("SELECT key, value FROM config_outbox WHERE topic = :topic ORDER BY id"),
            {"topic": topic.name},
        )
        return [(key, None if value is None else bytes(value)) for key, value in rows]

    return await database.run(work)
