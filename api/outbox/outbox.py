"""Writes records to the outbox, in the transaction of a change. The relay publishes the records."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast
from uuid import UUID, uuid4

from sqlalchemy import Select, Table, bindparam, func, insert, select
from sqlalchemy.orm import Session

from api.db.records import alert_config, camera_config, owner_config, webhook_config
from api.db.tables import Alert, Camera, ConfigOutbox, Owner, Webhook
from common.records.codec import Record, encode
from common.records.topics import (
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    CONFIG_OWNERS,
    CONFIG_WEBHOOKS,
    Topic,
)
from common.telemetry.tracing import TRACEPARENT, TraceContext, current_trace, parse_traceparent

CHANNEL = "platestream_config_outbox"
"""PostgreSQL notification channel that wakes the relay for new rows."""

_Table = TypeVar("_Table", Camera, Owner, Webhook)
_OUTBOX = cast(Table, ConfigOutbox.__table__)

# The pattern matches only the last field of the record: in a string, the first quotation mark would
# be escaped, and after a field of a nested object, a second brace would follow.
_FIELD: Final = re.compile(rb',"' + TRACEPARENT.encode() + rb'":"(00-[0-9a-f-]{52})"\}\Z')


def _enqueue_statement() -> Select[Any]:
    """Return one statement that adds a row and notifies the relay, to keep image calls fast."""
    columns = _OUTBOX.c
    added = (
        insert(_OUTBOX)
        .values(
            topic=bindparam("topic"),
            key=bindparam("key"),
            value=bindparam("value", type_=columns.value.type),
            owner_id=bindparam("owner_id", type_=columns.owner_id.type),
        )
        .returning(columns.id)
        .cte("added")
    )
    return select(func.pg_notify(CHANNEL, "")).select_from(added)


_ENQUEUE = _enqueue_statement()


def enqueue(session: Session, topic: Topic, key: str, record: Record | None) -> None:
    """Add a record to the outbox. If ``record`` is None, the key is deleted on the topic.

    First lock or insert the row of ``key`` in the same transaction, so that the records of a key
    are in the order of their transactions.
    """
    session.execute(_ENQUEUE, _row(topic, key, record))


def enqueue_all(session: Session, topic: Topic, records: Sequence[tuple[str, Record]]) -> None:
    """Add records with their keys to the outbox, in order."""
    if records:
        rows = [_row(topic, key, record) for key, record in records]
        session.execute(insert(ConfigOutbox), rows)
        session.execute(select(func.pg_notify(CHANNEL, "")))


def _row(topic: Topic, key: str, record: Record | None) -> dict[str, Any]:
    value = None if record is None else with_trace(encode(record), current_trace())
    # A tombstone has no account.
    owner_id = getattr(record, "owner_id", None)
    return {"topic": topic.name, "key": key, "value": value, "owner_id": owner_id}


@dataclass(frozen=True)
class WaitingReplays:
    """The number of an account's queued replays, and the position after the last record."""

    count: int
    next_position: int


def waiting_replays(session: Session, owner_id: UUID) -> WaitingReplays:
    """Return how many replays of an account are queued, and the position for the next record."""
    columns = _OUTBOX.c
    asked = select(func.count(columns.replay_id.distinct()), func.max(columns.replay_position))
    of_replays = columns.owner_id == owner_id, columns.replay_id.is_not(None)
    count, last = session.execute(asked.where(*of_replays)).one()
    return WaitingReplays(count, 0 if last is None else last + 1)


def enqueue_replay(
    session: Session, topic: Topic, owner_id: UUID, records: Sequence[tuple[str, Record]]
) -> None:
    """Add the records of a replay with their keys, in order. The account must be locked.

    A replay is published after all other rows and after earlier replays of the account. Replays of
    different accounts take turns.
    """
    if not records:
        return
    replay_id, first = uuid4(), waiting_replays(session, owner_id).next_position
    rows = [
        {
            "topic": topic.name,
            "key": key,
            # No trace is added: the trace of the request would contain thousands of deliveries.
            "value": encode(record),
            "owner_id": owner_id,
            "replay_id": replay_id,
            "replay_position": position,
        }
        for position, (key, record) in enumerate(records, first)
    ]
    session.execute(insert(ConfigOutbox), rows)
    session.execute(select(func.pg_notify(CHANNEL, "")))


def republish_all(session: Session) -> int:
    """Add all configuration to the outbox again, and return the number of records.

    The rows are locked, so that no older state is published after a change.
    """
    alerts = session.execute(
        select(Alert, Owner)
        .join(Owner, Owner.id == Alert.owner_id)
        .order_by(Alert.id)
        .with_for_update(read=True, of=Alert)
    ).all()
    owners = filter(_is_published, _locked(session, Owner))
    records: tuple[tuple[Topic, list[tuple[UUID, Record]]], ...] = (
        (CONFIG_CAMERAS, [(one.id, camera_config(one)) for one in _locked(session, Camera)]),
        (CONFIG_ALERTS, [(alert.id, alert_config(alert, owner)) for alert, owner in alerts]),
        (CONFIG_WEBHOOKS, [(one.id, webhook_config(one)) for one in _locked(session, Webhook)]),
        (CONFIG_OWNERS, [(one.id, owner_config(one)) for one in owners]),
    )
    for topic, of_topic in records:
        enqueue_all(session, topic, [(str(key), record) for key, record in of_topic])
    return sum(len(of_topic) for _, of_topic in records)


def _locked(session: Session, table: type[_Table]) -> Sequence[_Table]:
    return session.scalars(select(table).order_by(table.id).with_for_update(read=True)).all()


def enqueue_owner(session: Session, owner: Owner) -> None:
    """Add the record of a locked account, or a tombstone if no limit or secret is set."""
    record = owner_config(owner) if _is_published(owner) else None
    enqueue(session, CONFIG_OWNERS, str(owner.id), record)


def forget_owner(session: Session, owner_id: UUID) -> None:
    """Add a tombstone for an account that is being removed, if its record was published."""
    owner = session.get(Owner, owner_id)
    if owner is not None and _is_published(owner):
        enqueue(session, CONFIG_OWNERS, str(owner_id), None)


def _is_published(owner: Owner) -> bool:
    return bool(owner.limits) or owner.notification_secret_encrypted is not None


def with_trace(value: bytes, trace: TraceContext | None) -> bytes:
    """Return an encoded record with ``trace`` added, or unchanged if ``trace`` is None."""
    if trace is None:
        return value
    return b'%b,"%b":"%b"}' % (value[:-1], TRACEPARENT.encode(), trace.traceparent.encode())


def split_trace(value: bytes | None) -> tuple[bytes | None, TraceContext | None]:
    """Return the encoded record without the trace, and the trace or None."""
    found = None if value is None else _FIELD.search(value)
    if value is None or found is None:
        return value, None
    return value[: found.start()] + b"}", parse_traceparent(found[1])
