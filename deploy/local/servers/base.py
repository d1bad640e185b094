"""Defines what the embedded servers have in common."""

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
    """The server is not ready yet. The message contains the server's response, or the error."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A long-running process: the command to start it, its environment, and how to stop it."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[type[Fragment], ...] = ()
    """The settings classes that the process loads. The process gets no other settings."""
    is_own: bool = False
    """Whether this is one of the service's own processes, which also get all variables that are not
    settings, because libraries read proxies, certificates and more from these.
    """
    variables: tuple[str, ...] = ()
    """Other variables that the process needs. ``*`` matches any suffix."""
    directory: Path = CLONE
    stop_signal: Signals = Signals.SIGTERM
    stop_seconds: int = 20

    def environment_within(self, whole: Mapping[str, str]) -> dict[str, str]:
        """Return the part of the stack's environment that the process gets."""
        if self.is_own:
            return child_environment(whole, *self.settings)
        bare = bare_environment(whole, *self.variables)
        return {**bare, **settings_within(whole, *self.settings)}


@dataclass(frozen=True)
class PortUse:
    """A port on 127.0.0.1 on which a process listens, and the setting that changes the port."""

    port: int
    setting: str


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of the local stack. No other process uses the files in ``directory``."""

    directory: Path
    port: int
    name: str
    """Short name, also used for its log file."""

    def ports(self) -> tuple[PortUse, ...]:
        """Return all ports on which the server listens."""
        return (PortUse(self.port, f"PLATESTREAM_{self.name.upper()}_PORT"),)

    def prepare(self) -> None:
        """Create the files that the first start needs. Safe to repeat after an interruption."""
        self.directory.mkdir(parents=True, exist_ok=True)

    def program(self) -> Program:
        """Return the command, environment and settings of the server's process."""
        raise NotImplementedError

    def check(self) -> None:
        """Send a request that only a working server can answer.

        Raises:
            NotReadyError: the response is wrong or absent.
        """
        raise NotImplementedError

    def initialise(self) -> None:
        """Create objects that are missing in the running server, such as a database or a bucket."""


def tied(*command: str, last_signal: Signals = Signals.SIGTERM) -> tuple[str, ...]:
    """Return a command whose process gets ``last_signal`` when the parent process exits.

    This ensures that no process that holds ports and data outlives a killed supervisor.

    **Source:** prctl(2), PR_SET_PDEATHSIG, with setpriv of util-linux, which is part of Debian.
    """
    return ("setpriv", "--pdeathsig", last_signal.name.removeprefix("SIG"), *command)


def python_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a Python module with this interpreter."""
    return tied(sys.executable, "-u", "-m", module, *arguments)


JAVA_VARIABLES = ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


def java(class_path: Path, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a Java main class with all jars in a folder."""
    archive = class_archive(class_path)
    options = (f"-XX:SharedArchiveFile={archive}",) if archive.exists() else ()
    # In the C locale, paths must be ASCII. The counters of jstat wake a JVM 20 times per second.
    jvm = ("env", "LC_ALL=C.UTF-8", "java", "-XX:+UseSerialGC", "-XX:-UsePerfData")
    return tied(*jvm, *options, "-cp", f"{class_path}/*", *arguments)


def class_archive(class_path: Path) -> Path:
    """Return the path of a server's class data archive, next to its jars
    (:mod:`deploy.local.class_archives`). A JVM ignores an archive that is missing or unusable.
    """
    return class_path.with_suffix(".jsa")


def check_port(port: int) -> None:
    """Check that a process listens on a port of this machine.

    Raises:
        NotReadyError: no process listens on the port.
    """
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError as error:
        raise NotReadyError(f"port {port}: {os.strerror(error.errno or 0)}") from error
