"""The parts of a statement's text that the server must know before the engine sees it."""

import re
from dataclasses import dataclass

from deploy.clickhouse.errors import ClickHouseError, ErrorCode

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
_PUNCTUATION = b"().,;=*"
_DATA_START = re.compile(rb"[ \t\f]*\r?\n?")
_TRAILING_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_LEADING_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(\w*)", re.DOTALL)


@dataclass(frozen=True)
class InsertHead:
    """An ``INSERT INTO target columns FORMAT X`` statement cut off from the data behind it."""

    target: str
    """The table as written, with its database if it names one."""
    columns: str
    """The text in parentheses behind it; ``*`` where there is none."""
    options: str
    """The text between that and FORMAT: a SETTINGS clause, or nothing."""
    data_format: str
    data_offset: int
    """Start of the data, in bytes from the start of the text."""


def insert_head(text: bytes) -> InsertHead | None:
    """Find the head of an insert that carries its data behind a FORMAT clause.

    Returns None if ``text`` is another statement (``INSERT ... VALUES`` and ``INSERT ... SELECT``
    too) or breaks off before the clause ends: with more bytes the answer may change then.

    Raises:
        ClickHouseError: it writes into a function, or its target cannot be made out.

    **Source:** ClickHouse, ``src/Parsers/ParserInsertQuery.cpp``: data starts behind the first line
    break after the format's name, or behind the blanks if there is none.
    """
    position, tokens = 0, list[_Token]()
    while (token := _TOKEN.match(text, position)) is not None:
        position = token.end()
        if token.lastgroup == "gap":
            continue
        word = token.group().upper() if token.lastgroup == "word" else b""
        if not tokens and word != b"INSERT":
            return None
        if word in (b"VALUES", b"SELECT", b"WITH"):
            return None
        if word == b"FORMAT":
            return _head_with_format(text, tokens, position)
        tokens.append(_Token(token.group(), word, token.start()))
    return None


@dataclass(frozen=True)
class _Token:
    text: bytes
    word: bytes
    """In upper case; empty for what is no word."""
    start: int


def _head_with_format(text: bytes, tokens: list[_Token], position: int) -> InsertHead | None:
    name = re.compile(rb"\s+(\w+)(?=[\s;])").match(text, position)
    data = None if name is None else _DATA_START.match(text, name.end())
    if name is None or data is None:
        return None
    target, rest = _target(tokens)
    columns, rest = _columns(rest)
    return InsertHead(
        target=_written(text, target),
        columns=_written(text, columns) or "*",
        options=_written(text, rest),
        data_format=name.group(1).decode("ascii"),
        data_offset=data.end(),
    )


def _target(tokens: list[_Token]) -> tuple[list[_Token], list[_Token]]:
    rest = tokens[1:]
    for keyword in (b"INTO", b"TABLE"):
        rest = rest[1:] if rest and rest[0].word == keyword else rest
    if rest and rest[0].word == b"FUNCTION":
        raise ClickHouseError.of(
            ErrorCode.NOT_IMPLEMENTED, "Data cannot be inserted into functions here"
        )
    length = 3 if len(rest) > 2 and rest[1].text == b"." else 1
    if not rest or rest[length - 1].text[:1] in _PUNCTUATION:
        raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "INSERT names no table")
    return rest[:length], rest[length:]


def _columns(tokens: list[_Token]) -> tuple[list[_Token], list[_Token]]:
    """Split what follows the target into what its parentheses hold and what follows them."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text == b"(") - (token.text == b")")
        if depth == 0:
            return (tokens[1:index], tokens[index + 1 :]) if index else ([], tokens)
    return [], tokens


def _written(text: bytes, tokens: list[_Token]) -> str:
    """Return what stands from the first to the last of neighbouring tokens."""
    if not tokens:
        return ""
    end = tokens[-1].start + len(tokens[-1].text)
    return text[tokens[0].start : end].decode("utf-8", errors="replace")


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
