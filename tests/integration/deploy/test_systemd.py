"""The unit files of deploy/systemd, checked with systemd and with our settings."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from dotenv import dotenv_values
from pydantic import SecretStr

from deploy.local.plan import APPLICATION, MQTT
from deploy.local.servers.base import Program
from tools.scripts.settings_docs import settings_classes

UNITS = Path(__file__).resolve().parents[3] / "deploy" / "systemd"
PROGRAMS = {program.name: program for program in (*APPLICATION, MQTT)}
# Exposure according to systemd-analyze: 9.6 for a unit without restrictions, 1.4 for ours.
MOST_EXPOSURE = 1.5

pytestmark = pytest.mark.integration
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here"
)


def _lines(name: str, key: str) -> list[str]:
    text = (UNITS / f"platestream@{name}.service.d" / "process.conf").read_text()
    return re.findall(rf"^{key}=(.*)$", text, re.M)


def _secrets() -> set[str]:
    return {
        variable
        for settings in settings_classes()
        for variable, field in settings.environment_names().items()
        if SecretStr.__name__ in str(settings.model_fields[field].annotation)
        and "_SERVER_" not in variable
    }


def _used(program: Program) -> set[str]:
    return {name for settings in program.settings for name in settings.environment_names()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_unit_runs_the_module_without_the_secrets_of_others(name: str) -> None:
    program = PROGRAMS[name]
    environment = dict(pair.split("=", 1) for pair in _lines(name, "Environment")[0].split())

    assert environment.pop("MODULE") == program.command[-1]
    assert environment.keys() <= _used(program)
    assert set(_lines(name, "UnsetEnvironment")[0].split()) == _secrets() - _used(program)


def test_there_is_no_other_unit() -> None:
    folders = {path.name for path in UNITS.glob("*.service.d")}

    assert folders == {f"platestream@{name}.service.d" for name in (*PROGRAMS, "migrate")}


def test_the_target_starts_all_that_every_installation_has() -> None:
    target = (UNITS / "platestream.target").read_text()

    wanted = set(re.findall(r"platestream@([a-z]+)\.service", target))
    assert wanted == PROGRAMS.keys() - {"mqtt"}


def test_what_migrates_exists() -> None:
    modules = [line.split(" -m ")[1].split()[0] for line in _lines("migrate", "ExecStart") if line]

    assert modules == ["common.kafka", "api.db", "analytics_sql"]
    assert all(find_spec(module) for module in modules)


def test_the_example_names_settings_that_exist() -> None:
    known = {name for settings in settings_classes() for name in settings.environment_names()}

    assert dotenv_values(UNITS / "platestream.env").keys() <= known


def _installed(folder: Path) -> Path:
    """Return the units with this Python interpreter and existing folders."""
    shutil.copytree(UNITS, folder / "units")
    for path in (folder / "units").rglob("*.*"):
        if path.is_file():
            text = path.read_text().replace("/opt/platestream/.venv/bin/python", sys.executable)
            path.write_text(text)
    return folder / "units"


@needs_systemd
@pytest.mark.parametrize("name", [*PROGRAMS, "migrate"])
def test_systemd_has_nothing_to_say_about_a_unit(name: str, tmp_path: Path) -> None:
    units = _installed(tmp_path)
    unit = units / f"platestream@{name}.service"
    unit.write_text((units / "platestream@.service").read_text())

    command = (
        "systemd-analyze",
        "--man=no",
        "verify",
        str(unit),
        str(units / "platestream.target"),
    )
    verdict = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    ours = [line for line in verdict.stderr.splitlines() if "platestream" in line]
    assert (verdict.returncode, ours) == (0, [])


@needs_systemd
def test_a_process_is_exposed_little(tmp_path: Path) -> None:
    units = _installed(tmp_path)
    unit = units / "platestream@api.service"
    unit.write_text((units / "platestream@.service").read_text())

    threshold = f"--threshold={round(MOST_EXPOSURE * 10)}"
    command = ("systemd-analyze", "security", "--offline=yes", "--no-pager", threshold, str(unit))
    verdict = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert verdict.returncode == 0, verdict.stdout[-600:] + verdict.stderr
