"""What a release says of itself, and that everything in it says the same."""

import io
import json
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from deploy.local.servers.base import CLONE
from tools.release.versions import ReleaseError, notes, project_version, said_versions

CHANGELOG = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 (2026-12-01)\n\n- old\n"


def test_a_release_has_its_part_of_the_changelog() -> None:
    assert notes(CHANGELOG, "0.2.0") == "# Platestream 0.2.0\n\n- old\n"
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


def test_image_chart_and_clients_have_the_version_of_pyproject() -> None:
    version = project_version(CLONE)
    chart = (CLONE / "deploy/helm/platestream/Chart.yaml").read_text()
    npm = CLONE / "clients/typescript"
    lock = json.loads((npm / "package-lock.json").read_text())
    compose = CLONE / "deploy/compose"

    assert project_version(CLONE / "clients/python") == version
    assert re.findall(r"^(?:version|appVersion): (.+)$", chart, re.MULTILINE) == [version] * 2
    assert json.loads((npm / "package.json").read_text())["version"] == version
    assert (lock["version"], lock["packages"][""]["version"]) == (version, version)
    assert f"${{IMAGE:-platestream:{version}}}" in (compose / "compose.yaml").read_text()
    assert f"\nIMAGE=platestream:{version}\n" in (compose / ".env.example").read_text()
    assert notes((CLONE / "CHANGELOG.md").read_text(), version)


def _pack(file: Path, name: str, text: str) -> None:
    with tarfile.open(file, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
