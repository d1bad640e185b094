"""Updates each account's rollups: traffic buckets and most frequent plates.

The sink updates rollups periodically. A bucket is replaced completely by a newer count, and an
account's ``as_of`` only advances when all earlier writes are in buckets; so a crash, a second
worker or a repeated run causes no errors, only repeated work.

All functions raise TransientError if ClickHouse is unavailable or busy. Completed work is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.traffic.analytics import (
    DAY_QUARTERS,
    QUARTER_MS,
    Bucket,
    OwnerSpan,
    stored_buckets,
    touched,
)
from analytics_sql.traffic.frequent_plates import SETTLE_MS, retention_start_ms

ROLLED_UP_MS: Final = 31 * DAY_QUARTERS * QUARTER_MS
"""Maximum age of buckets: thirty days, plus a day for the edges of a call's range."""

_RANKED_MS: Final = 30 * DAY_QUARTERS * QUARTER_MS + 600_000
_LATE_MS: Final = 60_000
"""Time within which most rows are written after capture. Later rows cause another count."""
_CHUNK: Final = 96
_FIRST_RUN_MS: Final = 3_600_000


@dataclass(frozen=True)
class RollupBounds:
    """Limits of one run: the numbers of quarters to count and of plates to rank.

    If an account has fewer than ``ranked_from_rows`` rows, a rank saves no time. A rank is renewed
    after ``rank_age_ms``. Rows become readable within ``settle_ms`` of their ``ingested_at``.
    """

    quarters: int = 4 * DAY_QUARTERS
    ranked_plates: int = 100
    ranked_from_rows: int = 200_000
    rank_age_ms: int = 1_800_000
    settle_ms: int = SETTLE_MS


_BOUNDS: Final = RollupBounds()


async def owners_written_since(client: ClickHouseClient, since_ms: int) -> tuple[UUID, ...]:
    """Return the IDs of accounts with rows written since ``since_ms`` (Unix ms)."""
    return tuple(row[0] for row in await client.rows("traffic_owners", {"since_ms": since_ms}))


async def server_time_ms(client: ClickHouseClient) -> int:
    """Return ClickHouse's time (Unix ms), with which the server also timestamps rows."""
    return await client.count("server_time", {})


async def roll_up(client: ClickHouseClient, owner_id: UUID, bounds: RollupBounds = _BOUNDS) -> bool:
    """Count an account's new and changed quarters. Return False if some are left for later."""
    # Get the time before reading rows, because the counts may not include later writes.
    now_ms = await server_time_ms(client)
    settled_ms = now_ms - bounds.settle_ms
    span = OwnerSpan(owner_id, now_ms - ROLLED_UP_MS, settled_ms)
    if not await client.count("is_rolled_up", {"user_id": owner_id}):
        # There is no bucket yet. Set as_of first, because another run may be starting concurrently.
        begun_ms = settled_ms - _FIRST_RUN_MS
        await client.command("roll_up_as_of", {"user_id": owner_id, "as_of_ms": begun_ms})
    buckets, as_of_ms = await stored_buckets(client, span)
    touched_ms = await touched(client, span, as_of_ms) if buckets else {}
    kept_from_ms = await retention_start_ms(client, now_ms)
    closed = range(-(-max(span.from_ms, kept_from_ms) // QUARTER_MS), settled_ms // QUARTER_MS)
    todo = _open_quarters(closed, buckets, touched_ms, now_ms, bounds.settle_ms)
    for first in range(0, min(len(todo), bounds.quarters), _CHUNK):
        chunk = todo[first : min(first + _CHUNK, bounds.quarters)]
        await _count_quarters(client, owner_id, now_ms, chunk)
    is_done = len(todo) <= bounds.quarters
    if is_done:
        await _add_days(client, owner_id, now_ms, closed, buckets, todo)
        await client.command("roll_up_as_of", {"user_id": owner_id, "as_of_ms": settled_ms})
    return is_done


def _open_quarters(
    closed: range,
    buckets: Sequence[Bucket],
    touched_ms: Mapping[int, int],
    now_ms: int,
    settle_ms: int,
) -> list[int]:
    """Return the quarters to count, newest first, because most calls need the newest.

    A quarter that has just changed would have to be counted again, so it is postponed.
    """
    single = {bucket.first: bucket for bucket in buckets if bucket.length == 1}
    return [
        quarter
        for quarter in reversed(closed)
        if quarter not in single
        or (
            not single[quarter].stands(touched_ms, settle_ms)
            and touched_ms.get(quarter, 0) <= now_ms - settle_ms
        )
    ]


async def _count_quarters(
    client: ClickHouseClient, owner_id: UUID, now_ms: int, quarters: Sequence[int]
) -> None:
    if not quarters:
        return
    await client.command(
        "roll_up_quarters",
        {
            "user_id": owner_id,
            "counted_ms": now_ms,
            "from_ms": min(quarters) * QUARTER_MS,
            "to_ms": (max(quarters) + 1) * QUARTER_MS,
            "quarters": list(quarters),
        },
    )


async def _add_days(
    client: ClickHouseClient,
    owner_id: UUID,
    now_ms: int,
    closed: range,
    buckets: Sequence[Bucket],
    counted: Sequence[int],
) -> None:
    """Store buckets of closed days that are new or in which a quarter was counted."""
    stored = {bucket.first for bucket in buckets if bucket.length == DAY_QUARTERS}
    changed = {quarter // DAY_QUARTERS * DAY_QUARTERS for quarter in counted}
    first_day = -(-closed.start // DAY_QUARTERS) * DAY_QUARTERS
    days = [
        day
        for day in range(first_day, closed.stop - DAY_QUARTERS + 1, DAY_QUARTERS)
        if day not in stored or day in changed
    ]
    if days:
        where = {"user_id": owner_id, "counted_ms": now_ms, "days": days}
        await client.command("roll_up_days", where)


async def rank_plates(
    client: ClickHouseClient, owner_id: UUID, bounds: RollupBounds = _BOUNDS
) -> None:
    """Rank an account's plates of thirty days, unless it has few rows or a recent rank."""
    now_ms = await server_time_ms(client)
    rank = await client.rows("plate_rank", {"user_id": owner_id})
    if rank and now_ms - rank[0][0] < bounds.rank_age_ms:
        return
    until_ms = now_ms - bounds.settle_ms - _LATE_MS
    span = OwnerSpan(owner_id, now_ms - _RANKED_MS, until_ms)
    if await client.count("span_rows", span.parameters()) < bounds.ranked_from_rows:
        return
    limit = bounds.ranked_plates
    rough = await client.rows("rough_ranks", {**span.parameters(), "limit": limit + 1})
    others = rough[limit][1] if len(rough) > limit else 0
    plates = [plate for plate, _ in rough[:limit]]
    where = {**span.parameters(), "counted_ms": now_ms, "plates": plates, "others": others}
    await client.command("rank_plates", where)
