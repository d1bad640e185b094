"""Converts the plates in a CSV file to the fields ``plates`` and ``plateNames`` of an alert."""

import unicodedata
from dataclasses import dataclass
from typing import Final

from api.alerts.schemas import MAX_PLATE_NAME, MAX_WRITTEN_PLATE
from api.imports.columns import PlateColumns, bare, find_columns
from api.imports.schemas import (
    MAX_SKIPPED_LISTED,
    PlateImportAnswer,
    SkipCode,
    SkippedRowBody,
)
from api.imports.tables import CsvRow, CsvTable
from common.errors import InvalidInputError
from common.plates.normalise import InvalidCharacterError, list_entry

_UNCLEAR: Final = (
    "has letters that depend on the encoding, which was guessed as windows-1252; save the file as"
    " UTF-8, or set the encoding, for example ?encoding=windows-1251"
)
_LETTERS_OF_GUESSED_FILES: Final = frozenset(
    "\u00c4\u00d6\u00dc\u00df\u00e4\u00f6\u00fc\u00d8\u00f8"
    "\u00a0\u00ad\u00b7\u2013\u2014\u2018\u2019"
)
"""Umlauts, sharp S, O with stroke, and signs between the parts of a plate.

The bytes of other windows-1252 letters can be letters of plates in Cyrillic and Greek encodings.
"""


def imported_plates(table: CsvTable, limit: int) -> PlateImportAnswer:
    """Return at most ``limit`` plates of a table, and how the other rows were handled."""
    rows = [row for row in table.rows if not row.is_blank]
    columns = find_columns(rows)
    taken: dict[str, tuple[str, str]] = {}
    skipped: list[SkippedRowBody] = []
    duplicates = 0
    for row in rows[columns.headings :]:
        entry = _entry(row, columns, table)
        if isinstance(entry, SkippedRowBody):
            skipped.append(entry)
        elif entry.normal in taken:
            duplicates += 1
        elif len(taken) >= limit:
            reason = f"exceeds the limit of {limit} plates per alert"
            skipped.append(_skipped(row, entry.plate, SkipCode.LIMIT_REACHED, reason))
        else:
            taken[entry.normal] = (entry.plate, entry.name)
    return PlateImportAnswer(
        plates=tuple(plate for plate, _ in taken.values()),
        plate_names={plate: name for plate, name in taken.values() if name},
        rows=len(table.rows) + table.has_separator_line,
        taken=len(taken),
        duplicates=duplicates,
        blank=len(table.rows) - len(rows),
        headings=columns.headings + table.has_separator_line,
        skipped_count=len(skipped),
        skipped=tuple(skipped[:MAX_SKIPPED_LISTED]),
        encoding=table.encoding,
        separator=table.separator,
    )


@dataclass(frozen=True)
class _Entry:
    normal: str
    plate: str
    name: str


def _entry(row: CsvRow, columns: PlateColumns, table: CsvTable) -> _Entry | SkippedRowBody:
    at = columns.plate
    text = bare(row.cells[at]) if at < len(row.cells) else ""
    shown = (text or next(filter(None, row.cells), ""))[:MAX_WRITTEN_PLATE]
    if row.fault:
        return _skipped(row, shown, SkipCode.UNREADABLE_ROW, row.fault)
    if len(text) > MAX_WRITTEN_PLATE:
        reason = f"must have at most {MAX_WRITTEN_PLATE} characters"
        return _skipped(row, shown, SkipCode.PLATE_TOO_LONG, reason)
    try:
        normal = list_entry(text)
    except InvalidCharacterError as error:
        return _skipped(row, shown, SkipCode.INVALID_CHARACTER, str(error), error.position)
    except InvalidInputError as error:
        return _skipped(row, shown, SkipCode(error.code), str(error))
    if (position := _doubtful(text)) and table.is_guess:
        return _skipped(row, shown, SkipCode.UNCLEAR_ENCODING, _UNCLEAR, position)
    return _Entry(normal, _printable(text), _name(row, columns.name))


def _skipped(
    row: CsvRow, text: str, code: SkipCode, reason: str, position: int | None = None
) -> SkippedRowBody:
    return SkippedRowBody(line=row.line, text=text, code=code, reason=reason, position=position)


def _doubtful(text: str) -> int:
    """Return the position of the first letter that depends on the encoding, or 0 if none does."""
    at = (at for at, each in enumerate(text, 1) if not each.isascii())
    return next((n for n in at if text[n - 1] not in _LETTERS_OF_GUESSED_FILES), 0)


def _name(row: CsvRow, at: int | None) -> str:
    if at is None or at >= len(row.cells):
        return ""
    return _printable(row.cells[at])[:MAX_PLATE_NAME].strip()


def _printable(text: str) -> str:
    """Return a text as one line without control characters, as alerts require."""
    shown = (each for each in " ".join(text.split()) if unicodedata.category(each) != "Cc")
    return "".join(shown)
