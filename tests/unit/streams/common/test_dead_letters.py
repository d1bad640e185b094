import msgspec
import pytest

from contracts.errors import InvalidInputError, UnknownRecordVersionError
from contracts.records import DeadLetter, decode
from streams.common.dead_letters import Source, dead_letter

_SOURCE = Source(topic="things", partition=1, offset=2, key=b"\x00\xff", value=b"v" * 3000)


def _letter(error: Exception, *, max_bytes: int = 100_000) -> DeadLetter:
    return decode(DeadLetter, dead_letter("s", _SOURCE, error, at_ms=5, max_bytes=max_bytes))


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (InvalidInputError("no", code="not_a_thing"), "not_a_thing", "no"),
        (UnknownRecordVersionError("version 9"), "unknown_record_version", "version 9"),
        (KeyError("x"), "unexpected_error", "KeyError('x')"),
    ],
    ids=["invalid", "version", "unforeseen"],
)
def test_says_where_and_why(error: Exception, code: str, reason: str) -> None:
    letter = _letter(error)
    assert (letter.code, letter.reason, letter.at_ms) == (code, reason, 5)
    assert (letter.key, letter.value) == (_SOURCE.key, _SOURCE.value)


def test_a_value_that_does_not_fit_is_left_out() -> None:
    letter = _letter(InvalidInputError("no"), max_bytes=4000)
    assert letter.value is None
    assert letter.key == _SOURCE.key
    assert letter.reason == "no (value of 3000 bytes left out: too large)"


def test_a_reason_is_cut_to_a_length() -> None:
    assert len(_letter(InvalidInputError("x" * 5000)).reason) == 1000


def test_is_json_that_any_tool_reads() -> None:
    data = dead_letter("s", _SOURCE, InvalidInputError("no"), at_ms=5, max_bytes=100_000)
    assert msgspec.json.decode(data)["offset"] == 2
