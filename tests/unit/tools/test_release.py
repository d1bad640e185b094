"""The notes of a release, and the version numbers in all packages."""

import json
import re

import pytest

from deploy.local.servers.base import CLONE
from tools.release.parts import ReleaseError, notes, project_version

CHANGELOG = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 (2026-12-01)\n\n- old\n"


def test_a_release_has_its_part_of_the_changelog() -> None:
    assert notes(CHANGELOG, "0.2.0") == "# Platestream 0.2.0\n\n- old\n"
    with pytest.raises(ReleaseError, match=re.escape('no "## 0.3.0"')):
        notes(CHANGELOG, "0.3.0")


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
