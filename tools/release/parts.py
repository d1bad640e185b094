"""Builds the artefacts of a release from a clone of the commit, and writes them to one folder."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BIN: Final = Path(sys.executable).parent
_PIECE: Final = 1 << 20


class ReleaseError(Exception):
    """The release cannot be built. The message contains the reason."""


def project_version(folder: Path) -> str:
    """Return the version in a folder's ``pyproject.toml``."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def notes(changelog: str, version: str) -> str:
    """Return the release notes: the section of the changelog for a version.

    Raises:
        ReleaseError: the changelog has no such section.
    """
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        if heading.split()[:1] == [version]:
            return f"# Platestream {version}\n{text}"
    raise ReleaseError(f'CHANGELOG.md has no "## {version}"')


@dataclass(frozen=True)
class Source:
    """A clean clone of the released commit."""

    folder: Path
    version: str
    made_at: int
    """Time of the commit (Unix s). All packed files get this modification time."""
    target: Path
    """Folder for the artefacts."""

    @property
    def image(self) -> str:
        """Name and tag of the image, as in the chart and in compose.yaml."""
        return f"platestream:{self.version}"

    def run(self, *command: str, within: str = ".") -> str:
        """Run a command and return the output.

        Raises:
            ReleaseError: the command failed.
        """
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self.made_at)}
        done = subprocess.run(
            command,
            cwd=self.folder / within,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ReleaseError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout


def python_packages(source: Source) -> None:
    """Build the wheels and source distributions of the service and of the Python client."""
    for folder in (".", "clients/python"):
        build = (str(_BIN / "uv"), "build", "--quiet", "--no-create-gitignore")
        source.run(*build, "--out-dir", str(source.target), within=folder)


def npm_package(source: Source) -> None:
    """Build the npm package of the TypeScript client."""
    within = "clients/typescript"
    source.run("npm", "ci", "--silent", "--no-audit", "--no-fund", within=within)
    source.run("npm", "pack", "--silent", "--pack-destination", str(source.target), within=within)


def chart(source: Source, helm: Path) -> None:
    """Package the Helm chart, which refers to this release's image."""
    folder = str(source.folder / "deploy" / "helm" / "platestream")
    source.run(str(helm), "package", folder, "--destination", str(source.target))
    packed = source.target / f"platestream-{source.version}.tgz"
    packed.rename(source.target / f"platestream-chart-{source.version}.tgz")


def compose_bundle(source: Source) -> None:
    """Pack compose.yaml and the files that it mounts."""
    deploy = source.folder / "deploy"
    name = f"platestream-compose-{source.version}"

    def ours(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = source.made_at
        return member

    with (
        (source.target / f"{name}.tar.gz").open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=source.made_at) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for part in ("compose", "monitoring"):
            archive.add(deploy / part, f"{name}/{part}", filter=ours)
        archive.add(source.folder / "LICENSE", f"{name}/LICENSE", filter=ours)


def bill_of_materials(source: Source, python: str) -> str:
    """Write a bill of materials of the service's locked packages and models. Return the output of
    ``platestream --version`` in the installation that is described.
    """
    environment = source.folder / ".installed"
    uv = str(_BIN / "uv")
    source.run(uv, "venv", "--quiet", "--python", python, str(environment))
    installed = environment / "bin" / "python"
    install = (uv, "pip", "install", "--quiet", "--python", str(installed))
    locked = str(source.folder / "requirements" / "service.txt")
    source.run(*install, "--require-hashes", "-r", locked)
    (wheel,) = source.target.glob(f"platestream-{source.version}-*.whl")
    source.run(*install, "--no-deps", str(wheel))
    script = str(source.folder / "deploy" / "image" / "sbom.py")
    bill = source.run(str(installed), script, "python")
    (source.target / f"platestream-{source.version}.cdx.json").write_text(bill, encoding="utf-8")
    return source.run(str(environment / "bin" / "platestream"), "--version").strip()


def image(source: Source, builder: str, base: str) -> None:
    """Build the image and save it for ``docker load`` and ``podman load``."""
    program = builder.split()[0]
    options = (f"BUILDER={builder}", f"IMAGE={source.image}", *((f"BASE={base}",) if base else ()))
    source.run("make", "image", *options, f"BUILD={os.environ.get('BUILD', '')}")
    saved = source.target / f"platestream-image-{source.version}.tar"
    if program == "buildah":
        source.run("buildah", "push", source.image, f"docker-archive:{saved}:{source.image}")
    else:
        source.run(program, "save", "--output", str(saved), source.image)
    with saved.open("rb") as plain, gzip.open(f"{saved}.gz", "wb", compresslevel=3) as packed:
        shutil.copyfileobj(plain, packed, _PIECE)
    saved.unlink()
