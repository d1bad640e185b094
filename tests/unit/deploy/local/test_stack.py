from pathlib import Path

from deploy.local.files import Layout
from deploy.local.stack import changed_settings, record_start

_SETTINGS = {"PLATESTREAM_API_PORT": "8000", "PLATESTREAM_SECRET_KEY": "secret", "HOME": "/root"}


def test_the_same_settings_are_no_change(tmp_path: Path) -> None:
    record_start(Layout(tmp_path), _SETTINGS)

    assert changed_settings(Layout(tmp_path), {**_SETTINGS, "HOME": "/elsewhere"}) == ()


def test_changed_new_and_missing_settings_are_named(tmp_path: Path) -> None:
    record_start(Layout(tmp_path), _SETTINGS)

    now = {"PLATESTREAM_API_PORT": "8001", "PLATESTREAM_LOG_LEVEL": "debug"}

    assert changed_settings(Layout(tmp_path), now) == (
        "PLATESTREAM_API_PORT",
        "PLATESTREAM_LOG_LEVEL",
        "PLATESTREAM_SECRET_KEY",
    )


def test_no_secret_is_written_down(tmp_path: Path) -> None:
    record_start(Layout(tmp_path), _SETTINGS)

    assert "secret" not in Layout(tmp_path).started_with.read_text().replace("SECRET", "")
