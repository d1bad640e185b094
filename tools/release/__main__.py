"""Builds the artefacts of a release: ``make release``.

Builds wheels, clients, chart, compose bundle, image, bill of materials and checksums from a clone
of the commit, and writes them to .local/release. An artefact whose tool is missing is skipped.
"""

import argparse
import shutil
import subprocess
import sys
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.release import parts
from tools.release.parts import ReleaseError, notes, project_version

CLONE: Final = Path(__file__).resolve().parents[2]
TARGET: Final = CLONE / ".local" / "release"
_BUILDERS: Final = {
    "docker": "docker build",
    "podman": "podman build",
    "buildah": "buildah build --format docker",
}


def main() -> None:
    """Build all artefacts."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("--helm", type=Path, help="path of helm; default: build no chart")
    parser.add_argument("--builder", default="", help="image build command; `none` builds no image")
    parser.add_argument("--base", default="", help="base image")
    given = parser.parse_args()
    if _git("status", "--porcelain"):
        raise ReleaseError("the clone has uncommitted changes; commit or stash them")
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    with TemporaryDirectory(dir=TARGET.parent) as folder:
        _make(_cloned(Path(folder) / "source"), given.helm, given.builder, given.base)


def _cloned(folder: Path) -> parts.Source:
    _git("clone", "--quiet", "--shared", str(CLONE), str(folder))
    made_at = int(_git("log", "-1", "--format=%ct"))
    return parts.Source(
        folder=folder, version=project_version(folder), made_at=made_at, target=TARGET
    )


def _make(source: parts.Source, helm: Path | None, builder: str, base: str) -> None:
    changelog = (source.folder / "CHANGELOG.md").read_text(encoding="utf-8")
    (TARGET / "NOTES.md").write_text(notes(changelog, source.version), encoding="utf-8")
    _say("Python packages")
    parts.python_packages(source)
    _say("bill of materials")
    installed = parts.bill_of_materials(source, sys.executable)
    _say("compose bundle")
    parts.compose_bundle(source)
    left_out = []
    if shutil.which("npm"):
        _say("npm package")
        parts.npm_package(source)
    else:
        left_out.append("the TypeScript client: npm not found")
    if helm:
        _say("chart")
        parts.chart(source, helm)
    else:
        left_out.append("the chart: Helm not found")
    builder = builder or next((_BUILDERS[name] for name in _BUILDERS if shutil.which(name)), "")
    if builder not in ("", "none"):
        _say(f"image, with {builder.split()[0]}")
        parts.image(source, builder, base)
    else:
        left_out.append("the image: no builder given or found")
    _check(source, installed)
    _write_sums()
    for line in left_out:
        _say(f"skipped {line}")
    _say(f"{source.version} is in {TARGET}")


def _check(source: parts.Source, installed: str) -> None:
    """Check the version in the name of each artefact, and the version that the service reports.

    Raises:
        ReleaseError: a version differs from the version in pyproject.toml.
    """
    names = (file.name for file in TARGET.iterdir() if file.name != "NOTES.md")
    wrong = [text for text in (*names, installed) if source.version not in text]
    if wrong:
        raise ReleaseError(f"the version is {source.version}, but found {', '.join(wrong)}")


def _write_sums() -> None:
    lines = []
    for file in sorted(TARGET.iterdir()):
        with file.open("rb") as content:
            lines.append(f"{file_digest(content, 'sha256').hexdigest()}  {file.name}\n")
    (TARGET / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _git(*arguments: str) -> str:
    return subprocess.check_output(("git", *arguments), cwd=CLONE, text=True).strip()


def _say(text: str) -> None:
    print(f"release: {text}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ReleaseError as fault:
        sys.exit(f"release: {fault}")
