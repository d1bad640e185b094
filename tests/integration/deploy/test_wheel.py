"""Tests the contents of the wheel, and its programs in an environment without the clone."""

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from deploy.local.servers.base import CLONE
from tools.benchmarks.demo_clip import CLEAR_PASS, demo_frame, demo_scene

pytestmark = [pytest.mark.integration, pytest.mark.long]

SERVED = {"common", "recognition", "analytics_sql", "ingest", "streams", "api", "deploy"}
BARE = {"PATH": "/usr/bin:/bin"}
"""An environment without any path in the clone."""

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the clone because building leaves files in the folder."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in (*SERVED, "tools", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(CLONE / folder, source / folder, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CLONE / name, source)
    build = (*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out))
    subprocess.run((*build, str(source)), check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that contains the wheel and the required libraries."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = str(folder / "bin" / "python")
    install = (*PIP, "--python", python, "install", "--no-deps", "--no-index", str(wheel))
    subprocess.run(install, check=True)
    # Python searches a path in a .pth file, but ignores .pth files there (one leads to the clone).
    libraries = next(folder.glob("lib/python*/site-packages")) / "libraries.pth"
    libraries.write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def test_it_has_what_is_served_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.split("/")[0] for name in archive.namelist()}
    assert {name for name in folders if not name.endswith(".dist-info")} == SERVED


def test_photos_are_evaluated_without_the_clone(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "road.jpg").write_bytes(demo_frame())
    # The text of a single plate counts wherever it is found in the photo.
    plate = {"text": demo_scene().passes[CLEAR_PASS].plate, "box": [0, 0, 1920, 1080]}
    (tmp_path / "photos.jsonl").write_text(json.dumps({"image": "road.jpg", "plates": [plate]}))
    command = (str(installed / "platestream"), "evaluate", "photos.jsonl", "--json")
    done = subprocess.run(command, cwd=tmp_path, env=BARE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["photos"], figures["exact"]["value"]) == (1, 1)


def test_what_developers_run_is_not_there(installed: Path, tmp_path: Path) -> None:
    for name in ("tools", "tests"):
        command = (str(installed / "python"), "-c", f"import {name}")
        done = subprocess.run(command, cwd=tmp_path, env=BARE, capture_output=True, text=True)
        assert f"No module named '{name}'" in done.stderr
