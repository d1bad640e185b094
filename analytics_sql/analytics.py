"""Counts of recognitions over a span of one owner: by time, camera, plate and outcome."""

from dataclasses import dataclass
from uuid import UUID

from analytics_sql.client import ClickHouseClient

QUARTER_MS = 900_000
"""A quarter of an hour: the finest step in which time zones differ from UTC."""


@dataclass(frozen=True)
class OwnerSpan:
    """An owner's recognitions from ``from_ms`` (inclusive) to ``to_ms`` (exclusive; Unix ms)."""

    user_id: UUID
    from_ms: int
    to_ms: int


@dataclass(frozen=True)
class QuarterCount:
    """Recognitions of a quarter of an hour that begins at ``start_ms`` (Unix ms)."""

    start_ms: int
    recognitions: int


@dataclass(frozen=True)
class CameraCount:
    """Recognitions of a camera, with the name that the newest of them bears."""

    camera_id: UUID
    camera_name: str
    recognitions: int


@dataclass(frozen=True)
class PlateCount:
    """Recognitions of a plate (normalised), and when the newest was captured (Unix ms)."""

    plate: str
    recognitions: int
    last_ms: int


@dataclass(frozen=True)
class OutcomeCount:
    """Image calls that found a plate; image calls and passes that gave no accepted reading."""

    accepted: int = 0
    refused: int = 0


@dataclass(frozen=True)
class Traffic:
    """The counts of a span, the busiest first; no empty ``quarters``.

    ``quarters`` and ``cameras`` have the same sum. ``plates`` and ``outcomes`` were asked for a
    moment later: a row that came late may be in them alone.
    """

    quarters: tuple[QuarterCount, ...]
    cameras: tuple[CameraCount, ...]
    plates: tuple[PlateCount, ...]
    outcomes: OutcomeCount = OutcomeCount()


async def count_traffic(client: ClickHouseClient, span: OwnerSpan, *, plates: int) -> Traffic:
    """Return the counts of a span, and at most so many ``plates``. A repeated row counts once.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    where = {"user_id": span.user_id, "from_ms": span.from_ms, "to_ms": span.to_ms}
    counts = await client.rows("analytics_counts", where)
    ((accepted, refused),) = await client.rows("outcome_counts", where)
    frequent = await client.rows("analytics_plates", where | {"limit": plates})
    return Traffic(
        tuple(
            QuarterCount(quarter * QUARTER_MS, count)
            for quarter, camera_id, _, count in counts
            if camera_id is None
        ),
        tuple(
            CameraCount(camera_id, name, count)
            for _, camera_id, name, count in counts
            if camera_id is not None
        ),
        tuple(PlateCount(*values) for values in frequent),
        OutcomeCount(accepted, refused),
    )
