"""The analyst of a local stack: the password and its file."""

import json
from pathlib import Path

import pytest

from deploy.local.access import Access, ensure_access, read_access, write_access
from deploy.local.plan import StackPlan, make_plan
from deploy.local.settings import LocalStackSettings

_OF_THE_ANALYST = {"clickhouseUrl", "analystUser", "analystPassword"}
_PASSWORD = "PLATESTREAM_CLICKHOUSE_SERVER_READER_PASSWORD"


def _plan(root: Path, environment: dict[str, str] | None = None, **settings: object) -> StackPlan:
    validated = LocalStackSettings.model_validate({"local_dir": root, **settings})
    return make_plan(validated, environment or {})


def _written(plan: StackPlan, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the content of an older release's file after ``ensure_access``."""
    monkeypatch.setattr("deploy.local.access._is_valid", lambda _: True)
    if read_access(plan.layout) is None:
        write_access(plan.layout, Access(plan.base_url, "pk_test", "a@b.example", "secret", "c"))
    ensure_access(plan)
    written: dict[str, str] = json.loads(plan.layout.access.read_text())
    return written


def test_the_server_and_scripts_get_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan(tmp_path, clickhouse_port=3)
    password = plan.secrets.analyst_password

    environment = plan.process_environment()
    written = _written(plan, monkeypatch)

    assert len(password) >= 32
    assert environment[_PASSWORD] == password
    assert written["clickhouseUrl"] == "http://127.0.0.1:3"
    assert (written["analystUser"], written["analystPassword"]) == ("analyst", password)
    assert (written["apiKey"], written["demoCameraId"]) == ("pk_test", "c")
    assert plan.layout.access.stat().st_mode & 0o777 == 0o600


def test_a_setting_gives_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(tmp_path, {_PASSWORD: "chosen"})

    written = _written(plan, monkeypatch)

    assert plan.process_environment()[_PASSWORD] == "chosen"
    assert (written["analystUser"], written["analystPassword"]) == ("analyst", "chosen")


def test_nothing_is_written_for_a_server_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _written(_plan(tmp_path), monkeypatch).keys() >= _OF_THE_ANALYST

    plan = _plan(tmp_path, clickhouse_url="https://search.example:8443")

    assert not _written(plan, monkeypatch).keys() & _OF_THE_ANALYST


def test_an_empty_password_is_no_analyst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(tmp_path, {_PASSWORD: ""})

    assert not _written(plan, monkeypatch).keys() & _OF_THE_ANALYST


def test_the_password_is_not_shown(tmp_path: Path) -> None:
    plan = _plan(tmp_path)

    assert plan.secrets.analyst_password not in repr(plan.servers) + repr(plan.analyst)
    assert plan.secrets.analyst_password not in repr(plan.secrets)
