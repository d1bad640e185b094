"""What a release says of itself, and that everything in it says the same."""

import io
import json
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from deploy.local.servers.base import CLONE
from tools.release.versions import ReleaseError, is_of_a_tag, notes, said_versions, semantic

CHANGELOG = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 (2026-12-01)\n\n- old\n"


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("0.2.0", "0.2.0"),
        ("0.2.0rc1", "0.2.0-rc.1"),
        ("0.2.0.post1.dev3+g5c960f0c0", "0.2.1-dev.3"),
        ("0.2.0rc1.post1.dev3+g5c960f0c0", "0.2.0-rc.1.dev.3"),
        ("0.post1.dev795+g5c960f0c0", "0.0.1-dev.795"),
    ],
)
def test_charts_and_npm_write_versions_otherwise(version: str, written: str) -> None:
    assert semantic(version) == written


@pytest.mark.parametrize("version", ["1.2.3.4", "latest", "1.2.3+local", "0.2.0.post1.dev3"])
def test_what_no_tag_gives_is_refused(version: str) -> None:
    with pytest.raises(ReleaseError, match=re.escape(version)):
        semantic(version)


def test_a_release_has_its_part_of_the_changelog() -> None:
    assert notes(CHANGELOG, "0.2.0") == "# Platestream 0.2.0\n\n- old\n"
    assert "- new" in notes(CHANGELOG, "0.2.0.post1.dev3+g5c960f0c0")
    with pytest.raises(ReleaseError, match=re.escape('no "## 0.3.0"')):
        notes(CHANGELOG, "0.3.0")


def test_each_part_is_asked_for_its_version(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "platestream-0.2.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("platestream-0.2.0.dist-info/METADATA", "Name: x\nVersion: 0.2.0\n")
    _pack(tmp_path / "platestream-0.2.0.tar.gz", "platestream-0.2.0/PKG-INFO", "Version: 0.2.0\n")
    _pack(
        tmp_path / "platestream-chart-0.2.0.tgz",
        "platestream/Chart.yaml",
        "appVersion: 0.1.0\nversion: 0.2.0\n",
    )
    npm = json.dumps({"version": "0.2.0"})
    _pack(tmp_path / "platestream-client-0.2.0.tgz", "package/package.json", npm)

    said = dict(said_versions(tmp_path))

    assert said.pop("platestream-chart-0.2.0.tgz") == "0.1.0 and 0.2.0"
    assert set(said.values()) == {"0.2.0"}
    assert len(said) == 3


def test_a_clone_says_its_version_with_and_without_tags(tmp_path: Path) -> None:
    scripts = tmp_path / "tools" / "scripts"
    scripts.mkdir(parents=True)
    script = scripts / "version.sh"
    shutil.copy(CLONE / "tools" / "scripts" / "version.sh", script)
    assert _said(script) == "0"

    _git(tmp_path, "init", "--quiet")
    _commit(tmp_path)
    assert re.fullmatch(r"0\.post1\.dev1\+g[0-9a-f]{9}", _said(script))
    _git(tmp_path, "tag", "v0.2.0")
    assert is_of_a_tag(_said(script))
    assert _said(script) == "0.2.0"
    _commit(tmp_path)
    # A tag of another kind is no release.
    _git(tmp_path, "tag", "models-3")
    assert re.fullmatch(r"0\.2\.0\.post1\.dev1\+g[0-9a-f]{9}", _said(script))


def test_both_packages_take_their_version_by_one_rule() -> None:
    rules = [
        tomllib.loads((CLONE / folder / "pyproject.toml").read_text())["tool"]["setuptools_scm"]
        for folder in (".", "clients/python")
    ]

    assert rules[1].pop("root") == "../.."
    assert rules[0] == rules[1]


def _pack(file: Path, name: str, text: str) -> None:
    with tarfile.open(file, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))


def _said(script: Path) -> str:
    # The folder above may be a clone of its own.
    environment = {"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(script.parents[3])}
    done = subprocess.run((script,), env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _commit(folder: Path) -> None:
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    _git(folder, *author, "commit", "--quiet", "--allow-empty", "--message", "a change")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=folder, check=True)
