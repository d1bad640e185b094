"""Format of numbers and IDs in paths and queries."""

from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from api.deliveries.schemas import DeliveryQuery
from api.recognitions.schemas import RecognitionQuery
from api.validation.fields import number, uuid_text, whole_number

_WHOLE = TypeAdapter(Annotated[int, BeforeValidator(whole_number)])
_NUMBER = TypeAdapter(Annotated[float, BeforeValidator(number)])
_UUID = TypeAdapter(Annotated[UUID, BeforeValidator(uuid_text)])
_ID = "01975e0c-1111-8222-9333-0123456789aB"
_LAX = ["1_0", " 5", "5 ", "+5", "٣", "٥٠", "1_000", "05", "0x10", "5\n", "", "five", "½", "²"]


@pytest.mark.parametrize("text", [*_LAX, "5.0", "1e2"], ids=ascii)
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="must be an integer"):
        _WHOLE.validate_python(text)


@pytest.mark.parametrize(("text", "meant"), [("0", 0), ("5", 5), ("200", 200), ("-1", -1)])
def test_a_whole_number_is_read(text: str, meant: int) -> None:
    assert _WHOLE.validate_python(text) == meant


@pytest.mark.parametrize("text", [*_LAX, ".5", "5.", "nan", "inf", "Infinity", "0,5"], ids=ascii)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="must be a number"):
        _NUMBER.validate_python(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("0", 0), ("1", 1), ("0.25", 0.25), ("5e-1", 0.5), ("-0.5", -0.5)]
)
def test_a_number_is_read(text: str, meant: float) -> None:
    assert _NUMBER.validate_python(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        *(_ID.replace("-", ""), f"{{{_ID}}}", f"urn:uuid:{_ID}", f" {_ID}", f"{_ID}\n", ""),
        *(_ID.replace("0", "٠"), _ID.replace("1111", "1_11"), _ID[:-1], "+" + _ID[1:]),
    ],
    ids=ascii,
)
def test_what_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="must be a UUID"):
        _UUID.validate_python(text)


def test_a_uuid_is_read_in_either_case() -> None:
    assert _UUID.validate_python(_ID) == UUID(_ID)


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        (RecognitionQuery, {"limit": "1_0", "minConfidence": "+1", "cameraId": UUID(_ID).hex}),
        (DeliveryQuery, {"limit": "٣"}),
    ],
)
def test_every_query_keeps_the_rule(query: Any, wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as caught:
        query.model_validate(wrong)

    assert {fault["loc"][0] for fault in caught.value.errors()} == set(wrong)
