"""Alerts that fired, in ClickHouse: one row each."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.inserts import insert_values
from analytics_sql.rows import LAST_STORABLE_MS
from contracts.alert_records import AlertTrigger
from contracts.early import TriggerPhase
from contracts.errors import InvalidInputError
from contracts.ids import uuid_unix_ms
from contracts.plates import normalise_plate

_COLUMN_TYPES = {
    "user_id": "UUID",
    "alert_id": "UUID",
    "ts": "DateTime64(3, 'UTC')",
    "id": "UUID",
    "recognition_id": "UUID",
    "camera_id": "UUID",
    "camera_name": "LowCardinality(String)",
    "plate": "String",
    "confidence": "Float64",
    "alert_name": "LowCardinality(String)",
    "alert_revision": "UInt64",
    "decided_at": "DateTime64(3, 'UTC')",
    "is_late": "Bool",
    "phase": "LowCardinality(String)",
}


@dataclass(frozen=True, kw_only=True)
class TriggerRow:
    """One firing of an alert as stored. Times are Unix ms, UTC; ``plate`` is normalised.

    ``captured_ms`` and ``decided_ms`` are those of the early firing where there was one.
    """

    user_id: UUID
    alert_id: UUID
    captured_ms: int
    id: UUID
    recognition_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    alert_name: str
    alert_revision: int
    decided_ms: int
    is_late: bool
    phase: TriggerPhase


def trigger_row(record: AlertTrigger) -> TriggerRow:
    """Return the row for a record of the alerts topic.

    Raises:
        InvalidInputError: a time that the table cannot hold, or an id of another time.
    """
    alert, recognition = record.alert, record.recognition
    captured_ms = record.fired_ms
    if not 0 <= captured_ms < LAST_STORABLE_MS or not 0 <= record.decided_ms < LAST_STORABLE_MS:
        raise InvalidInputError("a time beyond the table", code="time_out_of_range")
    if uuid_unix_ms(record.id) != captured_ms:
        raise InvalidInputError("the id does not begin with capturedMs", code="id_of_other_time")
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
    """Return the plate that a firing is of: what it was told for, unless that was corrected."""
    if record.early is None or record.phase is TriggerPhase.CORRECTED:
        return record.recognition.plate
    return record.early.plate


async def insert_triggers(client: AsyncClient, rows: Sequence[TriggerRow]) -> None:
    """Write rows; when this returns they are stored. A row written before is the same row.

    Raises:
        TransientError: ClickHouse is away or busy: the same rows may be written again.
    """
    await insert_values(client, "alert_triggers", _COLUMN_TYPES, [_values(row) for row in rows])


def _values(row: TriggerRow) -> tuple[object, ...]:
    return (
        row.user_id,
        row.alert_id,
        row.captured_ms,
        row.id,
        row.recognition_id,
        row.camera_id,
        row.camera_name,
        row.plate,
        row.confidence,
        row.alert_name,
        row.alert_revision,
        row.decided_ms,
        row.is_late,
        row.phase.value,
    )
