"""The command ``platestream`` against a real database."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from api.accounts import keys
from api.cli import app
from api.scopes import Scope
from contracts.settings import DatabaseSettings

pytestmark = pytest.mark.integration

OWNER = ("--email", "Owner@Platestream.example")


@pytest.fixture(autouse=True)
def database_in_environment(
    api_database: DatabaseSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATESTREAM_DATABASE_URL", api_database.database_url.get_secret_value())


def _run(*arguments: str, given: str = "") -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"], input=given)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _create_owner(*more: str) -> Any:
    return _run("owner", "create", *OWNER, "--password-stdin", *more, given="long enough\n")


def test_an_owner_with_credits_and_time_zone() -> None:
    created = _create_owner("--credits", "25", "--timezone", "America/Sao_Paulo")

    assert set(created) == {"id", "email", "credits", "timezone", "createdAt"}
    assert created["email"] == "owner@platestream.example"
    assert (created["credits"], created["timezone"]) == (25, "America/Sao_Paulo")
    assert _run("owner", "list") == {"owners": [created]}


def test_the_same_owner_twice_is_an_error() -> None:
    _create_owner()
    again = CliRunner().invoke(app, ["owner", "create", *OWNER, "--password", "long enough"])

    assert again.exit_code == 1
    assert "exists already" in again.stderr
    assert len(_run("owner", "list")["owners"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--password", "short"), "8 to 1024 characters"),
        (("--password", "long enough", "--timezone", "Mars/Olympus"), "unknown time zone"),
    ],
    ids=["password", "timezone"],
)
def test_what_no_owner_can_have(arguments: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(app, ["owner", "create", *OWNER, *arguments])

    assert result.exit_code == 1
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_credits_are_granted_and_never_below_zero() -> None:
    _create_owner("--credits", "5")
    assert _run("owner", "credits", *OWNER, "--grant", "7", "--reason", "gift")["credits"] == 12
    taken = ["owner", "credits", *OWNER, "--grant", "-13", "--reason", "too much"]
    result = CliRunner().invoke(app, taken)

    assert (result.exit_code, "below zero" in result.stderr) == (1, True)
    assert _run("owner", "list")["owners"][0]["credits"] == 12


def test_a_key_is_shown_once() -> None:
    _create_owner()
    made = _run("key", "create", *OWNER, "--name", "ci", "--scopes", "credits:read, cameras:read")

    assert keys.is_well_formed(made["plainKey"])
    assert made["plainKey"].startswith(made["prefix"])
    assert made["scopes"] == ["cameras:read", "credits:read"]
    assert (made["name"], made["enabled"], made["expiresAt"]) == ("ci", True, None)
    everything = _run("key", "create", *OWNER, "--name", "all", "--scopes", "all")
    assert everything["scopes"] == sorted(Scope)


@pytest.mark.parametrize("scopes", ["cameras:rule", "", "all,cameras:read"])
def test_an_unknown_scope_is_an_error(scopes: str) -> None:
    _create_owner()
    result = CliRunner().invoke(app, ["key", "create", *OWNER, "--name", "x", "--scopes", scopes])

    assert result.exit_code == 1
    assert "unknown scope" in result.stderr


def test_a_key_for_nobody_is_an_error() -> None:
    result = CliRunner().invoke(app, ["key", "create", *OWNER, "--name", "x", "--scopes", "all"])

    assert (result.exit_code, "no owner" in result.stderr) == (1, True)


def test_no_cameras_yet() -> None:
    assert _run("camera", "list") == {"cameras": []}
