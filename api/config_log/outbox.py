"""The outbox: records that leave with the transaction that caused them."""

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Select, Table, bindparam, func, insert, select
from sqlalchemy.orm import Session

from api.db.tables import ConfigOutbox
from contracts.records import Record, encode
from contracts.topics import Topic

CHANNEL = "platestream_config_outbox"
"""PostgreSQL notification channel on which the relay hears of new rows."""

_OUTBOX = cast(Table, ConfigOutbox.__table__)


def _enqueue_statement() -> Select[Any]:
    """Return what adds one row and tells the relay, in one question: image calls wait for it."""
    columns = _OUTBOX.c
    added = (
        insert(_OUTBOX)
        .values(
            topic=bindparam("topic"),
            key=bindparam("key"),
            value=bindparam("value", type_=columns.value.type),
        )
        .returning(columns.id)
        .cte("added")
    )
    return select(func.pg_notify(CHANNEL, "")).select_from(added)


_ENQUEUE = _enqueue_statement()


def enqueue(session: Session, topic: Topic, key: str, record: Record | None) -> None:
    """Add a record to the outbox; ``None`` deletes the key on the topic.

    Call it after the row behind ``key`` was locked or inserted in the same transaction: the order
    of records of one key is then the order of their transactions.
    """
    value = None if record is None else encode(record)
    session.execute(_ENQUEUE, {"topic": topic.name, "key": key, "value": value})


def enqueue_all(session: Session, topic: Topic, records: Sequence[tuple[str, Record]]) -> None:
    """Add many records to the outbox, each with its key, in order."""
    if records:
        rows = [
            {"topic": topic.name, "key": key, "value": encode(record)} for key, record in records
        ]
        session.execute(insert(ConfigOutbox), rows)
        session.execute(select(func.pg_notify(CHANNEL, "")))
