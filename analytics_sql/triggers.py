"""Stores one row per trigger of an alert, and queries triggers.

All functions raise TransientError if ClickHouse is unavailable or busy. Rows that were not stored
can then be written again.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Final
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.rows import (
    LABEL,
    LAST_STORABLE_MS,
    NUMBER,
    TEXT,
    TIME,
    UUIDS,
    Column,
    Table,
    columns_of,
)
from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate
from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.ids import uuid_unix_ms


@dataclass(frozen=True)
class TriggerCursor:
    """A trigger's position in an alert's list. ``captured_ms`` is Unix ms, UTC."""

    captured_ms: int
    id: UUID


_LAST_ID: Final = UUID(int=2**128 - 1)
_NEWEST: Final = TriggerCursor(LAST_STORABLE_MS - 1, _LAST_ID)
_ROWS_A_TRIGGER: Final = 3
"""Maximum number of rows of a trigger before merges: early, resolved, and again after a crash."""


@dataclass(frozen=True, kw_only=True)
class TriggerRow:
    """A trigger of an alert as stored. Times are Unix ms, UTC; ``plate`` is normalised.

    If the alert triggered early, ``captured_ms`` and ``decided_ms`` are times of the early trigger.
    """

    user_id: Annotated[UUID, Column(UUIDS)]
    alert_id: Annotated[UUID, Column(UUIDS)]
    captured_ms: Annotated[int, Column(TIME, "ts")]
    id: Annotated[UUID, Column(UUIDS)]
    recognition_id: Annotated[UUID, Column(UUIDS)]
    camera_id: Annotated[UUID, Column(UUIDS)]
    camera_name: Annotated[str, Column(LABEL)]
    plate: Annotated[str, Column(TEXT)]
    confidence: Annotated[float, Column(NUMBER)]
    alert_name: Annotated[str, Column(LABEL)]
    alert_revision: Annotated[int, Column("UInt64")]
    decided_ms: Annotated[int, Column(TIME, "decided_at")]
    is_late: Annotated[bool, Column("Bool")]
    phase: Annotated[TriggerPhase, Column(LABEL, value=lambda row: row.phase.value)]


_TRIGGERS: Final = Table[TriggerRow]("alert_triggers", columns_of(TriggerRow))


def trigger_row(record: AlertTrigger) -> TriggerRow:
    """Return the row for a record of the alerts topic.

    Raises:
        InvalidInputError: a time is out of range, or the ID does not match the time.
    """
    alert, recognition = record.alert, record.recognition
    captured_ms = record.triggered_ms
    if not 0 <= captured_ms < LAST_STORABLE_MS or not 0 <= record.decided_ms < LAST_STORABLE_MS:
        raise InvalidInputError("the time is outside the table's range", code="time_out_of_range")
    if uuid_unix_ms(record.id) != captured_ms:
        raise InvalidInputError("the ID does not begin with capturedMs", code="id_of_other_time")
    return TriggerRow(
        user_id=record.owner_id,
        alert_id=alert.alert_id,
        captured_ms=captured_ms,
        id=record.id,
        recognition_id=recognition.id,
        camera_id=recognition.camera_id,
        camera_name=recognition.camera_name,
        plate=normalise_plate(_plate(record)),
        confidence=recognition.confidence,
        alert_name=alert.name,
        alert_revision=alert.revision,
        decided_ms=record.decided_ms if record.early is None else record.early.decided_ms,
        is_late=record.is_late,
        phase=record.phase,
    )


def _plate(record: AlertTrigger) -> str:
    """Return the plate of a trigger: the early plate, if any, unless the trigger was corrected."""
    if record.early is None or record.phase is TriggerPhase.CORRECTED:
        return record.recognition.plate
    return record.early.plate


async def insert_triggers(client: ClickHouseClient, rows: Sequence[TriggerRow]) -> None:
    """Write rows and return once they are stored. Rewriting a row does not duplicate it."""
    await client.insert(_TRIGGERS, rows)


@dataclass(frozen=True)
class TriggerCount:
    """The number of an alert's triggers, and the latest capture time (Unix ms, UTC)."""

    triggers: int
    last_ms: int


@dataclass(frozen=True)
class RecognitionTrigger:
    """A trigger of an alert, caused by a given recognition. Times are Unix ms, UTC."""

    alert_id: UUID
    id: UUID
    triggered_ms: int
    decided_ms: int
    is_late: bool
    phase: TriggerPhase = TriggerPhase.FINAL


@dataclass(frozen=True)
class FiredFor:
    """A trigger of an alert. Times are Unix ms, UTC; ``plate`` is empty after erasure."""

    id: UUID
    recognition_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    captured_ms: int
    decided_ms: int
    is_late: bool
    phase: TriggerPhase


@dataclass(frozen=True)
class FiredPage:
    """A page of triggers, newest first. The next page starts after ``end``, unless it is None."""

    fired: tuple[FiredFor, ...]
    end: TriggerCursor | None


@dataclass(frozen=True, kw_only=True)
class CooldownQuestion:
    """A recognition that a cooldown may suppress. A plate or camera of None is not compared."""

    user_id: UUID
    alert_id: UUID
    captured_ms: int
    cooldown_ms: int
    plate: str | None = None
    camera_id: UUID | None = None


@dataclass(frozen=True)
class SuppressingTrigger:
    """A trigger whose cooldown suppresses a recognition. ``captured_ms`` is Unix ms, UTC."""

    recognition_id: UUID
    captured_ms: int


@dataclass(frozen=True)
class SpanRow:
    """The fields of a recognition that an alert checks. ``captured_ms`` is Unix ms, UTC."""

    id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    captured_ms: int


async def count_triggers(client: ClickHouseClient, owner_id: UUID) -> dict[UUID, TriggerCount]:
    """Return the trigger counts of an account's alerts. Alerts that never triggered are omitted."""
    rows = await client.rows("trigger_counts", {"user_id": owner_id})
    return {alert_id: TriggerCount(count, last_ms) for alert_id, count, last_ms in rows}


async def list_triggers(
    client: ClickHouseClient, owner_id: UUID, recognition_id: UUID, captured_ms: int
) -> tuple[RecognitionTrigger, ...]:
    """Return the alert triggers of a recognition."""
    where = {"user_id": owner_id, "recognition_id": recognition_id, "captured_ms": captured_ms}
    rows = await client.rows("triggers_of_recognition", where)
    return tuple(replace(RecognitionTrigger(*row), phase=TriggerPhase(row[-1])) for row in rows)


async def fired_for(
    client: ClickHouseClient,
    owner_id: UUID,
    alert_id: UUID,
    after: TriggerCursor | None,
    limit: int,
) -> FiredPage:
    """Return at most ``limit`` triggers of an alert, newest first, starting after ``after``.

    The cost depends on ``limit``, not on the alert's number of triggers. If many triggers were
    withdrawn, a page can be shorter than ``limit`` although another page follows.
    """
    before = after or _NEWEST
    of_alert = {"user_id": owner_id, "alert_id": alert_id, "before_ms": before.captured_ms}
    rows = _ROWS_A_TRIGGER * (limit + 1)
    span = {**of_alert, "rows": rows}
    ((stored, since_ms),) = await client.rows("newest_triggers_span", span)
    page = {**of_alert, "since_ms": since_ms, "before_id": before.id, "limit": limit}
    found = await client.rows("newest_triggers", page)
    fired = tuple(replace(FiredFor(*row), phase=TriggerPhase(row[-1])) for row in found)
    if len(fired) == limit:
        return FiredPage(fired, TriggerCursor(fired[-1].captured_ms, fired[-1].id))
    # The query reads all rows of its last millisecond, so the next page starts before it.
    return FiredPage(fired, TriggerCursor(since_ms - 1, _LAST_ID) if stored == rows else None)


async def get_suppressing_trigger(
    client: ClickHouseClient, question: CooldownQuestion
) -> SuppressingTrigger | None:
    """Return the trigger whose cooldown suppresses a recognition, or None."""
    where = {**asdict(question), "plate": question.plate or ""}
    rows = await client.rows("nearest_trigger", where)
    return SuppressingTrigger(*rows[0]) if rows else None


async def span_rows(
    client: ClickHouseClient,
    owner_id: UUID,
    span_ms: tuple[int, int],
    after: SpanRow | None,
    limit: int,
) -> tuple[SpanRow, ...]:
    """Return an account's recognitions of a time range, oldest first, starting after ``after``.

    ``span_ms`` contains the start (inclusive) and the end (exclusive), in Unix ms, UTC.
    """
    where = {
        "user_id": owner_id,
        "from_ms": span_ms[0],
        "to_ms": span_ms[1],
        "after_ms": None if after is None else after.captured_ms,
        "after_id": None if after is None else after.id,
        "limit": limit,
    }
    return tuple(SpanRow(*row) for row in await client.rows("recognitions_span", where))
