"""Writes rows to ClickHouse, except rows that were erased on request but are still in Kafka.

An erasure is recorded before its rows are deleted. A batch is written without the rows of known
erasures, and the list of erasures is read again afterwards. If an erasure is only in the new list,
it may have deleted rows before the batch was written, so it is applied to the batch again. An
erasure in neither list is recorded later, and also deletes the rows of this batch. Omitted rows are
erased as well: an earlier attempt at the batch, perhaps by another worker, may have written them.

The photo of an image call is erased with any of its plates. Rows of the other plates are written
without the photo's key if the photo is recorded as erased. The erasure of the plate, or a worker
that omitted the plate, may record the photo while these rows are being written. Therefore the
records are checked again after the batch. A process that records the photo later finds the rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

import structlog

from analytics_sql.client import ClickHouseClient, QueryFailedError
from analytics_sql.erasure import Erasure, Erasures, list_erasures
from analytics_sql.traffic.analytics import OwnerSpan
from common.errors import InvalidInputError, MisconfiguredError, TransientError
from streams.sink.tables import SinkTable

log = structlog.get_logger()
R = TypeVar("R")


class RowStore:
    """Writes rows to all tables, and caches the latest list of erasures."""

    def __init__(self, client: ClickHouseClient) -> None:
        self._client = client
        self._erasures: Erasures | None = None

    async def insert(self, table: SinkTable[R], rows: Sequence[R]) -> None:
        """Write rows, except erased rows, to a table; return once all are stored. Repeatable.

        Raises:
            TransientError: ClickHouse is unavailable, busy or not set up yet, or cannot erase rows.
            InvalidInputError: ClickHouse rejects at least one of these rows.
        """
        try:
            await self._write(table, rows)
        except MisconfiguredError as error:
            # The table, the database or a permission is missing; the rows wait until this is fixed.
            log.error("clickhouse_misconfigured", error=str(error))
            raise TransientError(str(error)) from error
        except QueryFailedError as error:
            # An erasure failed, so the rows are valid. Dead letters would expose their plates.
            log.error("clickhouse_erasure_failed", error=str(error))
            raise TransientError(str(error)) from error

    async def _write(self, table: SinkTable[R], rows: Sequence[R]) -> None:
        client = self._client
        known = self._erasures or await list_erasures(client)
        await write_unless_erased(client, table, rows, known)
        # Set this before rows are erased. If erasing fails or times out, the next attempt omits the
        # rows that this attempt wrote. After a timeout, ClickHouse continues, and merges further
        # erasures with pending ones. Waiting for ClickHouse would count as a stall.
        self._erasures = now = await list_erasures(client)
        for erasure in erasures_of(table, rows, now):
            await table.erase(client, erasure)
        if table.shared_photos is not None:
            for span in photo_spans(table, rows, now):
                await table.shared_photos.delete_erased(client, span)


async def write_unless_erased(
    client: ClickHouseClient, table: SinkTable[R], rows: Sequence[R], known: Erasures
) -> None:
    """Write rows, except those that are erased according to ``known``. Repeatable.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
        MisconfiguredError: the table, the database or a permission is missing.
        InvalidInputError: ClickHouse rejects at least one of the rows.
        QueryFailedError: ClickHouse rejects a statement other than the insert.
    """
    remaining, erased = _split(table, rows, known)
    if erased and table.record_images is not None:
        await table.record_images(client, erased)
    remaining = await _without_photos(client, table, remaining, known)
    try:
        await table.insert(client, remaining)
    except QueryFailedError as error:
        raise InvalidInputError(str(error), code="refused_by_clickhouse") from error


def erasures_of(table: SinkTable[R], rows: Iterable[R], now: Erasures) -> tuple[Erasure, ...]:
    """Return the erasures that apply to these rows, limited to the time span of the rows.

    Apply them again if ``now`` was read after the rows were written.
    """
    times_ms: defaultdict[Erasure, list[int]] = defaultdict(list)
    for row in rows:
        subject = table.subject_of(row)
        for erasure in now.covering(subject):
            times_ms[erasure].append(subject.at_ms)
    return tuple(
        replace(erasure, from_ms=min(at_ms), before_ms=max(at_ms) + 1)
        for erasure, at_ms in times_ms.items()
    )


def photo_spans(table: SinkTable[R], rows: Iterable[R], now: Erasures) -> tuple[OwnerSpan, ...]:
    """Return the time spans in which photos shared with these rows may have been erased.

    Check these spans again if ``now`` was read after the rows were written.
    """
    times_ms: defaultdict[UUID, list[int]] = defaultdict(list)
    for row in rows:
        if _may_lack_photo(table, row, now):
            subject = table.subject_of(row)
            times_ms[subject.user_id].append(subject.at_ms)
    return tuple(OwnerSpan(user, min(at_ms), max(at_ms) + 1) for user, at_ms in times_ms.items())


async def _without_photos(
    client: ClickHouseClient, table: SinkTable[R], rows: list[R], known: Erasures
) -> list[R]:
    touched = [row for row in rows if _may_lack_photo(table, row, known)]
    if table.shared_photos is None or not touched:
        return rows
    others = [row for row in rows if not _may_lack_photo(table, row, known)]
    return others + await table.shared_photos.without_erased(client, touched)


def _may_lack_photo(table: SinkTable[R], row: R, erasures: Erasures) -> bool:
    photos = table.shared_photos
    return photos is not None and photos.has_one(row) and erasures.reach(table.subject_of(row))


def _split(table: SinkTable[R], rows: Sequence[R], known: Erasures) -> tuple[list[R], list[R]]:
    """Return the rows to write, in their final form, and the rows to omit."""
    remaining: list[R] = []
    erased: list[R] = []
    for row in rows:
        rest = _rest(table, row, known)
        if rest is None:
            erased.append(row)
        else:
            remaining.append(rest)
    return remaining, erased


def _rest(table: SinkTable[R], row: R, known: Erasures) -> R | None:
    erasures = list(known.covering(table.subject_of(row)))
    if not erasures:
        return row
    is_all_erased = any(erasure.plate is None for erasure in erasures)
    return None if is_all_erased else table.without_plate(row)
