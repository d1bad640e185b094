"""Photos of image calls, which the recognitions of several plates share.

Where one of these was erased, the photo goes, and the others are not to name it: neither a row that
is stored, nor one that comes late or again.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.analytics import OwnerSpan
from analytics_sql.connection import clickhouse_errors
from analytics_sql.rows import RecognitionRow
from analytics_sql.statements import query_text
from contracts.recognitions import RecognitionSource

# A request line of ClickHouse has 1 MiB at the most; an id in it takes some 50 bytes.
_AT_ONCE = 1000


def has_shared_photo(row: RecognitionRow) -> bool:
    """Tell whether other recognitions may have the row's photo too."""
    return row.source is RecognitionSource.API and row.photo_key is not None


async def without_noted_photos(
    client: AsyncClient, rows: Sequence[RecognitionRow]
) -> list[RecognitionRow]:
    """Return the rows, without the key of a photo that is noted as erased.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    noted: set[str] = set()
    for first in range(0, len(rows), _AT_ONCE):
        noted |= await _noted(client, rows[first : first + _AT_ONCE])
    return [replace(row, photo_key=None) if _photo(row) in noted else row for row in rows]


async def erase_noted_photos(client: AsyncClient, span: OwnerSpan) -> int:
    """Take photos that are noted as erased from the stored rows of a span; return how many rows.

    Raises:
        TransientError: ClickHouse is away or busy, or takes too long and goes on by itself.
    """
    parameters = {"user_id": span.user_id, "from_ms": span.from_ms, "to_ms": span.to_ms}
    with clickhouse_errors():
        result = await client.query(query_text("rows_with_noted_photos"), parameters=parameters)
        found = int(result.result_rows[0][0])
        if found:
            await client.command(query_text("erase_noted_photos"), parameters=parameters)
    return found


async def _noted(client: AsyncClient, rows: Sequence[RecognitionRow]) -> set[str]:
    parameters = {
        "user_ids": list({row.user_id for row in rows}),
        "photos": list({_photo(row) for row in rows}),
    }
    with clickhouse_errors():
        result = await client.query(query_text("noted_photos"), parameters=parameters)
    return {str(photo) for (photo,) in result.result_rows}


def _photo(row: RecognitionRow) -> str:
    """Return the recognition that the photo's key is derived from; the first of its call."""
    return PurePosixPath(row.photo_key or "").parent.name
