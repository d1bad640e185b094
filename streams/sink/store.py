"""Writes rows to ClickHouse, but for what was erased on request, although Kafka still brings it.

An erasure is noted first, then its rows are deleted. So a batch is written without what was erased
as far as is known, and after it the list is read again. An erasure that stands on the new list and
not on the old one may have deleted before the batch was there: what the batch holds of it is
erased once more. One that stands on neither is noted later and deletes what is there by then. What
was left out is erased as well, since an earlier try at the batch, perhaps of another worker, may
have written it.

A photo of an image call goes with any of its plates, so rows of the others are written without its
key where it is noted as erased. It may be noted while they are written: by the one who erased the
plate, or by a worker who left it out. So the notes are looked at again after the batch, by which
time the note is there, or the rows are for whoever makes it.
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
    """Writes rows of all tables; keeps the list of erasures that it read last."""

    def __init__(self, client: ClickHouseClient) -> None:
        self._client = client
        self._erasures: Erasures | None = None

    async def insert(self, table: SinkTable[R], rows: Sequence[R]) -> None:
        """Write rows to a table; when this returns they are stored, without what was erased.

        Repeatable.

        Raises:
            TransientError: ClickHouse is unavailable, busy, not set up yet, or does not erase.
            InvalidInputError: ClickHouse refuses at least one of these rows.
        """
        try:
            await self._write(table, rows)
        except MisconfiguredError as error:
            # No table, no database or no access yet: rows wait until an operator has mended it.
            log.error("clickhouse_misconfigured", error=str(error))
            raise TransientError(str(error)) from error
        except QueryFailedError as error:
            # Not an insert, so it is no fault of these rows: a dead letter would hold their plates.
            log.error("clickhouse_erasure_failed", error=str(error))
            raise TransientError(str(error)) from error

    async def _write(self, table: SinkTable[R], rows: Sequence[R]) -> None:
        client = self._client
        known = self._erasures or await list_erasures(client)
        await write_unless_erased(client, table, rows, known)
        # Kept before anything is erased: where that fails, the next try leaves out what this wrote.
        # So it does where ClickHouse takes longer than its client waits: it goes on by itself, and
        # what a try adds to it is done in one go with what waits. Waiting on would be a standstill.
        self._erasures = now = await list_erasures(client)
        for erasure in erasures_of(table, rows, now):
            await table.erase(client, erasure)
        if table.shared_photos is not None:
            for span in photo_spans(table, rows, now):
                await table.shared_photos.delete_erased(client, span)


async def write_unless_erased(
    client: ClickHouseClient, table: SinkTable[R], rows: Sequence[R], known: Erasures
) -> None:
    """Write rows of which nothing was erased, as far as is ``known``. Repeatable.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
        MisconfiguredError: no table, no database, no access.
        InvalidInputError: ClickHouse refuses at least one of the rows.
        QueryFailedError: it refuses another statement, which says nothing of the rows.
    """
    kept, left_out = _split(table, rows, known)
    if left_out and table.set_aside is not None:
        await table.set_aside(client, left_out)
    kept = await _without_photos(client, table, kept, known)
    try:
        await table.insert(client, kept)
    except QueryFailedError as error:
        raise InvalidInputError(str(error), code="refused_by_clickhouse") from error


def erasures_of(table: SinkTable[R], rows: Iterable[R], now: Erasures) -> tuple[Erasure, ...]:
    """Return what was erased of these rows, each as far as the time of the rows goes.

    It is to be erased once more, where ``now`` was read after the rows were written.
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
    """Return where photos may have been erased that rows share with these, or these with others.

    They are to be looked for again, where ``now`` was read after the rows were written.
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
    """Return what is written of the rows, and the rows of which nothing is."""
    kept: list[R] = []
    left_out: list[R] = []
    for row in rows:
        rest = _rest(table, row, known)
        if rest is None:
            left_out.append(row)
        else:
            kept.append(rest)
    return kept, left_out


def _rest(table: SinkTable[R], row: R, known: Erasures) -> R | None:
    erasures = list(known.covering(table.subject_of(row)))
    if not erasures:
        return row
    is_of_nobody = any(erasure.plate is None for erasure in erasures)
    return None if is_of_nobody else table.without_plate(row)
