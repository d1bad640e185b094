"""The parts of a statement's text that the server must know before the engine sees it."""

import re
from dataclasses import dataclass

DEFAULT_FORMAT = "TabSeparated"
"""Output format of a statement that names none."""

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
    """An ``INSERT INTO target columns FORMAT X`` statement, separated from its data."""

    target: str
    columns: str
    """The text in parentheses after the target; ``*`` if there is none."""
    options: str
    data_format: str
    data_offset: int
    """Start of the data, in bytes from the start of the text."""


def insert_head(text: bytes) -> InsertHead | None:
    """Return the head of an insert that carries its data after a FORMAT clause.

    Return None for any other statement (``INSERT ... VALUES``, ``... SELECT`` and
    ``INSERT INTO FUNCTION`` too), and if ``text`` ends before the clause does.

    **Source:** ClickHouse, ``src/Parsers/ParserInsertQuery.cpp``: data starts after the first line
    break after the format's name, or after the blanks if there is none.
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
    """Return a statement's first word in upper case, after comments and parentheses."""
    found = _LEADING_WORD.match(statement)
    return "" if found is None else found.group(1).upper()


def output_format(statement: str, default: str = DEFAULT_FORMAT) -> str:
    """Return the format of a statement's answer: its trailing FORMAT clause or the default."""
    found = _TRAILING_FORMAT.search(statement)
    return found.group(1) if found else default


def is_streamable(statement: str, answer_format: str) -> bool:
    """Return whether an answer can be sent block by block.

    Only a query has blocks. A header or footer of a format would come with each of them.
    """
    is_query = leading_word(statement) in ("SELECT", "WITH")
    last_line = statement.rstrip().rsplit("\n", 1)[-1]
    has_comment = any(comment in last_line for comment in ("--", "/*", "#"))
    return is_query and answer_format in _STREAMABLE_FORMATS and not has_comment
