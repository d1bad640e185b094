"""What is asked of alerts that fired, and of what an alert would have fired for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors
from analytics_sql.statements import query_text
from contracts.early import TriggerPhase


@dataclass(frozen=True)
class TriggerCount:
    """How often an alert has fired, and when its latest plate was captured (Unix ms, UTC)."""

    triggers: int
    last_ms: int


@dataclass(frozen=True)
class Fired:
    """An alert fired for a recognition. ``decided_ms`` is Unix ms, UTC."""

    alert_id: UUID
    decided_ms: int
    is_late: bool
    phase: TriggerPhase = TriggerPhase.FINAL


@dataclass(frozen=True, kw_only=True)
class CooldownQuestion:
    """Which firing of an alert holds back a recognition? None: plate or camera do not matter."""

    user_id: UUID
    alert_id: UUID
    captured_ms: int
    cooldown_ms: int
    plate: str | None = None
    camera_id: UUID | None = None


@dataclass(frozen=True)
class HoldingTrigger:
    """A firing that holds others back. ``captured_ms`` is Unix ms, UTC."""

    recognition_id: UUID
    captured_ms: int


@dataclass(frozen=True)
class SpanRow:
    """What an alert looks at of a recognition. ``captured_ms`` is Unix ms, UTC."""

    id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    captured_ms: int


async def count_triggers(client: AsyncClient, user_id: UUID) -> dict[UUID, TriggerCount]:
    """Return the counts of an owner's alerts; those that never fired are left out.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    rows = await _rows(client, "trigger_counts", {"user_id": user_id})
    return {alert_id: TriggerCount(count, last_ms) for alert_id, count, last_ms in rows}


async def triggers_of(
    client: AsyncClient, user_id: UUID, recognition_id: UUID, captured_ms: int
) -> tuple[Fired, ...]:
    """Return the alerts that fired for a recognition.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    where = {"user_id": user_id, "recognition_id": recognition_id, "captured_ms": captured_ms}
    return tuple(
        Fired(alert_id, decided_ms, is_late, TriggerPhase(phase))
        for alert_id, decided_ms, is_late, phase in await _rows(
            client, "triggers_of_recognition", where
        )
    )


async def nearest_trigger(client: AsyncClient, question: CooldownQuestion) -> HoldingTrigger | None:
    """Return the firing that holds a recognition back, or None.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    where = {
        "user_id": question.user_id,
        "alert_id": question.alert_id,
        "captured_ms": question.captured_ms,
        "cooldown_ms": question.cooldown_ms,
        "plate": question.plate or "",
        "camera_id": question.camera_id,
    }
    rows = await _rows(client, "nearest_trigger", where)
    return HoldingTrigger(*rows[0]) if rows else None


async def span_rows(
    client: AsyncClient,
    user_id: UUID,
    span_ms: tuple[int, int],
    after: SpanRow | None,
    limit: int,
) -> tuple[SpanRow, ...]:
    """Return an owner's recognitions of a span, oldest first, from behind ``after``.

    ``span_ms`` is from (inclusive) and to (exclusive), Unix ms, UTC.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    where = {
        "user_id": user_id,
        "from_ms": span_ms[0],
        "to_ms": span_ms[1],
        "after_ms": None if after is None else after.captured_ms,
        "after_id": None if after is None else after.id,
        "limit": limit,
    }
    return tuple(SpanRow(*row) for row in await _rows(client, "recognitions_span", where))


async def _rows(
    client: AsyncClient, query: str, parameters: dict[str, object]
) -> Sequence[Sequence[Any]]:
    with clickhouse_errors():
        result = await client.query(query_text(query), parameters=parameters)
    return result.result_rows
