"""Two releases side by side: the code of a former one, and which of them each process runs."""

import io
import os
import subprocess
import tarfile
from pathlib import Path

from deploy.local.servers.base import CLONE

_COMMAND_SECONDS = 120


class Releases:
    """Which code each process runs: a link of its own, which is changed while it is stopped."""

    def __init__(self, folder: Path, first: Path) -> None:
        """All processes begin with the code in ``first``."""
        self._folder = folder
        self._first = first

    def of(self, process: str) -> Path:
        """Return the folder from which a process runs, made with the first release."""
        link = self._folder / process
        if not link.is_symlink():
            self._folder.mkdir(parents=True, exist_ok=True)
            link.symlink_to(self._first)
        return link

    def change(self, process: str, code: Path) -> None:
        """Let a process run this code from its next start on."""
        fresh = self._folder / f"{process}.new"
        fresh.symlink_to(code)
        os.replace(fresh, self._folder / process)


def former_release(commit: str, folder: Path) -> Path:
    """Return a folder with the code of a commit, taken from this clone's history.

    Raises:
        AssertionError: the clone does not have it.
    """
    code = folder / commit
    if code.exists():
        return code
    taken = subprocess.run(
        ("git", "archive", "--format=tar", commit),
        cwd=CLONE,
        capture_output=True,
        check=False,
        timeout=_COMMAND_SECONDS,
    )
    assert taken.returncode == 0, f"the clone has no {commit}: git fetch --unshallow"
    fresh = folder / f"{commit}.new"
    with tarfile.open(fileobj=io.BytesIO(taken.stdout)) as archive:
        archive.extractall(fresh, filter="data")
    fresh.rename(code)
    return code
