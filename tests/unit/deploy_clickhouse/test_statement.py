"""Reading a statement's text."""

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
    ("text", "statement", "data_format", "data"),
    [
        (b"INSERT INTO t FORMAT Native\nDATA", "INSERT INTO t", "Native", b"DATA"),
        (b"insert into t format TSV\r\n1\n", "insert into t", "TSV", b"1\n"),
        (b"INSERT INTO t (a, b) FORMAT CSV  \n1,2", "INSERT INTO t (a, b)", "CSV", b"1,2"),
        (b"INSERT INTO t FORMAT TSV 1\n", "INSERT INTO t", "TSV", b"1\n"),
        (b"INSERT INTO t FORMAT Native\n\nDATA", "INSERT INTO t", "Native", b"\nDATA"),
        (
            b'INSERT INTO `d`.`t` (`FORMAT x`, "values") FORMAT Native\nD',
            'INSERT INTO `d`.`t` (`FORMAT x`, "values")',
            "Native",
            b"D",
        ),
        (
            b"/* FORMAT a */ INSERT -- VALUES\n INTO t SETTINGS a='FORMAT b' FORMAT TSV\n1",
            "/* FORMAT a */ INSERT -- VALUES\n INTO t SETTINGS a='FORMAT b'",
            "TSV",
            b"1",
        ),
        (
            b"INSERT INTO t (`a``FORMAT`, `b\\`FORMAT`) FORMAT TSV\n1",
            "INSERT INTO t (`a``FORMAT`, `b\\`FORMAT`)",
            "TSV",
            b"1",
        ),
    ],
)
def test_head_is_cut_off_its_data(
    text: bytes, statement: str, data_format: str, data: bytes
) -> None:
    head = insert_head(text)

    assert head is not None
    assert (head.statement, head.data_format) == (statement, data_format)
    assert text[head.data_offset :] == data


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
def test_no_head(text: bytes) -> None:
    assert insert_head(text) is None


@given(st.binary(max_size=200))
def test_data_is_never_read_as_sql(data: bytes) -> None:
    head = insert_head(b"INSERT INTO t FORMAT Native\n" + data)

    assert head == InsertHead("INSERT INTO t", "Native", 28)


@given(st.binary(max_size=300))
def test_any_bytes_are_answered(text: bytes) -> None:
    insert_head(text)
    insert_head(b"INSERT " + text)


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("select 1", "SELECT"),
        ("  -- a comment\n/* and\nanother */ (SELECT 1)", "SELECT"),
        ("", ""),
        ("(((", ""),
    ],
)
def test_leading_word(statement: str, word: str) -> None:
    assert leading_word(statement) == word


@pytest.mark.parametrize(
    ("statement", "answer_format"),
    [
        ("SELECT 1", "TabSeparated"),
        ("SELECT 1\n FORMAT Native", "Native"),
        ("SELECT 1 format JSON;", "JSON"),
        ("SELECT 'FORMAT JSON'", "TabSeparated"),
    ],
)
def test_output_format(statement: str, answer_format: str) -> None:
    assert output_format(statement) == answer_format


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
def test_is_streamable(statement: str, answer_format: str, expected: bool) -> None:
    assert is_streamable(statement, answer_format) is expected
