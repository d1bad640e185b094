"""Files that are whole or not there, and folders of the local stack."""

import os
from dataclasses import dataclass
from pathlib import Path

from deploy.local.servers.base import CLONE

JARS = CLONE / ".local" / "jars"

_PRIVATE = ("logs", "streams", "kafka", "s3", "clickhouse")
"""PostgreSQL's own folder lies one deeper, and its user has to get there."""


@dataclass(frozen=True)
class Layout:
    """The folder of the local stack, with all its data and secrets.

    Deleting it while the stack is down starts over from nothing.
    """

    root: Path

    @property
    def logs(self) -> Path:
        """One file a process."""
        return self.root / "logs"

    @property
    def secrets(self) -> Path:
        """Passwords and keys of this installation."""
        return self.root / "secrets.json"

    @property
    def access(self) -> Path:
        """Address, key and account for a user's scripts."""
        return self.root / "access.json"

    @property
    def started_with(self) -> Path:
        """Settings of the latest start."""
        return self.root / "started-with.json"

    @property
    def camera_files(self) -> Path:
        """The video files that cameras may play."""
        return self.root / "camera-files"

    def data(self, server: str) -> Path:
        """Return the folder of one server."""
        return self.root / server

    def close_to_others(self) -> None:
        """Keep what is there to this user: frames, pictures, plates and logs.

        The folders in it, not it: who chose the folder may keep other things there.
        """
        for name in _PRIVATE:
            folder = self.root / name
            if folder.is_dir() and folder.stat().st_uid == os.geteuid():
                folder.chmod(0o700)


def write_whole(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file so that a reader, or a crash, never meets half of it."""
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
    """Return a value as it is written in a Java properties file.

    **Source:** java.util.Properties: ISO-8859-1, everything else as UTF-16 escapes.
    """
    units = str(value).replace("\\", "\\\\").encode("utf-16-be")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
