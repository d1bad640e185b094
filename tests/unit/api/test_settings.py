import pytest

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
