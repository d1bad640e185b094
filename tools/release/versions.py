"""The version of a release: in pyproject.toml, in the changelog and in each package."""

import json
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path


class ReleaseError(Exception):
    """A release cannot be made; the message says why."""


def project_version(folder: Path) -> str:
    """Return the version in the ``pyproject.toml`` of a folder."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def notes(changelog: str, version: str) -> str:
    """Return the section of the changelog for a version.

    Raises:
        ReleaseError: the changelog does not have it.
    """
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        if heading.split()[:1] == [version]:
            return f"# Platestream {version}\n{text}"
    raise ReleaseError(f'CHANGELOG.md has no "## {version}"')


def said_versions(folder: Path) -> Mapping[str, str]:
    """Return the version that each package in a folder says that it has, by file name."""
    readers: Mapping[str, Callable[[Path], str]] = {
        "*.whl": _of_a_wheel,
        "platestream-[0-9]*.tar.gz": _of_a_source_distribution,
        "platestream_client-*.tar.gz": _of_a_source_distribution,
        "platestream-chart-*.tgz": _of_a_chart,
        "platestream-client-*.tgz": _of_an_npm_package,
    }
    return {
        file.name: reader(file)
        for pattern, reader in readers.items()
        for file in sorted(folder.glob(pattern))
    }


def _of_a_wheel(file: Path) -> str:
    with zipfile.ZipFile(file) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return _header(wheel.read(name).decode())


def _of_a_source_distribution(file: Path) -> str:
    return _header(_member(file, "*/PKG-INFO"))


def _of_a_chart(file: Path) -> str:
    text = _member(file, "platestream/Chart.yaml")
    said = set(re.findall(r"^(?:version|appVersion): [\"']?([^\"'\n]+)", text, re.MULTILINE))
    return " and ".join(sorted(said))


def _of_an_npm_package(file: Path) -> str:
    return str(json.loads(_member(file, "package/package.json"))["version"])


def _header(metadata: str) -> str:
    found = re.search(r"^Version: (.+)$", metadata, re.MULTILINE)
    return found[1] if found else ""


def _member(file: Path, pattern: str) -> str:
    with tarfile.open(file) as archive:
        for member in archive:
            if Path(member.name).match(pattern) and member.name.count("/") == 1:
                content = archive.extractfile(member)
                return content.read().decode() if content else ""
    return ""
