"""Finds an account's most frequent plates in a time range, exactly, for any number of rows.

The most frequent plates of thirty days are counted periodically and stored as a rank, with an upper
bound for all other plates. A call adds newer rows and subtracts rows before the range. If late rows
or an erasure leave a plate's position uncertain, only this plate is counted again.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from analytics_sql.client import ClickHouseClient

SETTLE_MS: Final = 180_000
"""Maximum time from ``ingested_at`` until a row is readable. Three times the insert timeout."""

_DAY_MS: Final = 86_400_000
_OTHERS: Final = 200
_SHORT_MS: Final = 3_600_000
"""For shorter time ranges, reading all rows is as fast as reading the rows of a few plates."""


@dataclass(frozen=True)
class OwnerSpan:
    """An account's recognitions, ``from_ms`` (inclusive) to ``to_ms`` (exclusive; Unix ms)."""

    user_id: UUID
    from_ms: int
    to_ms: int

    def parameters(self) -> dict[str, object]:
        """Return the time range as query parameters."""
        return asdict(self)


@dataclass(frozen=True)
class PlateCount:
    """The number of recognitions of a plate (normalised), and the latest capture time (Unix ms)."""

    plate: str
    recognitions: int
    last_ms: int


@dataclass(frozen=True, kw_only=True)
class _Rank:
    """The stored counts of a time range, ``since_ms`` to ``until_ms``.

    No other plate has more than ``others`` rows. Rows of ``erased`` plates may have been erased.
    """

    counted_ms: int
    since_ms: int
    until_ms: int
    others: int
    counts: Mapping[str, PlateCount]
    erased: frozenset[str]

    def serves(self, span: OwnerSpan) -> bool:
        """Return whether the counts of a time range can be derived from this rank."""
        return self.since_ms <= span.from_ms < self.until_ms <= span.to_ms


@dataclass(frozen=True)
class _Bounds:
    """Lower and upper bounds of the number of recognitions of a plate."""

    plate: str
    lower: int
    upper: int
    last_ms: int

    @property
    def is_exact(self) -> bool:
        return self.lower == self.upper


async def retention_start_ms(client: ClickHouseClient, now_ms: int) -> int:
    """Return the start of the retention of recognitions (Unix ms); 0 if unlimited.

    Older rows can be dropped at any time, so stored counts are not valid for older rows.
    """
    days = await client.retention_days()
    return now_ms - days * _DAY_MS if days else 0


async def frequent_plates(
    client: ClickHouseClient, span: OwnerSpan, limit: int, *, settle_ms: int = SETTLE_MS
) -> tuple[PlateCount, ...]:
    """Return a time range's most frequent plates. Ties are broken by the latest capture.

    Rows become readable within ``settle_ms`` of their ``ingested_at``.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    rank = await _stored_rank(client, span)
    found = None if rank is None else await _from_rank(client, span, rank, limit, settle_ms)
    if found is None:
        rows = await client.rows("analytics_plates", {**span.parameters(), "limit": limit})
        return tuple(PlateCount(*values) for values in rows)
    return found


async def _stored_rank(client: ClickHouseClient, span: OwnerSpan) -> _Rank | None:
    rows = await client.rows("plate_rank", {"user_id": span.user_id})
    if not rows:
        return None
    if span.from_ms < await retention_start_ms(client, span.to_ms):
        return None
    counted, since, until, others, plates, counts, newest, erased = rows[0]
    each = map(PlateCount, plates, counts, newest)
    rank = _Rank(
        counted_ms=counted,
        since_ms=since,
        until_ms=until,
        others=others,
        counts={count.plate: count for count in each},
        erased=frozenset(plate for plate, is_gone in zip(plates, erased, strict=True) if is_gone),
    )
    return rank if rank.serves(span) else None


async def _from_rank(
    client: ClickHouseClient, span: OwnerSpan, rank: _Rank, limit: int, settle_ms: int
) -> tuple[PlateCount, ...] | None:
    """Return the most frequent plates, or None if the rank is not sufficient to find them."""
    asked = {
        **span.parameters(),
        "since_ms": rank.since_ms,
        "until_ms": rank.until_ms,
        "written_ms": rank.counted_ms - settle_ms,
        "ranked": list(rank.counts),
        "limit": max(_OTHERS, len(rank.counts)),
    }
    rows, left = await asyncio.gather(
        client.rows("plates_since", asked), _counts(client, rank.counts, _before(span, rank))
    )
    since = {row[0]: row[1:] for row in rows}
    bounds = [*_of_ranked(rank, since, left), *_of_others(rank, since)]
    least = sorted((each.lower for each in bounds), reverse=True)[:limit]
    needed = least[-1] if len(least) == limit else 0
    others = [each for each in bounds if each.plate not in rank.counts]
    if len(others) >= _OTHERS and min(each.upper for each in others) >= needed:
        return None
    if rank.others >= needed and rank.others > 0:
        # Plates that are neither ranked nor in newer rows could be among the most frequent.
        return None
    hopeful = [each for each in bounds if each.upper >= max(needed, 1)]
    open_ones = [each.plate for each in hopeful if not each.is_exact]
    counted = await _counts(client, open_ones, span)
    exact = [PlateCount(each.plate, each.lower, each.last_ms) for each in hopeful if each.is_exact]
    exact += [count for plate in open_ones if (count := counted.get(plate)) is not None]
    ordered = sorted(exact, key=lambda each: (-each.recognitions, -each.last_ms, each.plate))
    return tuple(ordered[:limit])


def _before(span: OwnerSpan, rank: _Rank) -> OwnerSpan:
    return OwnerSpan(span.user_id, rank.since_ms, span.from_ms)


def _of_ranked(
    rank: _Rank, since: Mapping[str, Sequence[Any]], left: Mapping[str, PlateCount]
) -> Iterable[_Bounds]:
    for plate, count in rank.counts.items():
        newer, late, last_ms = since.get(plate, (0, 0, 0))
        gone = left[plate].recognitions if plate in left else 0
        if plate in rank.erased:
            lower, upper = newer, count.recognitions + newer + late
        elif late:
            lower, upper = (
                newer + max(0, count.recognitions - gone),
                count.recognitions + newer + late,
            )
        else:
            lower = upper = newer + count.recognitions - gone
        yield _Bounds(plate, lower, upper, max(count.last_ms, last_ms))


def _of_others(rank: _Rank, since: Mapping[str, Sequence[Any]]) -> Iterable[_Bounds]:
    for plate, (newer, late, last_ms) in since.items():
        if plate not in rank.counts:
            yield _Bounds(plate, newer, rank.others + newer + late, last_ms)


async def _counts(
    client: ClickHouseClient, plates: Iterable[str], span: OwnerSpan
) -> dict[str, PlateCount]:
    wanted = list(plates)
    if not wanted or span.from_ms >= span.to_ms:
        return {}
    asked = {**span.parameters(), "plates": wanted}
    if span.to_ms - span.from_ms <= _SHORT_MS:
        asked["by_time"] = True
    rows = await client.rows("plates_in_span", asked)
    return {row[0]: PlateCount(*row) for row in rows}
