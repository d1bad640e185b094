"""The outbox: records that leave with the transaction that caused them."""

from collections.abc import Sequence

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from api.db.tables import ConfigOutbox
from contracts.records import Record, encode
from contracts.topics import Topic

CHANNEL = "platestream_config_outbox"
"""PostgreSQL notification channel on which the relay hears of new rows."""


def enqueue(session: Session, topic: Topic, key: str, record: Record | None) -> None:
    """Add a record to the outbox; ``None`` deletes the key on the topic.

    Call it after the row behind ``key`` was locked or inserted in the same transaction: the order
    of records of one key is then the order of their transactions.
    """
    session.execute(
        insert(ConfigOutbox).values(
            topic=topic.name, key=key, value=None if record is None else encode(record)
        )
    )
    session.execute(select(func.pg_notify(CHANNEL, "")))


def enqueue_all(session: Session, topic: Topic, records: Sequence[tuple[str, Record]]) -> None:
    """Add many records to the outbox, each with its key, in order."""
    if records:
        rows = [
            {"topic": topic.name, "key": key, "value": encode(record)} for key, record in records
        ]
        session.execute(insert(ConfigOutbox), rows)
        session.execute(select(func.pg_notify(CHANNEL, "")))
