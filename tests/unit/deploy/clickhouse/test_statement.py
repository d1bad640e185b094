"""Parsing of statements."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.clickhouse.statement import (
    InsertHead,
    insert_head,
    is_streamable,
    leading_word,
    output_format,
)


@pytest.mark.parametrize(
    ("text", "target", "columns", "options", "data_format", "data"),
    [
        (b"INSERT INTO t FORMAT Native\nDATA", "t", "*", "", "Native", b"DATA"),
        (b"insert t format TSV\r\n1\n", "t", "*", "", "TSV", b"1\n"),
        (b"INSERT INTO TABLE t (a, b) FORMAT CSV  \n1,2", "t", "a, b", "", "CSV", b"1,2"),
        (b"INSERT INTO t FORMAT TSV 1\n", "t", "*", "", "TSV", b"1\n"),
        (b"INSERT INTO t FORMAT Native\n\nDATA", "t", "*", "", "Native", b"\nDATA"),
        (
            b'INSERT INTO `d`.`t` (`FORMAT x`, "values") FORMAT Native\nD',
            "`d`.`t`",
            '`FORMAT x`, "values"',
            "",
            "Native",
            b"D",
        ),
        (
            b"/* FORMAT a */ INSERT -- VALUES\n INTO t SETTINGS a='FORMAT b' FORMAT TSV\n1",
            "t",
            "*",
            "SETTINGS a='FORMAT b'",
            "TSV",
            b"1",
        ),
        (
            b"INSERT INTO t (`a``FORMAT`, `b\\`FORMAT`) SETTINGS a=16, b=1.5 FORMAT TSV\n1",
            "t",
            "`a``FORMAT`, `b\\`FORMAT`",
            "SETTINGS a=16, b=1.5",
            "TSV",
            b"1",
        ),
        (b"INSERT INTO t (* EXCEPT(a)) FORMAT TSV\n", "t", "* EXCEPT(a)", "", "TSV", b""),
    ],
)
def test_head_is_cut_off_its_data(
    text: bytes, target: str, columns: str, options: str, data_format: str, data: bytes
) -> None:
    head = insert_head(text)

    assert head == InsertHead(target, columns, options, data_format, len(text) - len(data))


@pytest.mark.parametrize(
    "text",
    [
        b"INSERT INTO FUNCTION file('a') FORMAT TSV\n",
        b"INSERT INTO FORMAT TSV\n",
        b"INSERT INTO (a) FORMAT TSV\n",
        b"INSERT INTO d. (a) FORMAT TSV\n",
    ],
)
def test_a_head_without_a_table_is_left_to_the_engine(text: bytes) -> None:
    assert insert_head(text) is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"SELECT 1 FORMAT Native\n",
        b"INSERT INTO t VALUES (1) FORMAT x\n",
        b"INSERT INTO t SELECT 1 FORMAT Native\n",
        b"INSERT INTO t WITH 1 AS a SELECT a",
        b"INSERT INTO t FORMAT",
        b"INSERT INTO t FORMAT Nat",
        b"INSERT INTO t (`a",
        b"-- INSERT INTO t FORMAT TSV\n",
    ],
)
def test_a_statement_without_data_has_no_head(text: bytes) -> None:
    assert insert_head(text) is None


@given(st.binary(max_size=200))
def test_data_is_never_read_as_sql(data: bytes) -> None:
    head = insert_head(b"INSERT INTO t FORMAT Native\n" + data)

    assert head == InsertHead("t", "*", "", "Native", 28)


_PIECES = st.sampled_from(
    [
        *(b"INSERT ", b"INTO ", b"FUNCTION ", b"t", b".", b"(", b")", b"VALUES", b"FORMAT TSV"),
        *(b" ", b"\n", b";", b"`", b"'", b"--", b"/*", b"*/", b"\xff"),
    ]
)


@given(st.binary(max_size=300) | st.lists(_PIECES, max_size=20).map(b"".join))
def test_any_bytes_are_a_head_or_none(text: bytes) -> None:
    for statement in (text, b"INSERT " + text):
        head = insert_head(statement)
        assert head is None or (head.target and head.data_offset <= len(statement))


@pytest.mark.parametrize("repeated", [b"(", b"a,", b"`a`", b"/*", b"/* */", b"-- \n", b" ", b"'"])
@pytest.mark.parametrize(
    "start", [b"INSERT INTO t (", b"INSERT INTO t SETTINGS a=", b"", b"INSERT "]
)
def test_a_long_head_takes_no_long_time(start: bytes, repeated: bytes) -> None:
    started = time.process_time()

    insert_head(start + repeated * 40_000)

    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("read", "statement", "found"),
    [
        (leading_word, "select 1", "SELECT"),
        (leading_word, "  -- a comment\n/* and\nanother */ (SELECT 1)", "SELECT"),
        (leading_word, "", ""),
        (leading_word, "(((", ""),
        (output_format, "SELECT 1", "TabSeparated"),
        (output_format, "SELECT 1\n FORMAT Native", "Native"),
        (output_format, "SELECT 1 format JSON;", "JSON"),
        (output_format, "SELECT 'FORMAT JSON'", "TabSeparated"),
    ],
)
def test_the_leading_word_and_the_output_format_are_found(
    read: Callable[[str], str], statement: str, found: str
) -> None:
    assert read(statement) == found


@pytest.mark.parametrize(
    ("statement", "answer_format", "expected"),
    [
        ("SELECT 1\n FORMAT Native", "Native", True),
        ("WITH 1 AS a SELECT a", "TSV", True),
        ("SELECT 1 FORMAT JSON", "JSON", False),
        ("SELECT 1 FORMAT CSVWithNames", "CSVWithNames", False),
        ("SHOW TABLES\n FORMAT Native", "Native", False),
        ("SELECT 1 FORMAT JSON -- FORMAT Native", "Native", False),
    ],
)
def test_only_statements_that_can_be_streamed_are(
    statement: str, answer_format: str, expected: bool
) -> None:
    assert is_streamable(statement, answer_format) is expected
