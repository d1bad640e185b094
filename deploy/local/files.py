"""Defines the folders of the local stack, and writes files atomically."""

import os
from dataclasses import dataclass
from pathlib import Path

from deploy.local.servers.base import CLONE

JARS = CLONE / ".local" / "jars"

_PRIVATE = ("logs", "streams", "kafka", "s3", "clickhouse")
"""Folders that only this user can open, unlike ``postgres``, which PostgreSQL's user must enter."""


@dataclass(frozen=True)
class Layout:
    """The paths in the local stack's folder, which contains all data and secrets.

    To reset the stack, stop it and delete the folder.
    """

    root: Path

    @property
    def logs(self) -> Path:
        """Folder of the log files, one per process."""
        return self.root / "logs"

    @property
    def secrets(self) -> Path:
        """File with the passwords and keys of this installation."""
        return self.root / "secrets.json"

    @property
    def access(self) -> Path:
        """File with the URL, API key and account, for the user's scripts."""
        return self.root / "access.json"

    @property
    def started_with(self) -> Path:
        """File with digests of the settings with which the stack was last started."""
        return self.root / "started-with.json"

    @property
    def camera_files(self) -> Path:
        """Folder of video files that cameras can play."""
        return self.root / "camera-files"

    def data(self, server: str) -> Path:
        """Return the data folder of a server."""
        return self.root / server

    def close_to_others(self) -> None:
        """Make frames, images, plates and logs accessible only to this user.

        The root folder itself is not restricted, because it may contain other files.
        """
        for name in _PRIVATE:
            folder = self.root / name
            if folder.is_dir() and folder.stat().st_uid == os.geteuid():
                folder.chmod(0o700)


def write_whole(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file atomically, so that it is never half-written, even after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def java_property(value: object) -> str:
    """Return a value escaped for a Java properties file.

    **Source:** java.util.Properties: ISO-8859-1, with UTF-16 escapes for other characters.
    """
    units = str(value).replace("\\", "\\\\").encode("utf-16-be")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
