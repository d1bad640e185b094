"""Parses the parts of a statement that the server must know before running the statement."""

import re
from dataclasses import dataclass

DEFAULT_FORMAT = "TabSeparated"
"""Output format of a statement without a FORMAT clause."""

_STREAMABLE_FORMATS = ("Native", "TabSeparated", "TSV", "CSV", "RowBinary", "JSONEachRow")
_QUOTED = rb"`(?:[^`\\]|\\.|``)*` | \"(?:[^\"\\]|\\.|\"\")*\""
_TEXT = rb"'(?:[^'\\]|\\.|'')*'"
_GAP = rb"(?:\s | --[^\n]*\n | \#[\ !][^\n]*\n | /\*(?:[^*]|\*(?!/))*\*/)"
_NAME = rb"(?:[A-Za-z_]\w* | %b)" % _QUOTED
_INSERT = re.compile(
    rb"""
    GAP*+ INSERT GAP++ (?:INTO GAP++)?+ (?:TABLE GAP++)?+
    (?P<target> (?!FUNCTION\b | FORMAT\b) NAME (?:\s*\.\s*NAME)?+) GAP*+
    (?:\( (?P<columns> (?:[^()`"'] | QUOTED | \([^()`"']*\))*+ ) \))?+ GAP*+
    (?P<options> SETTINGS\s (?:(?!\bFORMAT\b)(?:[^'`"();] | TEXT))*+ )?+
    \b FORMAT GAP++ (?P<format>\w++) (?=[\s;]) [\ \t\f]*+ (?:\r?\n)?+
    """.replace(b"GAP", _GAP)
    .replace(b"NAME", _NAME)
    .replace(b"QUOTED", _QUOTED)
    .replace(b"TEXT", _TEXT),
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_TRAILING_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_LEADING_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(\w*)", re.DOTALL)


@dataclass(frozen=True)
class InsertHead:
    """The parts of an ``INSERT INTO target columns FORMAT X`` statement that precede the data."""

    target: str
    columns: str
    """The text in parentheses after the target, or ``*`` if there are no parentheses."""
    options: str
    data_format: str
    data_offset: int
    """Position of the data, in bytes from the start of the text."""


def insert_head(text: bytes) -> InsertHead | None:
    """Return the head of an insert statement whose data follows a FORMAT clause.

    Return None for any other statement (including ``INSERT ... VALUES``, ``... SELECT`` and
    ``INSERT INTO FUNCTION``), or if ``text`` ends within the clause.

    **Source:** ClickHouse, ``src/Parsers/ParserInsertQuery.cpp``: the data starts after the first
    line break that follows the format name, or after the blanks if there is no line break.
    """
    found = _INSERT.match(text)
    if found is None:
        return None
    target, columns, options, data_format = (
        (found.group(name) or b"").strip().decode("utf-8", errors="replace")
        for name in ("target", "columns", "options", "format")
    )
    return InsertHead(target, columns or "*", options, data_format, found.end())


def leading_word(statement: str) -> str:
    """Return the first word of a statement in upper case, skipping comments and parentheses."""
    found = _LEADING_WORD.match(statement)
    return "" if found is None else found.group(1).upper()


def output_format(statement: str, default: str = DEFAULT_FORMAT) -> str:
    """Return the format in a statement's FORMAT clause, or the default."""
    found = _TRAILING_FORMAT.search(statement)
    return found.group(1) if found else default


def is_streamable(statement: str, answer_format: str) -> bool:
    """Return whether a result can be sent block by block.

    Only results of queries have blocks. A header or footer would be repeated in each block.
    """
    is_query = leading_word(statement) in ("SELECT", "WITH")
    last_line = statement.rstrip().rsplit("\n", 1)[-1]
    has_comment = any(comment in last_line for comment in ("--", "/*", "#"))
    return is_query and answer_format in _STREAMABLE_FORMATS and not has_comment
