"""The installed ``platestream`` command, and messages of its commands without settings."""

import pytest
from typer.testing import CliRunner

from api.cli.app import app
from common.errors import EXIT_MISCONFIGURED


def test_without_settings_the_sentence_says_how_to_run_it_and_no_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PLATESTREAM_DATABASE_URL", raising=False)
    for password in (["--password", "hunter22"], ["--password=hunter22"]):
        arguments = ["owner", "create", "--email", "a@b.example", *password]
        monkeypatch.setattr("sys.argv", ["platestream", *arguments])
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == EXIT_MISCONFIGURED
        assert done.stdout == ""
        assert "PLATESTREAM_DATABASE_URL" in done.stderr
        assert "make exec COMMAND='platestream owner create --email a@b.example" in done.stderr
        assert "hunter22" not in done.stderr


def test_settings_in_lower_case_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLATESTREAM_DATABASE_URL", raising=False)
    monkeypatch.setenv("platestream_database_url", "nowhere")
    done = CliRunner().invoke(app, ["owner", "list"])
    assert done.stderr == "error: PLATESTREAM_DATABASE_URL is not a valid URL\n"
