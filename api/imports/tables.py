"""Rows of a CSV file as spreadsheets write it, in whatever encoding and with whatever separator."""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from common.errors import InvalidInputError


class FileEncoding(StrEnum):
    """Encodings of files, under their IANA names."""

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
    """A row; ``line`` is its first line in the file, from 1. ``fault``: why it cannot be read."""

    line: int
    cells: tuple[str, ...]
    fault: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether it is empty or a comment, which starts with ``#``."""
        return not self.fault and (not any(self.cells) or self.cells[0].startswith("#"))


@dataclass(frozen=True)
class CsvTable:
    """The rows of a file, blank ones included, without the line ``sep=;`` of spreadsheets."""

    encoding: FileEncoding
    separator: str
    rows: tuple[CsvRow, ...]
    has_separator_line: bool = False


UNCLOSED_QUOTE: Final = "a quotation mark is misplaced or not closed"
_SEPARATORS: Final = "\t;|,"
"""In the order of preference: free text has commas more often than semicolons."""
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"\r\n]|"")*"')
_SAMPLED_CHARACTERS = 64 << 10
_MAX_LINES = 20_000
_MAX_COLUMNS = 100
"""Columns of a row that are read."""
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: FileEncoding.UTF_8,
    codecs.BOM_UTF16_LE: FileEncoding.UTF_16,
    codecs.BOM_UTF16_BE: FileEncoding.UTF_16,
}
_SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
_CODECS = {FileEncoding.UTF_8: "utf-8-sig"}


def read_table(data: bytes, encoding: FileEncoding | None = None) -> CsvTable:
    """Return the rows of a file; without ``encoding`` it is detected.

    Raises:
        InvalidInputError: it is a spreadsheet, not text, too long, or not in that encoding. The
            message is a sentence.
    """
    text, used = _decoded(data, encoding)
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
    if len(lines) > _MAX_LINES:
        raise InvalidInputError(f"The file has more than {_MAX_LINES} lines.")
    named = _SEPARATOR_LINE.fullmatch(lines[0].strip("\r\n")) if lines else None
    separator = named.group(1) if named else _most_used_separator(text[:_SAMPLED_CHARACTERS])
    start = 1 if named else 0
    return CsvTable(used, separator, tuple(_rows(lines, start, separator)), named is not None)


def _decoded(data: bytes, wanted: FileEncoding | None) -> tuple[str, FileEncoding]:
    if data.startswith(_SPREADSHEETS):
        raise InvalidInputError("This is a spreadsheet, for example of Excel; save it as CSV.")
    marked = next((name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), None)
    first = wanted or marked
    tried = (
        (first,)
        if first
        else (FileEncoding.UTF_8, FileEncoding.WINDOWS_1252, FileEncoding.ISO_8859_1)
    )
    for encoding in tried:
        try:
            text = data.decode(_CODECS.get(encoding, encoding))
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            raise InvalidInputError("This is not a text file; save it as CSV.")
        return text, encoding
    raise InvalidInputError(f"The file is not encoded in {tried[0].value}.")


def _most_used_separator(text: str) -> str:
    """Return the separator that is outside of quotes on most lines."""
    lines = _QUOTED.sub("", text).splitlines()
    return max(
        _SEPARATORS,
        key=lambda each: (sum(each in line for line in lines), -_SEPARATORS.index(each)),
    )


@dataclass
class _Lines:
    """Lines from ``at`` on, which can be moved back."""

    lines: Sequence[str]
    at: int = field(default=0)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at >= len(self.lines):
            raise StopIteration
        self.at += 1
        return self.lines[self.at - 1]


def _rows(lines: Sequence[str], start: int, separator: str) -> Iterator[CsvRow]:
    """Return rows; a line whose quotes are wrong has a fault, and the next one starts a row."""
    source = _Lines(lines, start)
    reader = _reader(source, separator)
    while source.at < len(lines):
        first = source.at
        try:
            cells = next(reader)[:_MAX_COLUMNS]
        except csv.Error:
            source.at = first + 1
            reader = _reader(source, separator)
            yield CsvRow(first + 1, (lines[first].strip(),), UNCLOSED_QUOTE)
        else:
            yield CsvRow(first + 1, tuple(cell.strip() for cell in cells))


def _reader(source: _Lines, separator: str) -> Iterator[list[str]]:
    return csv.reader(source, delimiter=separator, skipinitialspace=True, strict=True)
