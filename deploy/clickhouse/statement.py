"""What the server must know about a statement's text before the engine sees it."""

import re
from dataclasses import dataclass

DEFAULT_FORMAT = "TabSeparated"
"""Output format of a statement that names none."""

_STREAMABLE_FORMATS = frozenset(
    {"Native", "TabSeparated", "TSV", "CSV", "RowBinary", "JSONEachRow"}
)

# One token of ClickHouse SQL, as far as needed to walk over an INSERT's head. Quoted things and
# comments come first, so that a keyword inside them is not taken for one.
_TOKEN = re.compile(
    rb"""
      (?P<gap>\s+ | --[^\n]*\n | \#[\ !][^\n]*\n | /\*.*?\*/)
    | (?P<quoted>'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`\\]|\\.|``)*`)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<other>[^\s'"`A-Za-z_])
    """,
    re.VERBOSE | re.DOTALL,
)
_DATA_START = re.compile(rb"[ \t\f]*\r?\n?")
_TRAILING_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_LEADING_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(\w*)", re.DOTALL)


@dataclass(frozen=True)
class InsertHead:
    """An ``INSERT ... FORMAT X`` statement cut off from the data behind it."""

    statement: str
    """The statement without its FORMAT clause, as the engine's streaming insert takes it."""
    data_format: str
    data_offset: int
    """Where the data starts, in bytes from the start of the text."""


def insert_head(text: bytes) -> InsertHead | None:
    """Find the head of an insert that carries its data behind a FORMAT clause.

    Returns None if ``text`` is another statement (``INSERT ... VALUES`` and ``INSERT ... SELECT``
    too) or breaks off before the clause ends: with more bytes the answer may change then.

    **Source:** ClickHouse, ``src/Parsers/ParserInsertQuery.cpp``: data starts behind the first line
    break after the format's name, or behind the blanks if there is none.
    """
    position, words = 0, 0
    while (token := _TOKEN.match(text, position)) is not None:
        position = token.end()
        if token.lastgroup != "word":
            continue
        word = token.group().upper()
        words += 1
        if words == 1 and word != b"INSERT":
            return None
        if word in (b"VALUES", b"SELECT", b"WITH"):
            return None
        if word == b"FORMAT":
            return _head_with_format(text, token.start(), position)
    return None


def _head_with_format(text: bytes, format_start: int, position: int) -> InsertHead | None:
    name = re.compile(rb"\s+(\w+)(?=[\s;])").match(text, position)
    data = None if name is None else _DATA_START.match(text, name.end())
    if name is None or data is None:
        return None
    statement = text[:format_start].decode("utf-8", errors="replace").rstrip()
    return InsertHead(statement, name.group(1).decode("ascii"), data.end())


def starts_insert(text: bytes) -> bool:
    """Tell whether the first word is INSERT, so that data may follow the statement."""
    return leading_word(text[:4096].decode("utf-8", errors="replace")) == "INSERT"


def leading_word(statement: str) -> str:
    """Return a statement's first word in upper case, past comments and parentheses."""
    found = _LEADING_WORD.match(statement)
    return "" if found is None else found.group(1).upper()


def output_format(statement: str, default: str = DEFAULT_FORMAT) -> str:
    """Return the format of a statement's answer: its trailing FORMAT clause or the default."""
    found = _TRAILING_FORMAT.search(statement)
    return found.group(1) if found else default


def is_streamable(statement: str, answer_format: str) -> bool:
    """Tell whether an answer may be sent block by block.

    Only a query has blocks, and only a format without anything around its blocks can be cut: the
    engine gives every block with a head and a foot of its own.
    """
    if leading_word(statement) not in ("SELECT", "WITH"):
        return False
    return answer_format in _STREAMABLE_FORMATS and not _ends_in_comment(statement)


def _ends_in_comment(statement: str) -> bool:
    last_line = statement.rstrip().rsplit("\n", 1)[-1]
    return "--" in last_line or "/*" in last_line or "#" in last_line
