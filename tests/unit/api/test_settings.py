import pytest
from pydantic import ValidationError

from api.settings import ApiSettings
from recognition.settings import all_processors_but_one

_REQUIRED = {
    "database_url": "postgresql://u:p@127.0.0.1/d",
    "s3_secret_key": "s",
    "clickhouse_password": "c",
    "secret_key": "k",
}


@pytest.mark.parametrize(
    ("given", "processes"),
    [
        ({"recognition_workers": 3}, 3),
        ({"recognition_workers": 3, "api_recognition_workers": 1}, 1),
        ({"recognition_workers": 100, "api_recognition_workers": 0}, None),
        ({}, None),
    ],
    ids=["shared", "own", "own-by-processors", "neither"],
)
def test_recogniser_processes_are_those_of_the_setting_or_all_processors_but_one(
    given: dict[str, int], processes: int | None
) -> None:
    settings = ApiSettings.model_validate({**_REQUIRED, **given})

    assert settings.worker_count == (processes or all_processors_but_one())


@pytest.mark.parametrize(
    ("text", "accounts"),
    [
        ("", ()),
        (" Owner@Example.org, ", ("owner@example.org",)),
        ("4B0C0B7E-2B66-4BF4-9C7E-7E0D8E2D7A11", ("4b0c0b7e-2b66-4bf4-9c7e-7e0d8e2d7a11",)),
    ],
)
def test_operators_are_email_addresses_or_ids(text: str, accounts: tuple[str, ...]) -> None:
    settings = ApiSettings.model_validate({**_REQUIRED, "operator_accounts": text})

    assert settings.operator_accounts == accounts


@pytest.mark.parametrize("text", ["owner", "4b0c0b7e", "a@b.example,owner"])
def test_an_operator_that_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="email addresses or IDs of accounts"):
        ApiSettings.model_validate({**_REQUIRED, "operator_accounts": text})
