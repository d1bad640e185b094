"""Counts an account's recognitions in a time range by time, camera, plate and outcome.

Most of a long range is already counted in buckets (:mod:`analytics_sql.traffic.rollups`). The rest
is counted row by row: the newest quarter-hours, the edges of the range, and quarter-hours changed
by late or repeated rows or an erasure. The result is the same as counting every row.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.traffic.frequent_plates import (
    SETTLE_MS,
    OwnerSpan,
    PlateCount,
    frequent_plates,
    retention_start_ms,
)

__all__ = [
    "CameraCount",
    "OutcomeCount",
    "OwnerSpan",
    "PlateCount",
    "QuarterCount",
    "Traffic",
    "count_traffic",
]

QUARTER_MS = 900_000
"""A quarter of an hour in milliseconds. Time zones differ from UTC by a multiple of this time."""

DAY_QUARTERS = 96


@dataclass(frozen=True)
class QuarterCount:
    """The number of recognitions in a quarter of an hour, beginning at ``start_ms`` (Unix ms)."""

    start_ms: int
    recognitions: int


@dataclass(frozen=True)
class CameraCount:
    """The number of recognitions of a camera, and its name in the newest recognition."""

    camera_id: UUID
    camera_name: str
    recognitions: int


@dataclass(frozen=True)
class OutcomeCount:
    """Counts of image calls with a plate, and of calls and passes without an accepted reading."""

    accepted: int = 0
    refused: int = 0


@dataclass(frozen=True)
class Traffic:
    """The counts of a time range, highest count first. Quarters without recognitions are omitted.

    ``quarters`` and ``cameras`` have the same sum. ``plates`` are queried separately, so they may
    include rows added in between.
    """

    quarters: tuple[QuarterCount, ...]
    cameras: tuple[CameraCount, ...]
    plates: tuple[PlateCount, ...]
    outcomes: OutcomeCount = OutcomeCount()


@dataclass(frozen=True)
class Coverage:
    """The quarters of a time range (numbered since 1970), grouped by how they are counted.

    ``days`` (each given as its first quarter) and ``quarters`` have valid buckets. ``live`` must be
    counted row by row.
    """

    days: tuple[int, ...]
    quarters: tuple[int, ...]
    live: tuple[int, ...]


@dataclass(frozen=True)
class Bucket:
    """A stored count of ``length`` quarters (1 or 96), created after ``counted_ms`` (Unix ms)."""

    length: int
    first: int
    counted_ms: int

    def stands(self, touched_ms: Mapping[int, int], settle_ms: int) -> bool:
        """Return whether the bucket is up to date. ``touched_ms`` is the last change by quarter."""
        settled_ms = self.counted_ms - settle_ms
        covered = range(self.first, self.first + self.length)
        return not any(touched_ms.get(quarter, 0) > settled_ms for quarter in covered)


async def count_traffic(
    client: ClickHouseClient, span: OwnerSpan, *, plates: int, settle_ms: int = SETTLE_MS
) -> Traffic:
    """Return the counts of a time range, with at most ``plates`` plates. Duplicate rows count once.

    Rows become readable within ``settle_ms`` of their ``ingested_at``.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    tally, frequent = await asyncio.gather(
        _count(client, span, settle_ms), frequent_plates(client, span, plates, settle_ms=settle_ms)
    )
    return Traffic(tally.quarter_counts(), tally.camera_counts(), frequent, tally.outcomes)


async def _count(client: ClickHouseClient, span: OwnerSpan, settle_ms: int) -> "_Tally":
    coverage = await _covered(client, span, settle_ms)
    where = {"user_id": span.user_id}
    parts = [
        client.rows("traffic_live", {**span.parameters(), "quarters": list(coverage.live)}),
        client.rows(
            "traffic_stored",
            {**where, "days": list(coverage.days), "quarters": list(coverage.quarters)},
        ),
    ]
    tally = _Tally()
    for rows in await asyncio.gather(*parts):
        tally.add(rows)
    return tally


async def _covered(client: ClickHouseClient, span: OwnerSpan, settle_ms: int) -> Coverage:
    """Return how to count each quarter of a time range."""
    first, end = span.from_ms // QUARTER_MS, -(-span.to_ms // QUARTER_MS)
    # The sums are read later, from the newest buckets, so concurrent rollups do no harm.
    (buckets, _), touched_ms, kept_from_ms = await asyncio.gather(
        stored_buckets(client, span, outside_days=True),
        touched(client, span),
        retention_start_ms(client, span.to_ms),
    )
    if not buckets:
        return Coverage((), (), tuple(range(first, end)))
    whole = range(-(-max(span.from_ms, kept_from_ms) // QUARTER_MS), span.to_ms // QUARTER_MS)

    def standing(length: int) -> set[int]:
        return {
            bucket.first
            for bucket in buckets
            if bucket.length == length
            and bucket.first >= whole.start
            and bucket.first + length <= whole.stop
            and bucket.stands(touched_ms, settle_ms)
        }

    days = standing(DAY_QUARTERS)
    if fallen := {one.first for one in buckets if one.length == DAY_QUARTERS} - days:
        # If a day changed, most of its quarters are still valid.
        buckets += (await stored_buckets(client, span, in_days=sorted(fallen)))[0]
    single = standing(1)
    stored = single.union(day + number for day in days for number in range(DAY_QUARTERS))
    live = tuple(quarter for quarter in range(first, end) if quarter not in stored)
    return Coverage(tuple(sorted(days)), tuple(sorted(single)), live)


async def stored_buckets(
    client: ClickHouseClient,
    span: OwnerSpan,
    *,
    outside_days: bool = False,
    in_days: Sequence[int] = (),
) -> tuple[list[Bucket], int]:
    """Return the buckets that begin in a time range, and the account's ``as_of`` (Unix ms).

    The buckets include all rows written before ``as_of``. ``outside_days`` excludes quarters of
    days that have a bucket. ``in_days`` selects quarters of days that begin with these quarters.
    """
    asked: dict[str, object] = {
        "user_id": span.user_id,
        "first": span.from_ms // QUARTER_MS,
        "end": -(-span.to_ms // QUARTER_MS),
    }
    if outside_days:
        asked["outside_days"] = True
    if in_days:
        asked["in_days"] = list(in_days)
    rows = await client.rows("traffic_coverage", asked)
    return [Bucket(*row[:3]) for row in rows], rows[0][3] if rows else 0


async def touched(
    client: ClickHouseClient, span: OwnerSpan, as_of_ms: int | None = None
) -> dict[int, int]:
    """Return the quarters of ``span`` that changed after ``as_of_ms``, with the times (Unix ms).

    If ``as_of_ms`` is None, use the account's ``as_of``, before which buckets include all rows.
    """
    rows = await client.rows("traffic_touched", {**span.parameters(), "as_of_ms": as_of_ms})
    return {int(row[0]): int(row[1]) for row in rows}


@dataclass
class _Tally:
    """Sums of the results of ``traffic_stored.sql`` and ``traffic_live.sql``."""

    quarters: Counter[int] = field(default_factory=Counter)
    cameras: Counter[UUID] = field(default_factory=Counter)
    names: dict[UUID, tuple[int, str]] = field(default_factory=dict)
    outcomes: OutcomeCount = OutcomeCount()

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        for first, counts, camera_id, newest_ms, name, count, accepted, refused in rows:
            if first is not None:
                for place, number in enumerate(counts):
                    if number:
                        self.quarters[first + place] += number
            elif camera_id is not None:
                self.cameras[camera_id] += count
                self.names[camera_id] = max(self.names.get(camera_id, (0, "")), (newest_ms, name))
            else:
                so_far = self.outcomes
                self.outcomes = OutcomeCount(so_far.accepted + accepted, so_far.refused + refused)

    def quarter_counts(self) -> tuple[QuarterCount, ...]:
        counts = (QuarterCount(at * QUARTER_MS, count) for at, count in self.quarters.items())
        return tuple(sorted(counts, key=lambda each: (-each.recognitions, each.start_ms)))

    def camera_counts(self) -> tuple[CameraCount, ...]:
        return tuple(sorted(self._cameras(), key=lambda each: (-each.recognitions, each.camera_id)))

    def _cameras(self) -> Iterator[CameraCount]:
        for camera_id, count in self.cameras.items():
            yield CameraCount(camera_id, self.names[camera_id][1], count)
