"""``python -m deploy.local.jar_sums``: hold the servers' jars against lists that are checked in.

Maven compares what it fetches with sums from the same place. ``jars.sha256`` beside a pom.xml is
of the day its versions were chosen: another jar under a known name is found before it runs.

    python -m deploy.local.jar_sums check kafka .local/jars/kafka
    python -m deploy.local.jar_sums write
"""

import hashlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.local import bootstrap

SERVERS = ("kafka", "s3")
"""The Java servers, each a folder beside this module with a ``pom.xml`` and a ``jars.sha256``."""

_HERE = Path(__file__).parent
_JAR_SUFFIX = ".jar"
_CHUNK_BYTES = 1 << 20


def list_of(server: str) -> Path:
    """Return the file that lists a server's jars, in the format of sha256sum."""
    return _HERE / server / "jars.sha256"


def listed(text: str) -> dict[str, str]:
    """Return the sums (hexadecimal) by file name that a list gives."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name: total for total, name in (line.split("  ", 1) for line in lines)}


def sums_of(folder: Path) -> dict[str, str]:
    """Return the sha256 (hexadecimal) of every file that Java would take from a folder.

    **Source:** the java command's manual: ``folder/*`` is all its .jar and .JAR files.
    """
    jars = (file for file in folder.iterdir() if file.suffix.lower() == _JAR_SUFFIX)
    return {jar.name: _sum(jar) for jar in jars}


def faults(server: str, folder: Path) -> list[str]:
    """Return a sentence for each jar in ``folder`` that is not the listed one, or is not there.

    One alone where the list was made from another ``pom.xml``.
    """
    text = list_of(server).read_text()
    if not text.startswith(head_of(server)):
        return ["the list is of another pom.xml; `make jar-sums` renews it"]
    wanted, found = listed(text), sums_of(folder)
    other = [name for name in wanted.keys() & found.keys() if wanted[name] != found[name]]
    return [
        *(f"{name}: not the listed file" for name in sorted(other)),
        *(f"{name}: not in the list" for name in sorted(found.keys() - wanted.keys())),
        *(f"{name}: missing" for name in sorted(wanted.keys() - found.keys())),
    ]


def write_lists() -> None:
    """Fetch the jars of every server again, past what Maven has kept, and list what came.

    Raises:
        bootstrap.BootstrapError: Maven is missing, or cannot fetch them.
    """
    bootstrap.install_java()
    with TemporaryDirectory(prefix="platestream-jars-") as aside:
        store = f"-Dmaven.repo.local={aside}/store"
        for server in SERVERS:
            folder = Path(aside) / server
            bootstrap.copy_jars(server, folder, store)
            list_of(server).write_text(_list_text(server, folder))


def head_of(server: str) -> str:
    """Return the first line of a server's list, which names the pom.xml that it is made from."""
    made_from = bootstrap.digest(_HERE / server / "pom.xml")
    return f"# Made by `make jar-sums` from the pom.xml with sha256 {made_from}\n"


def _list_text(server: str, folder: Path) -> str:
    lines = (f"{total}  {name}\n" for name, total in sorted(sums_of(folder).items()))
    return head_of(server) + "".join(lines)


def _sum(file: Path) -> str:
    total = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK_BYTES):
            total.update(chunk)
    return total.hexdigest()


def main(arguments: list[str]) -> None:
    """Do what the command line says; a wrong jar ends the process with status 1."""
    if arguments == ["write"]:
        write_lists()
        return
    _, server, folder = arguments
    found = faults(server, Path(folder))
    if found:
        sys.exit("\n".join((f"{folder} differs from {list_of(server)}:", *found)))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except bootstrap.BootstrapError as fault:
        sys.exit(f"jar_sums: {fault}")
