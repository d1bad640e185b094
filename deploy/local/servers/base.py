"""The common parts of the embedded servers."""

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals

from common.child_environment import bare_environment, child_environment, settings_within
from common.settings import Fragment

CLONE = Path(__file__).resolve().parents[3]


class NotReadyError(Exception):
    """The server does not answer as it should yet; the message says what it answered."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """One long-running process: what starts it, what it is given, how it is asked to stop."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[type[Fragment], ...] = ()
    """The classes of the settings that it loads: it is given these, no others."""
    is_own: bool = False
    """One of the service's own processes, which get what is no setting too: their libraries read
    proxies, certificates and more from there.
    """
    variables: tuple[str, ...] = ()
    """Other variables that it needs, with ``*`` for any ending."""
    directory: Path = CLONE
    stop_signal: Signals = Signals.SIGTERM
    stop_seconds: int = 20

    def environment_within(self, whole: Mapping[str, str]) -> dict[str, str]:
        """Return the part of the stack's environment that the process is given."""
        if self.is_own:
            return child_environment(whole, *self.settings)
        bare = bare_environment(whole, *self.variables)
        return {**bare, **settings_within(whole, *self.settings)}


@dataclass(frozen=True)
class PortUse:
    """A port on 127.0.0.1 that a process is going to listen on, and the setting that moves it."""

    port: int
    setting: str


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of the local stack. Nothing else uses the files in its directory."""

    directory: Path
    port: int
    name: str
    """Short name, also of its log file."""

    def ports(self) -> tuple[PortUse, ...]:
        """Return every port that it listens on."""
        return (PortUse(self.port, f"PLATESTREAM_{self.name.upper()}_PORT"),)

    def prepare(self) -> None:
        """Create what it needs before its first start. Safe to repeat after an interruption."""
        self.directory.mkdir(parents=True, exist_ok=True)

    def program(self) -> Program:
        """Return its process."""
        raise NotImplementedError

    def check(self) -> None:
        """Ask it something that only a working server answers.

        Raises:
            NotReadyError: it does not answer as it should.
        """
        raise NotImplementedError

    def initialise(self) -> None:
        """Create inside the running server what is missing: a database, a bucket."""


def tied(*command: str, last_signal: Signals = Signals.SIGTERM) -> tuple[str, ...]:
    """Return the command so that the process gets ``last_signal`` when its starter ends.

    A killed supervisor then leaves nothing behind that holds ports and data.

    **Source:** prctl(2), PR_SET_PDEATHSIG, by util-linux' setpriv, which every Debian has.
    """
    return ("setpriv", "--pdeathsig", last_signal.name.removeprefix("SIG"), *command)


def python_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with this interpreter."""
    return tied(sys.executable, "-u", "-m", module, *arguments)


JAVA_VARIABLES = ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


def java(class_path: Path, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a Java main class with all jars of a folder."""
    archive = class_archive(class_path)
    options = (f"-XX:SharedArchiveFile={archive}",) if archive.exists() else ()
    # In the plain C locale a JVM cannot open a path that is not ASCII.
    jvm = ("env", "LC_ALL=C.UTF-8", "java", "-XX:+UseSerialGC")
    return tied(*jvm, *options, "-cp", f"{class_path}/*", *arguments)


def class_archive(class_path: Path) -> Path:
    """Return where the archive of a server's loaded classes is, beside its jars; it may be missing
    (see :mod:`deploy.local.class_archives`). A JVM that cannot use it starts without.
    """
    return class_path.with_suffix(".jsa")


def check_port(port: int) -> None:
    """Connect to a port on this machine.

    Raises:
        NotReadyError: nobody listens.
    """
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError as error:
        raise NotReadyError(f"port {port}: {os.strerror(error.errno or 0)}") from error
