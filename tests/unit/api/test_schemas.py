"""Request bodies that are designed to be expensive are rejected cheaply."""

import pytest
from pydantic import ValidationError

from api.schemas import MAX_NAMES
from api.sessions.routes import LogIn
from api.webhooks.schemas import WebhookCreate

MANY = {f"n{number}": 1 for number in range(MAX_NAMES + 1)}


def test_an_object_of_many_names_is_one_fault() -> None:
    with pytest.raises(ValidationError) as refused:
        LogIn.model_validate(MANY)
    assert [(fault["loc"], fault["type"]) for fault in refused.value.errors()] == [
        ((), "value_error")
    ]


def test_many_headers_are_one_fault() -> None:
    body = {
        "name": "a",
        "url": "https://receiver.example.com",
        "events": ["camera.online"],
        "headers": dict.fromkeys(MANY, "\n"),
    }
    with pytest.raises(ValidationError) as refused:
        WebhookCreate.model_validate(body)
    assert [fault["loc"] for fault in refused.value.errors()] == [("headers",)]


@pytest.mark.parametrize("character", ["\x00", "\n", "\x7f", "\x85", "\u009f"])
def test_control_characters_are_refused(character: str) -> None:
    with pytest.raises(ValidationError):
        LogIn.model_validate({"email": f"a{character}@b.example", "password": "x"})
