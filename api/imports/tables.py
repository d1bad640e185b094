"""Parses CSV files saved by spreadsheets. Detects the encoding and the separator."""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from common.errors import InvalidInputError


class FileEncoding(StrEnum):
    """Encoding of a file, by its IANA name."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"
    WINDOWS_1250 = "windows-1250"
    WINDOWS_1251 = "windows-1251"
    WINDOWS_1252 = "windows-1252"
    WINDOWS_1253 = "windows-1253"
    WINDOWS_1254 = "windows-1254"
    ISO_8859_1 = "iso-8859-1"


@dataclass(frozen=True)
class CsvRow:
    """A row that starts at ``line`` (from 1). ``fault`` is the reason why parsing failed."""

    line: int
    cells: tuple[str, ...]
    fault: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether the row is empty or a comment, which starts with ``#``."""
        return not self.fault and (not any(self.cells) or self.cells[0].startswith("#"))


@dataclass(frozen=True)
class CsvTable:
    """The rows of a file, including blank rows, without the spreadsheet line ``sep=;``."""

    encoding: FileEncoding
    separator: str
    rows: tuple[CsvRow, ...]
    has_separator_line: bool = False
    is_guess: bool = False
    """Whether ``encoding`` is a guess, because the file is not valid UTF-8."""


UNCLOSED_QUOTE: Final = "has a misplaced or unclosed quotation mark"
_CELL_TOO_LONG: Final = f"has a cell with more than {csv.field_size_limit()} characters"
_SEPARATORS: Final = "\t;|,"
"""Separators in order of preference. Free text contains commas more often than semicolons."""
_SEPARATOR_LINE = re.compile(r'"?sep=([\t;|,:^~])"?', re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"\r\n]|"")*"')
_SAMPLED_CHARACTERS = 64 << 10
MAX_LINES: Final = 5_000
_MAX_ROW_LINES = 20
"""Maximum lines of a row. Lines are parsed again after a misplaced quotation mark."""
_MAX_COLUMNS = 100
"""Maximum number of columns. Further columns are ignored."""
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: FileEncoding.UTF_8,
    codecs.BOM_UTF16_LE: FileEncoding.UTF_16,
    codecs.BOM_UTF16_BE: FileEncoding.UTF_16,
}
_SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
_UNICODE = (FileEncoding.UTF_8, FileEncoding.UTF_16)
_MULTIBYTE = re.compile("[\u0080-\U0010ffff]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f]")
_C1_CONTROLS = re.compile("[\x80-\x9f]")


def read_table(data: bytes, encoding: FileEncoding | None = None) -> CsvTable:
    """Return the rows of a file. If ``encoding`` is None, the encoding is detected.

    Raises:
        InvalidInputError: the file is a spreadsheet, not text, too long, or in another encoding.
            The message is a sentence.
    """
    text, used, is_guess = _decoded(data, encoding)
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
    if len(lines) > MAX_LINES:
        raise InvalidInputError(f"The file has more than {MAX_LINES} lines.")
    named = _SEPARATOR_LINE.fullmatch(lines[0].strip("\r\n")) if lines else None
    separator = named.group(1) if named else _most_used_separator(text[:_SAMPLED_CHARACTERS])
    start = 1 if named else 0
    rows = tuple(_rows(lines, start, separator))
    return CsvTable(used, separator, rows, named is not None, is_guess)


def _decoded(data: bytes, wanted: FileEncoding | None) -> tuple[str, FileEncoding, bool]:
    """Return the text, the encoding, and whether the encoding was guessed."""
    if data.startswith(_SPREADSHEETS):
        raise InvalidInputError("The file is a spreadsheet, for example Excel. Save it as CSV.")
    marked = next((name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), None)
    if known := wanted or marked or (FileEncoding.UTF_16 if _is_utf_16(data) else None):
        return _text(data, known), known, False
    damage = _damage(data)
    if damage is None:
        return _text(data, FileEncoding.UTF_8), FileEncoding.UTF_8, False
    if damage:
        raise InvalidInputError(f"The file is UTF-8 with an invalid byte at position {damage}.")
    try:
        return _text(data, FileEncoding.WINDOWS_1252), FileEncoding.WINDOWS_1252, True
    except InvalidInputError as error:
        raise InvalidInputError(
            "The encoding cannot be detected. Save the file as UTF-8."
        ) from error


def _text(data: bytes, encoding: FileEncoding) -> str:
    try:
        text = data.decode(_codec(data, encoding))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"The file is not encoded in {encoding.value}.") from error
    if "\0" in text:
        raise InvalidInputError("The file is not a text file. Save it as CSV.")
    if encoding not in _UNICODE and _C1_CONTROLS.search(text):
        raise InvalidInputError(f"The file is not encoded in {encoding.value}.")
    return text


def _damage(data: bytes) -> int | None:
    """Return the position, from 1, of the first invalid byte of a file that is mostly UTF-8.

    Return None if the whole file is UTF-8, or 0 if the file is in another encoding.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        valid = len(_MULTIBYTE.findall(data.decode(errors="ignore")))
        invalid = data.decode(errors="replace").count("\ufffd")
        return error.start + 1 if valid >= invalid else 0
    return None


def _is_utf_16(data: bytes) -> bool:
    """Return whether data without a byte order mark looks like UTF-16: every other byte is 0."""
    fewer, more = sorted((data[::2].count(0), data[1::2].count(0)))
    if len(data) % 2 or more * 4 < len(data) // 2 or more < 4 * fewer:
        return False
    text = data.decode(_codec(data, FileEncoding.UTF_16), "replace")
    return _CONTROLS.search(text) is None


def _codec(data: bytes, encoding: FileEncoding) -> str:
    if encoding is FileEncoding.UTF_8:
        return "utf-8-sig"
    if encoding is not FileEncoding.UTF_16 or data[:2] in _BYTE_ORDER_MARKS:
        return encoding
    return "utf-16-be" if data[::2].count(0) > data[1::2].count(0) else "utf-16-le"


def _most_used_separator(text: str) -> str:
    """Return the separator that occurs outside of quotes on most lines."""
    lines = _QUOTED.sub("", text).splitlines()
    return max(
        _SEPARATORS,
        key=lambda each: (sum(each in line for line in lines), -_SEPARATORS.index(each)),
    )


@dataclass
class _Lines:
    """Iterates over the lines from ``at`` to ``end``. Both can be changed during iteration."""

    lines: Sequence[str]
    at: int = 0
    end: int = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at >= min(self.end, len(self.lines)):
            raise StopIteration
        self.at += 1
        return self.lines[self.at - 1]


def _rows(lines: Sequence[str], start: int, separator: str) -> Iterator[CsvRow]:
    """Yield rows. A line with misplaced quotes gets a fault. The next line starts a new row."""
    source = _Lines(lines, start)
    reader = _reader(source, separator)
    while source.at < len(lines):
        first = source.at
        source.end = first + _MAX_ROW_LINES
        try:
            cells = next(reader)[:_MAX_COLUMNS]
        except csv.Error as error:
            fault = _CELL_TOO_LONG if "field limit" in str(error) else UNCLOSED_QUOTE
            source.at = first + 1
            reader = _reader(source, separator)
            yield CsvRow(first + 1, (lines[first].strip(),), fault)
        else:
            yield CsvRow(first + 1, tuple(cell.strip() for cell in cells))


def _reader(source: _Lines, separator: str) -> Iterator[list[str]]:
    return csv.reader(source, delimiter=separator, skipinitialspace=True, strict=True)
