import os
from pathlib import Path

import pytest

from deploy.local.__main__ import read_settings_file
from deploy.local.waiting import StartError

NAMES = ("PLATESTREAM_API_PORT", "PLATESTREAM_MQTT_HOST")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PLATESTREAM_API_PORT": "1"})


def known() -> dict[str, str | None]:
    return {name: os.environ.get(name) for name in NAMES}


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "platestream.env"
    lines = ("# mine", "PLATESTREAM_API_PORT=2", "PLATESTREAM_MQTT_HOST='broker.example' # here")
    file.write_text("\n".join(lines))
    read_settings_file(file)
    assert known() == dict(zip(NAMES, ("1", "broker.example"), strict=True))


def test_no_file_is_no_settings(tmp_path: Path) -> None:
    read_settings_file(tmp_path / "platestream.env")
    assert known() == dict(zip(NAMES, ("1", None), strict=True))


def test_a_line_without_a_value_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "platestream.env"
    file.write_text("PLATESTREAM_MQTT_HOST\n")
    with pytest.raises(StartError, match="PLATESTREAM_MQTT_HOST has no value"):
        read_settings_file(file)
