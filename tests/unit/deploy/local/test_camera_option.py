"""A camera's URL, which can contain a password, is passed in the environment."""

import os
import subprocess
from collections.abc import Mapping
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

from deploy.local import __main__ as local
from deploy.local.servers.base import CLONE
from deploy.local.waiting import StartError

_ADDRESS = "rtsp://viewer:pa$$word@10.0.0.7/stream"


@pytest.mark.parametrize("target", ["run", "up"])
def test_make_puts_it_on_no_command_line(target: str) -> None:
    done = subprocess.run(
        ["make", "-n", target, f"CAMERA={_ADDRESS}"],
        cwd=CLONE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"-m deploy.local {target}" in done.stdout
    assert "viewer" not in done.stdout


@pytest.mark.parametrize(
    ("environment", "arguments"),
    [
        ({"CAMERA": _ADDRESS}, []),
        ({}, ["--camera", _ADDRESS]),
        ({"CAMERA": "x"}, ["--camera", _ADDRESS]),
    ],
    ids=["environment", "argument", "both"],
)
def test_it_is_taken(
    environment: dict[str, str], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def start(_: object, camera: str, **__: Any) -> None:
        taken.append(camera)

    monkeypatch.setattr(local, "_stack", lambda: None)
    monkeypatch.setattr(local, "_start", start)
    monkeypatch.setattr(local, "_greeting", lambda *_: "")
    CliRunner().invoke(local.app, ["up", *arguments], env=environment, catch_exceptions=False)

    assert taken == [_ADDRESS]


def test_the_stacks_processes_do_not_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_plan(_: object, environment: Mapping[str, str]) -> NoReturn:
        assert not [value for value in environment.values() if "viewer" in value]
        raise StartError("seen")

    monkeypatch.setenv("CAMERA", _ADDRESS)
    monkeypatch.setenv("MAKEFLAGS", f" -- CAMERA={_ADDRESS}")
    monkeypatch.setattr(local, "make_plan", make_plan)
    monkeypatch.setattr(os, "umask", lambda _: 0)
    with pytest.raises(StartError, match="seen"):
        CliRunner().invoke(local.app, ["up"], catch_exceptions=False)
