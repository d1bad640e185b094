"""Exports recognitions as files, which ClickHouse encodes. Each file contains a part of a list."""

import codecs
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from analytics_sql.client import ClickHouseClient, query_with
from analytics_sql.recognitions import RecognitionCursor, RecognitionFilter, page_parameters
from analytics_sql.rows import LAST_STORABLE_MS
from common.records.regions import COUNTRY_CODES

_PAGE: Final = "recognitions_page"
# Expected number of duplicate rows, which are rare. With more duplicates, a part has fewer rows.
_EXPECTED_COPIES: Final = 1_000
_ALL_ROWS: Final = (1 << 32) - 1


class ExportFormat(StrEnum):
    """Export file format."""

    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"


class Separator(StrEnum):
    """Column separator of a CSV file."""

    COMMA = "comma"
    SEMICOLON = "semicolon"


@dataclass(frozen=True)
class FileForm:
    """The format of an export file.

    ``excel_timezone`` (IANA name) makes a CSV file suitable for Excel: the file begins with a byte
    order mark, times are local, and no cell is a formula.
    """

    format: ExportFormat = ExportFormat.CSV
    separator: Separator = Separator.COMMA
    excel_timezone: str | None = None


_SEPARATORS: Final = {Separator.COMMA: ",", Separator.SEMICOLON: ";"}
_FORMATS: Final = {
    ExportFormat.CSV: "CSVWithNames",
    ExportFormat.PARQUET: "Parquet",
    ExportFormat.ARROW: "ArrowStream",
}
_SETTINGS: Final = {
    # Send the result only when it is complete, so that no error can interrupt it.
    "wait_end_of_query": "1",
    "date_time_output_format": "iso",
    "format_csv_null_representation": "",
    "output_format_parquet_string_as_string": "1",
    "output_format_arrow_string_as_string": "1",
}


@dataclass(frozen=True)
class ExportPart:
    """The end of a part of a list. ``next_after`` is None if no part follows.

    ``last`` is None if the part is empty.
    """

    last: RecognitionCursor | None
    next_after: RecognitionCursor | None


async def export_part(
    client: ClickHouseClient, wanted: RecognitionFilter, after: RecognitionCursor | None, rows: int
) -> ExportPart:
    """Return the end of the part that starts after ``after`` and has at most ``rows`` rows.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    limit = rows + 1 + _EXPECTED_COPIES
    given = page_parameters(wanted, after, limit)
    answer = await client.run(_around_page("export_end", given), {**given, "rows": rows})
    (found,) = answer.named()
    if not found["found_rows"]:
        return ExportPart(None, None)
    last = RecognitionCursor(found["last_ms"], found["last_id"])
    has_more = found["found_rows"] > rows or found["all_rows"] >= limit
    return ExportPart(last, last if has_more else None)


@asynccontextmanager
async def exported(
    client: ClickHouseClient,
    wanted: RecognitionFilter,
    after: RecognitionCursor | None,
    part: ExportPart,
    *,
    form: FileForm,
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Yield the file of a part in chunks, including rows added since :func:`export_part`.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    last = part.last or RecognitionCursor(LAST_STORABLE_MS, wanted.user_id)
    # The time of the last row limits the page, so that no maximum number of rows is needed.
    first_ms = max(wanted.from_ms or 0, last.captured_ms)
    given = page_parameters(replace(wanted, from_ms=first_ms), after, _ALL_ROWS)
    zone = form.excel_timezone
    statement = _around_page("export_rows", given, "plain" if zone is None else "excel")
    parameters = {
        **given,
        "last_ms": last.captured_ms,
        "last_id": last.id,
        "region_names": list(COUNTRY_CODES),
        "region_codes": list(COUNTRY_CODES.values()),
        **({} if zone is None else {"timezone": zone}),
    }
    settings = {**_SETTINGS, "format_csv_delimiter": _SEPARATORS[form.separator]}
    async with client.stream(
        statement, parameters, answer_format=_FORMATS[form.format], settings=settings
    ) as pieces:
        yield pieces if zone is None else _with_byte_order_mark(pieces)


async def _with_byte_order_mark(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield codecs.BOM_UTF8
    async for piece in pieces:
        yield piece


def _around_page(name: str, given: dict[str, object], kind: str = "") -> str:
    page = query_with(_PAGE, frozenset(given))
    return query_with(name, frozenset({kind})).replace("(PAGE)", f"(\n{page}\n)")
