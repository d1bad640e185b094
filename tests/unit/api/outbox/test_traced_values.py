"""The trace of an outbox row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.outbox.outbox import split_trace, with_trace
from common.records.codec import DeadLetter, decode, encode
from tests.recorded_spans import SOME_TRACE

FIELD = b',"traceparent":"' + SOME_TRACE.traceparent.encode() + b'"}'


def _record(text: str = "") -> DeadLetter:
    return DeadLetter(stage="s", topic="t", partition=1, offset=2, code="c", reason=text, at_ms=3)


@given(st.text())
def test_it_comes_back_and_the_record_is_as_it_was(text: str) -> None:
    value = encode(_record(text))

    assert split_trace(with_trace(value, SOME_TRACE)) == (value, SOME_TRACE)
    assert split_trace(with_trace(value, None)) == (value, None)


def test_a_reader_ignores_it() -> None:
    record = _record("x")

    assert decode(DeadLetter, with_trace(encode(record), SOME_TRACE)) == record


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{}",
        # A webhook header that a client has set, and a value that looks like the field.
        b'{"version":1,"headers":{"a":"b"' + FIELD + b"}",
        encode(_record(FIELD.decode())),
        encode(_record('"' + FIELD.decode())),
        b'{"version":1,"traceparent":"00-garbage"}',
    ],
)
def test_nothing_else_is_taken_for_it(value: bytes | None) -> None:
    assert split_trace(value) == (value, None)
