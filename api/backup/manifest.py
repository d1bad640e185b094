"""What a backup is of: the file ``backup.json``, written last, without which a folder is none."""

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

import msgspec

from common.errors import PlatestreamError

NAME: Final = "backup.json"
_FORMAT: Final = 1

Steps = Callable[[Sequence[Any], str], Iterable[Any]]
"""Goes through items; whoever looks on sees by the label how far it is."""


class BackupError(PlatestreamError):
    """A backup cannot be made or restored; the sentence says why."""


class BackupFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of a backup. ``columns`` are those of the rows in it, in their order."""

    path: str
    size: int
    sha256: str
    table: str = ""
    columns: tuple[str, ...] = ()


class AppliedSchema(msgspec.Struct, frozen=True, rename="camel"):
    """A migration of ClickHouse that the rows were written under."""

    version: int
    name: str
    checksum: str


class Manifest(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A whole backup.

    ``key_check`` was encrypted with the installation's secret key. ``sequences`` are PostgreSQL's,
    with the last number that each has given.
    """

    format: int = _FORMAT
    version: str
    made_at: datetime
    key_check: str
    revision: str
    sequences: dict[str, int]
    postgres: tuple[BackupFile, ...]
    schema: tuple[AppliedSchema, ...]
    clickhouse: tuple[BackupFile, ...]
    images: tuple[BackupFile, ...]
    has_images: bool
    """Whether the images themselves are there, or only the list of their keys."""

    @property
    def files(self) -> tuple[BackupFile, ...]:
        """All files."""
        return (*self.postgres, *self.clickhouse, *self.images)


def described(folder: Path, path: Path, table: str = "", columns: Sequence[str] = ()) -> BackupFile:
    """Return a file that was written whole, with its size and sum; it is on the disk then."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        total = file_digest(file, "sha256").hexdigest()
        size = file.tell()
    return BackupFile(str(path.relative_to(folder)), size, total, table, tuple(columns))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``backup.json`` whole or not at all."""
    fresh = folder / f"{NAME}.new"
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    fresh.replace(folder / NAME)


def read_manifest(folder: Path) -> Manifest:
    """Return what a folder is a backup of.

    Raises:
        BackupError: it is none, or of a later format.
    """
    try:
        manifest = msgspec.json.decode((folder / NAME).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise BackupError(f"{folder} is no backup, or one that was not finished") from None
    except msgspec.DecodeError as error:
        raise BackupError(f"{folder / NAME} cannot be read: {error}") from error
    if manifest.format != _FORMAT:
        raise BackupError(f"{folder} was made by Platestream {manifest.version}, a later one")
    return manifest


def check_files(folder: Path, files: Sequence[BackupFile], steps: Steps) -> None:
    """Return where every file is as it was written.

    Raises:
        BackupError: one is missing or was changed.
    """
    for file in steps(files, "checking"):
        path = folder / file.path
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            raise BackupError(f"{path} is missing")
        with path.open("rb") as content:
            if file_digest(content, "sha256").hexdigest() != file.sha256:
                raise BackupError(f"{path} is not as it was written")
