"""A release's version: as charts and npm write it, what the changelog has of it, what files say."""

import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

_OURS: Final = re.compile(
    r"(?P<base>\d+(?:\.\d+){0,2})(?:(?P<stage>a|b|rc)(?P<stage_number>\d+))?"
    r"(?:\.post1\.dev(?P<commits>\d+)\+(?P<node>g[0-9a-f]+))?"
)
_STAGES: Final = {"a": "alpha", "b": "beta", "rc": "rc"}


class ReleaseError(Exception):
    """A release cannot be made; the message says why."""


def is_of_a_tag(version: str) -> bool:
    """Return whether a version is a tag's own, not that of a commit after it."""
    return "+" not in version


def semantic(version: str) -> str:
    """Return a version of ours as charts, npm and images write theirs.

    A commit after a tag is on its way to the next one: 0.2.0.post1.dev3+g… is 0.2.1-dev.3.

    **Source:** PEP 440; Semantic Versioning 2.0.0, 9 and 11.

    Raises:
        ReleaseError: it is none of ours.
    """
    found = _OURS.fullmatch(version)
    if found is None:
        raise ReleaseError(f"{version} is no version of a release: tags are v1.2.3 or v1.2.3rc1")
    major, minor, patch = ([int(part) for part in found["base"].split(".")] + [0, 0])[:3]
    if found["stage"]:
        stage = f"-{_STAGES[found['stage']]}.{found['stage_number']}"
        after = f".dev.{found['commits']}" if found["commits"] else ""
        return f"{major}.{minor}.{patch}{stage}{after}"
    if found["commits"]:
        return f"{major}.{minor}.{patch + 1}-dev.{found['commits']}"
    return f"{major}.{minor}.{patch}"


def notes(changelog: str, version: str) -> str:
    """Return what the changelog says of a version; of a commit after a tag, what is unreleased.

    Raises:
        ReleaseError: the changelog does not have it.
    """
    wanted = version if is_of_a_tag(version) else "Unreleased"
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        if heading.split()[:1] == [wanted]:
            return f"# Platestream {version}\n{text}"
    raise ReleaseError(f'CHANGELOG.md has no "## {wanted}"')


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
