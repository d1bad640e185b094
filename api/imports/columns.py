"""Finds the heading rows and the plate and name columns of a table."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from api.imports.tables import CsvRow
from common.errors import InvalidInputError
from common.plates.normalise import list_entry

_WRAPPING: Final = " \t\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb[](){}<>"
_SAMPLED_ROWS = 100
_MAX_CHARACTERS = 64
"""Maximum length of a cell that is a plate or a title."""
_HEADING_ROWS = 3
"""Number of rows at the top that are searched for headings."""
_LONGEST_USUAL_PLATE = 10
_MIN_ROWS_BELOW = 2
"""Number of rows that must follow a row with unknown words for that row to be a heading."""

_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TRAILING_DIGIT = re.compile(r"(?<=[^\W\d_]{4})[ _]?[0-9]$")
_SPACES = re.compile(r"\s+")
_NO_LETTERS = re.compile(r"[\W\d_]+")


def _plain(text: str) -> str:
    """Return a text in lower case and without accents."""
    parts = unicodedata.normalize("NFKD", text).casefold()
    return "".join(each for each in parts if not unicodedata.combining(each))


_PLATE_WORDS = re.compile(
    _plain(
        r"(?:number|licen[cs]e|car|vehicle)?plates?(?:no|nr|numbers?)?|plat|reg|reg(?:no|nr|number|mark)"
        r"|registrations?(?:no|nr|numbers?|mark)?|\w*kennzeichen\w*|(?:kfz)?kennz|nummernschild(?:er)?"
        r"|placas?|chapas?|immat\w*|matricul\w*|plaques?|targ(?:a|he)|kentekens?|nummerpla\w*"
        r"|registrer\w*|registrac\w*|registars\w*|rekister\w*|rejestr\w*|rej|tablic\w*|rendszam\w*"
        r"|plaka\w*|kjennemerke|skylt\w*|skilt\w*|numbrimark|zime|bienso|vrn|vrm|kfzkz|spz|ecv"
        r"|гос\w*|\w*госномер\w*|номерной|.*车牌.*|.*車牌.*|.*車両番号.*|.*ナンバー.*"
    )
)
"""Words for plates in column titles, in the form that :func:`_words` returns."""

_VEHICLE_WORDS: Final = frozenset(
    ("vehicle", "vehicles", "vehiculo", "vehicule", "veiculo", "veicolo", "fahrzeug", "voertuig")
    + ("car", "cars", "auto", "kfz", "lp", "license", "licence", "licenseno", "licenceno")
    + ("patente", "dominio", "kz", "rz")
)
_NUMBER_WORDS: Final = frozenset(
    ("nr", "no", "n", "number", "numbers", "nummer", "nummern", "numero", "numer", "nomor")
    + ("numura", "id", "tag", "fleet", "column", "spalte", "coluna", "columna", "номер", "номера")
)
_OTHER_WORDS: Final = frozenset(
    ("of", "the", "a", "d", "l", "de", "du", "des", "del", "della", "di", "da", "do", "la", "le")
    + ("s", "mark", "amtliches", "amtl", "hatosagi", "mineralogique", "знак", "рег")
)
_NAME_WORDS: Final = frozenset(
    ("name", "names", "nome", "nomes", "nombre", "nom", "naam", "namn", "navn", "nimi", "nazwa")
    + ("owner", "driver", "holder", "halter", "fahrer", "inhaber", "besitzer", "bezeichnung")
    + ("proprietario", "titular", "motorista", "proprietaire", "conducteur", "conducente")
    + ("note", "notes", "nota", "notas", "bemerkung", "comment", "comments", "comentario")
    + ("description", "descricao", "descripcion", "beschreibung", "label")
)
_WORDS_WITH_NAMES: Final = _NAME_WORDS | _VEHICLE_WORDS | _OTHER_WORDS
_NUMBER, _VEHICLE, _PLATE = 1, 2, 3
"""Ranks of titles, by how clearly a title names a plate column. Rank 0: not a plate column."""


@dataclass(frozen=True)
class PlateColumns:
    """The columns of plates and of names, and the number of heading rows at the top."""

    plate: int
    name: int | None
    headings: int


def find_columns(rows: Sequence[CsvRow]) -> PlateColumns:
    """Return the columns of a table. ``rows`` must not contain blank rows."""
    for at, row in enumerate(rows[:_HEADING_ROWS]):
        below = rows[at + 1 : at + 1 + _SAMPLED_ROWS]
        found = None if row.fault else _titled(row, below)
        if found:
            return PlateColumns(*found, at + 1)
        if not _may_be_above_headings(row, rows[at + 1 : at + 2]):
            break
    guessed = _first_column_of_plates(rows[:_SAMPLED_ROWS])
    heading = bool(rows) and _is_unknown_heading(rows[0], rows[1 : 1 + _SAMPLED_ROWS])
    return PlateColumns(guessed, guessed + 1, int(heading))


def bare(cell: str) -> str:
    """Return a cell without quotes or brackets around it. Excel writes text as ``="1"``."""
    text = cell[1:] if cell.startswith('="') else cell
    return text.strip(_WRAPPING)


def _titled(row: CsvRow, below: Sequence[CsvRow]) -> tuple[int, int | None] | None:
    """Return the plate and name columns named by a row, or None if the row has no titles."""
    words = [_words(cell) for cell in row.cells]
    name = next((at for at, each in enumerate(words) if _is_name(each)), None)
    ranked = [(_rank(each), _share(below, at), -at) for at, each in enumerate(words) if at != name]
    rank, _, column = max(filter(_is_usable, ranked), default=(0, 0.0, 0))
    if not rank and name is None:
        return None
    plate = -column if rank else _first_column_of_plates(below)
    # Only the cells below distinguish a list of vanity plates from a column with a title.
    if _is_list(row, below) and below and not _has_digits(below, plate):
        return None
    if any(_is_data(cell, at, below, plate) for at, cell in enumerate(row.cells)):
        return None
    return plate, name


def _is_usable(ranked: tuple[int, float, int]) -> bool:
    rank, share, _ = ranked
    return rank == _PLATE or (rank > 0 and share >= 1 / 2)


def _is_data(cell: str, at: int, below: Sequence[CsvRow], plate: int) -> bool:
    """Return whether a cell in a row with a title is a plate, so that the row is not a heading."""
    if not _looks_like_plate(cell):
        return False
    return _share(below, plate) < 1 / 2 or _share(below, at) >= 1 / 2


def _may_be_above_headings(row: CsvRow, following: Sequence[CsvRow]) -> bool:
    """Return whether a row can be a title of the whole table: one cell that is not a plate."""
    texts = [cell for cell in row.cells if cell]
    if row.fault or len(texts) != 1 or not following:
        return False
    is_short = len(_SPACES.sub("", texts[0])) <= _LONGEST_USUAL_PLATE
    if _looks_like_plate(texts[0]) and is_short:
        return False
    if sum(map(bool, following[0].cells)) > 1:
        return True
    return " " in texts[0] and not _rank_of(texts[0])


def _is_unknown_heading(row: CsvRow, below: Sequence[CsvRow]) -> bool:
    """Return whether a row of unknown words is a heading: it has no digits, and plates follow."""
    plate = _first_column_of_plates(below)
    has_sign = any(each.isdecimal() or each in "*?" for cell in row.cells for each in cell)
    if row.fault or has_sign or plate >= len(row.cells) or not row.cells[plate]:
        return False
    return len(below) >= _MIN_ROWS_BELOW and _share(below, plate) > 1 / 2


def _first_column_of_plates(rows: Sequence[CsvRow]) -> int:
    """Return the first column in which at least half of the cells look like plates, or 0."""
    sample = [row for row in rows if not row.fault]
    plates = Counter(
        at for row in sample for at, cell in enumerate(row.cells) if _looks_like_plate(cell)
    )
    return next((at for at in sorted(plates) if plates[at] * 2 >= len(sample)), 0)


def _share(rows: Sequence[CsvRow], at: int) -> float:
    """Return the fraction of the cells in column ``at`` that look like plates."""
    cells = [row.cells[at] for row in rows if not row.fault and at < len(row.cells)]
    return sum(map(_looks_like_plate, cells)) / len(cells) if cells else 0.0


def _is_list(row: CsvRow, below: Sequence[CsvRow]) -> bool:
    return all(sum(map(bool, each.cells)) <= 1 for each in (row, *below))


def _has_digits(rows: Sequence[CsvRow], at: int) -> bool:
    cells = [row.cells[at] for row in rows if at < len(row.cells) and not _rank_of(row.cells[at])]
    return any(each.isdecimal() or each in "*?" for cell in cells for each in cell)


def _looks_like_plate(cell: str) -> bool:
    if len(cell) > _MAX_CHARACTERS:
        return False
    try:
        entry = list_entry(bare(cell))
    except InvalidInputError:
        return False
    has_digit = any(character in "0123456789*?" for character in entry)
    return len(entry) > 2 and has_digit and not entry.isdigit() and not _rank_of(cell)


def _rank_of(cell: str) -> int:
    return _rank(_words(cell))


def _words(cell: str) -> frozenset[str]:
    """Return a cell's words, lower-case and unaccented, or none if the cell cannot be a title."""
    if len(cell) > _MAX_CHARACTERS:
        return frozenset()
    text = _TRAILING_DIGIT.sub("", bare(cell).rstrip(" :"))
    if any(each.isdecimal() for each in text):
        return frozenset()
    words = frozenset(filter(None, _NO_LETTERS.split(_plain(_CAMEL_CASE.sub(" ", text)))))
    # The Vietnamese word for plate is written as two words.
    return frozenset({"bienso"}) if words == {"bien", "so"} else words


def _rank(words: frozenset[str]) -> int:
    """Return how clearly a title names a plate column, or 0 if a word is unknown."""
    plates = frozenset(word for word in words if _PLATE_WORDS.fullmatch(word))
    if not words <= plates | _VEHICLE_WORDS | _NUMBER_WORDS | _OTHER_WORDS:
        return 0
    if plates:
        return _PLATE
    return _VEHICLE if words & _VEHICLE_WORDS else _NUMBER * bool(words & _NUMBER_WORDS)


def _is_name(words: frozenset[str]) -> bool:
    return bool(words & _NAME_WORDS) and words <= _WORDS_WITH_NAMES
