"""Stores counts of each camera's frames and vehicles per minute, and reads them per hour.

All functions raise TransientError if ClickHouse is unavailable or busy. Rows that were not stored
can then be written again.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Annotated, Final
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.rows import LAST_STORABLE_MS, TIME, UUIDS, Column, Columns, Table, columns_of
from common.errors import InvalidInputError
from common.records.counts import COUNT_NAMES, CameraCounts, FrameCounts

_NUMBER: Final = "UInt32"
_LARGEST: Final = 2**32 - 1

_COUNTS: Final = Columns(
    tuple(Column(_NUMBER, name, attrgetter(f"counts.{name}")) for name in COUNT_NAMES)
)


@dataclass(frozen=True, kw_only=True)
class CameraMinute:
    """A camera's stored counts for the minute that starts at ``minute_ms`` (Unix ms, UTC)."""

    user_id: Annotated[UUID, Column(UUIDS)]
    camera_id: Annotated[UUID, Column(UUIDS)]
    minute_ms: Annotated[int, Column(TIME, "minute")]
    records: Annotated[int, Column(_NUMBER)]
    counts: Annotated[FrameCounts, _COUNTS]


_CAMERA_COUNTS: Final = Table[CameraMinute]("camera_counts", columns_of(CameraMinute))


@dataclass(frozen=True)
class CameraSpan:
    """A camera and a time range: ``from_ms`` (inclusive) to ``to_ms`` (exclusive; Unix ms, UTC)."""

    user_id: UUID
    camera_id: UUID
    from_ms: int
    to_ms: int


@dataclass(frozen=True)
class CameraHour:
    """A camera's counts for the hour that starts at ``start_ms`` (Unix ms, UTC)."""

    start_ms: int
    counts: FrameCounts


@dataclass(frozen=True)
class ReportedHour:
    """A camera's number of reported vehicles in the hour that starts at ``start_ms`` (Unix ms)."""

    camera_id: UUID
    start_ms: int
    reported: int


def camera_minute(record: CameraCounts) -> CameraMinute:
    """Return the row for a record of the camera-counts topic.

    Raises:
        InvalidInputError: a time or a number is out of range.
    """
    if not 0 <= record.minute_ms < LAST_STORABLE_MS:
        raise InvalidInputError(f"invalid minute: {record.minute_ms}", code="time_out_of_range")
    numbers = (record.records, *(getattr(record.counts, name) for name in COUNT_NAMES))
    if not all(0 <= number <= _LARGEST for number in numbers):
        raise InvalidInputError("a count is out of range", code="count_out_of_range")
    return CameraMinute(
        user_id=record.owner_id,
        camera_id=record.camera_id,
        minute_ms=record.minute_ms,
        records=record.records,
        counts=record.counts,
    )


async def insert_camera_minutes(client: ClickHouseClient, rows: Sequence[CameraMinute]) -> None:
    """Write rows and return once they are stored."""
    await client.insert(_CAMERA_COUNTS, rows)


async def camera_hours(client: ClickHouseClient, span: CameraSpan) -> tuple[CameraHour, ...]:
    """Return a camera's hourly counts, oldest first. Hours without stored minutes are omitted."""
    found = (await client.query("camera_hours", asdict(span))).named()
    return tuple(
        CameraHour(row["hour_ms"], FrameCounts(**{name: row[name] for name in COUNT_NAMES}))
        for row in found
    )


async def reported_hours(
    client: ClickHouseClient, hours_ms: Sequence[int]
) -> tuple[ReportedHour, ...]:
    """Return how many vehicles each camera reported in the hours that begin at these times."""
    found = (await client.query("reported_hours", {"hours": list(hours_ms)})).named()
    return tuple(ReportedHour(row["camera_id"], row["hour_ms"], row["reported"]) for row in found)
