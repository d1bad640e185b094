"""A list of plates in a CSV file, as the fields ``plates`` and ``plateNames`` of an alert."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from api.alerts.schemas import MAX_PLATE_NAME, MAX_WRITTEN_PLATE
from api.imports.tables import CsvRow, CsvTable, FileEncoding
from common.errors import InvalidInputError
from common.plates.normalise import InvalidCharacterError, list_entry

MAX_SKIPPED_LISTED: Final = 1_000


class SkipCode(StrEnum):
    """Reasons for which a row is skipped, for programs."""

    INVALID_CHARACTER = "invalid_character"
    EMPTY_PLATE = "empty_plate"
    PLATE_TOO_LONG = "plate_too_long"
    UNREADABLE_ROW = "unreadable_row"
    LIMIT_REACHED = "limit_reached"


@dataclass(frozen=True)
class SkippedRow:
    """A row that was not taken; ``position`` is that of an invalid character in ``text``."""

    line: int
    text: str
    code: SkipCode
    reason: str
    position: int | None = None


@dataclass(frozen=True)
class ImportedPlates:
    """The plates of a file. Each row is taken, skipped, a duplicate, blank or a heading.

    ``plates`` are as written, ``names`` by plate. ``skipped`` lists the first rows that were
    skipped.
    """

    plates: tuple[str, ...]
    names: dict[str, str]
    rows: int
    duplicates: int
    blank: int
    headings: int
    skipped_count: int
    skipped: tuple[SkippedRow, ...]
    encoding: FileEncoding
    separator: str


_PLATE_STEMS: Final = (
    *("plate", "registration", "kennzeichen", "nummernschild", "placa", "matricul", "plaque"),
    *("targa", "targhe", "kenteken", "nummerpla", "registrer", "rekister", "rejestr", "tablic"),
    *("registrac", "registarsk", "rendszam", "plaka", "numberplate", "licenceno", "licenseno"),
    *("\u043d\u043e\u043c\u0435\u0440", "\u8f66\u724c", "\u8eca\u724c", "\u30ca\u30f3\u30d0\u30fc"),
)
"""Parts of the titles of columns with plates, in lower case and without accents."""

_PLATE_TITLES: Final = frozenset(
    ("reg", "regno", "regnr", "regnumber", "number", "nummer", "nummern", "vrn", "vrm", "tag")
    + ("kfz", "kfzkz", "kz", "chapa", "spz", "ecv", "rz", "skilt", "numero", "nr", "no")
)
_NAME_TITLES: Final = frozenset(
    ("name", "names", "nome", "nomes", "nombre", "nom", "naam", "namn", "navn", "nimi", "nazwa")
    + ("owner", "driver", "holder", "halter", "fahrer", "inhaber", "besitzer", "bezeichnung")
    + ("proprietario", "titular", "motorista", "proprietaire", "conducteur", "conducente")
    + ("note", "notes", "nota", "notas", "bemerkung", "comment", "comments", "comentario")
    + ("description", "descricao", "descripcion", "beschreibung", "label")
)
_WRAPPING: Final = " \t\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb[](){}<>"
_NOT_IN_TITLES = re.compile(r"[\W\d_]+")
_SAMPLED_ROWS = 200
_TITLE_CHARACTERS = 64


def imported_plates(table: CsvTable, limit: int) -> ImportedPlates:
    """Return the plates of a table, at most ``limit``, and what became of all other rows."""
    rows = [row for row in table.rows if not row.is_blank]
    columns = _columns(rows)
    taken: dict[str, tuple[str, str]] = {}
    skipped: list[SkippedRow] = []
    duplicates = 0
    for row in rows[1:] if columns.has_titles else rows:
        entry = _entry(row, columns)
        if isinstance(entry, SkippedRow):
            skipped.append(entry)
        elif entry.normal in taken:
            duplicates += 1
        elif len(taken) >= limit:
            reason = f"an alert has at most {limit} plates"
            skipped.append(SkippedRow(row.line, entry.plate, SkipCode.LIMIT_REACHED, reason))
        else:
            taken[entry.normal] = (entry.plate, entry.name)
    return ImportedPlates(
        plates=tuple(plate for plate, _ in taken.values()),
        names={plate: name for plate, name in taken.values() if name},
        rows=len(table.rows) + table.has_separator_line,
        duplicates=duplicates,
        blank=len(table.rows) - len(rows),
        headings=columns.has_titles + table.has_separator_line,
        skipped_count=len(skipped),
        skipped=tuple(skipped[:MAX_SKIPPED_LISTED]),
        encoding=table.encoding,
        separator=table.separator,
    )


@dataclass(frozen=True)
class _Columns:
    plate: int
    name: int | None
    has_titles: bool


@dataclass(frozen=True)
class _Entry:
    normal: str
    plate: str
    name: str


def _columns(rows: Sequence[CsvRow]) -> _Columns:
    if not rows:
        return _Columns(0, None, False)
    first = rows[0].cells
    titles = [_title(cell) for cell in first]
    name = next((at for at, title in enumerate(titles) if title in _NAME_TITLES), None)
    plates = [at for at, title in enumerate(titles) if at != name and _is_plate_title(title)]
    if plates:
        # "Owner of the plate" may be a title, too.
        return _Columns(min(plates, key=lambda at: len(titles[at])), name, True)
    guessed = _first_column_of_plates(rows)
    if name is not None and not (guessed < len(first) and _looks_like_plate(first[guessed])):
        return _Columns(guessed, name, True)
    return _Columns(guessed, guessed + 1, False)


def _first_column_of_plates(rows: Sequence[CsvRow]) -> int:
    """Return the first column most of whose cells look like plates; 0 if none does."""
    sample = [row for row in islice(rows, _SAMPLED_ROWS) if not row.fault]
    plates = Counter(
        at for row in sample for at, cell in enumerate(row.cells) if _looks_like_plate(_bare(cell))
    )
    return next((at for at in sorted(plates) if plates[at] * 2 >= len(sample)), 0)


def _looks_like_plate(text: str) -> bool:
    try:
        entry = list_entry(text)
    except InvalidInputError:
        return False
    has_digit = any(character in "0123456789*?" for character in entry)
    return len(entry) > 2 and has_digit and not entry.isdigit()


def _entry(row: CsvRow, columns: _Columns) -> _Entry | SkippedRow:
    at = columns.plate
    text = _bare(row.cells[at]) if at < len(row.cells) else ""
    shown = (text or next(filter(None, row.cells), ""))[:MAX_WRITTEN_PLATE]
    if row.fault:
        return SkippedRow(row.line, shown, SkipCode.UNREADABLE_ROW, row.fault)
    if len(text) > MAX_WRITTEN_PLATE:
        reason = f"must have at most {MAX_WRITTEN_PLATE} characters"
        return SkippedRow(row.line, shown, SkipCode.PLATE_TOO_LONG, reason)
    try:
        normal = list_entry(text)
    except InvalidCharacterError as error:
        return SkippedRow(
            row.line, shown, SkipCode.INVALID_CHARACTER, str(error), position=error.position
        )
    except InvalidInputError as error:
        return SkippedRow(row.line, shown, SkipCode(error.code), str(error))
    return _Entry(normal, _printable(text), _name(row, columns.name))


def _name(row: CsvRow, at: int | None) -> str:
    if at is None or at >= len(row.cells):
        return ""
    return _printable(row.cells[at])[:MAX_PLATE_NAME].strip()


def _bare(cell: str) -> str:
    """Return a cell without the quotes or brackets around it; ``="1"`` is a text of Excel."""
    text = cell[1:] if cell.startswith('="') else cell
    return text.strip(_WRAPPING)


def _printable(text: str) -> str:
    """Return a text of one line that an alert may hold."""
    shown = (each for each in " ".join(text.split()) if unicodedata.category(each) != "Cc")
    return "".join(shown)


def _title(cell: str) -> str:
    """Return a column's title in lower case, letters only and without accents; "" if it is none."""
    if any(character.isdecimal() for character in cell) or len(cell) > _TITLE_CHARACTERS:
        return ""
    plain = unicodedata.normalize("NFKD", cell.casefold())
    letters = "".join(each for each in plain if not unicodedata.combining(each))
    return _NOT_IN_TITLES.sub("", letters)


def _is_plate_title(title: str) -> bool:
    return title in _PLATE_TITLES or any(stem in title for stem in _PLATE_STEMS)
