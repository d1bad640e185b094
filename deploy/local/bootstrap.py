"""Prepares a clone: creates the virtual environment, and installs packages, Java, Maven and jars.

Uses only the standard library, and runs with Python 3.8 or later. The virtual environment uses
Python 3.11. A step whose inputs have not changed is skipped. An interrupted step starts over.

    python3 deploy/local/bootstrap.py service|run|python|test|jar-sums
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

CLONE = Path(__file__).resolve().parents[2]
VENV = CLONE / ".venv"
LOCAL = CLONE / ".local"
PYTHON = VENV / "bin" / "python"
# Lock files for the installers, for the service and its local stack, and for all development.
INSTALLERS = CLONE / "requirements" / "bootstrap.txt"
RUNTIME = CLONE / "requirements" / "runtime.txt"
DEVELOPMENT = CLONE / "requirements" / "dev.txt"
# For each platform, the package that has no wheel, but can be built from source without a compiler.
BUILT_FROM_SOURCE = {"aarch64": "faust-streaming"}
JAVA_PACKAGES = ("default-jre-headless", "maven")
RTSP_SERVER_PACKAGES = (
    *("gir1.2-gst-rtsp-server-1.0", "python3-gi", "gstreamer1.0-libav"),
    *("gstreamer1.0-plugins-" + kind for kind in ("base", "good", "bad", "ugly")),
)
LEVELS = ("service", "run", "python", "test", "jar-sums")
# Programs that the tests start: alternatives, and the package to install if none is found. Debian
# starts the MQTT broker and pgbouncer as system services (127.0.0.1:1883 and 6432), which the tests
# do not use. redis-tools also contains the server: redis-check-rdb is the same executable.
TEST_PROGRAMS = {
    "Redis or Valkey": (("valkey-server", "redis-server", "redis-check-rdb"), "redis-tools"),
    "the MQTT broker Mosquitto": (("mosquitto",), "mosquitto"),
    "pgbouncer": (("pgbouncer",), "pgbouncer"),
    "HAProxy": (("haproxy",), "haproxy"),
    "a C compiler": (("cc",), "build-essential"),
    "the browser Chromium": (("chromium",), "chromium"),
    "PHP": (("php",), "php-cli"),
}
_PROBE = "import gi; gi.require_version('GstRtspServer', '1.0'); import gi.repository.GstRtspServer"
RTSP_SERVER_PROBE = ("/usr/bin/python3", "-c", _PROBE)
# The names of pip's settings for package sources, and uv's variables for the same settings.
UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "cert": "SSL_CERT_FILE",
}


class BootstrapError(Exception):
    """A step failed. The message says why, and what to do."""


def main(level: str) -> None:
    """Install everything for a level, or regenerate the jar checksums for ``jar-sums``.

    ``service`` installs the service, and ``run`` also its servers. ``python`` installs only Python
    packages, including those for checks and tests. ``test`` installs everything.
    """
    if level not in LEVELS:
        raise BootstrapError("LEVEL must be one of " + ", ".join(LEVELS) + ", not " + level)
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "bootstrap.lock").open("w") as lock:
        # If two `make` commands run concurrently, the second waits and then finds everything done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if level == "jar-sums":
            write_jar_lists()
            return
        install_packages(RUNTIME if level in ("service", "run") else DEVELOPMENT)
        install_project()
        if level in ("run", "test"):
            install_java()
            resolve_jars("kafka")
            resolve_jars("s3")
            archive_classes()
        if level == "test":
            install_test_programs()


def install_packages(lock_file: Path) -> None:
    """Install the locked versions of packages in the virtual environment.

    Installed development packages are not removed. If there is no stamp file, packages may be
    missing, so the environment is created again. Adding development packages keeps the stamp file.
    """
    stamp = VENV / "packages.stamp"
    if stamp.exists() and not read(stamp).startswith(RUNTIME.name):
        lock_file = DEVELOPMENT
    wanted = wanted_stamp(lock_file)
    if read(stamp) == wanted:
        return
    if not stamp.exists():
        make_virtual_environment()
    if read(stamp) != wanted_stamp(RUNTIME):
        stamp.unlink(missing_ok=True)
    say("installing locked Python packages")
    pip = (str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--require-hashes", "-r", str(INSTALLERS))
    built = BUILT_FROM_SOURCE.get(platform.machine())
    source = ("--no-binary", built) if built else ()
    locked = ("--require-hashes", "--only-binary", ":all:", *source, "-r", str(lock_file))
    # Compile now, so that the processes of the stack do not compile their imports at startup.
    install = uv("pip", "install", "--quiet", "--compile-bytecode", *locked)
    if subprocess.call(install, env=uv_environment()) != 0:
        say("uv failed; retrying with pip (slower)")
        run(*pip, *locked)
    write(stamp, wanted)


def wanted_stamp(lock_file: Path) -> str:
    """Return the stamp of an environment with the packages in ``lock_file``."""
    return lock_file.name + " " + digest(INSTALLERS, lock_file)


def make_virtual_environment() -> None:
    """Create an empty virtual environment with Python 3.11, replacing any existing one."""
    python = find_python()
    if subprocess.call((python, "-c", "import ensurepip"), stderr=subprocess.DEVNULL) != 0:
        apt_install(("python3.11-venv",), "Python's venv module")
    say("creating virtual environment .venv")
    run(python, "-m", "venv", "--clear", str(VENV))


def find_python() -> str:
    """Return the path of a Python 3.11 interpreter."""
    is_right = "import sys; sys.exit(sys.version_info[:2] != (3, 11))"
    for name in (sys.executable, "python3.11", "python3", "/usr/bin/python3.11"):
        path = shutil.which(name)
        if path and subprocess.call((path, "-c", is_right), stderr=subprocess.DEVNULL) == 0:
            return path
    raise BootstrapError("Python 3.11 is required: apt-get install python3.11")


def install_project() -> None:
    """Install this project as an editable package, with its command and version."""
    stamp = VENV / "project.stamp"
    wanted = digest(CLONE / "pyproject.toml") + read(VENV / "packages.stamp")
    if read(stamp) == wanted:
        return
    editable = ("--no-deps", "--no-build-isolation", "--editable", str(CLONE))
    run(*uv("pip", "install", "--quiet", *editable), environment=uv_environment())
    write(stamp, wanted)


def uv(*arguments: str) -> tuple[str, ...]:
    """Return a command line for uv in the virtual environment."""
    return (str(VENV / "bin" / "uv"), *arguments)


def uv_environment() -> dict[str, str]:
    """Return the environment for uv, with the package sources from pip's files and variables."""
    environment = {**os.environ, "VIRTUAL_ENV": str(VENV), "UV_PYTHON": str(PYTHON)}
    command = (str(PYTHON), "-m", "pip", "--disable-pip-version-check", "config", "list")
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    for name, value in re.findall(r"^[^=\s]*\.([a-z-]+)='(.*)'$", listing.stdout, re.MULTILINE):
        if name in UV_NAMES:
            environment.setdefault(UV_NAMES[name], " ".join(value.split("\\n")).strip())
    return environment


def install_java() -> None:
    """Install Java 17 or later and Maven, unless both are on the path."""
    if java_version() < 17 or not shutil.which("mvn"):
        apt_install(JAVA_PACKAGES, "Java 17 or later and Maven")
    if java_version() < 17:
        raise BootstrapError("Java 17 or later is required; `java -version` reports an older one")


def java_version() -> int:
    """Return the major version of the Java on the path, or 0 if there is none."""
    found = re.search(r'version "(\d+)', java_build())
    return int(found.group(1)) if found else 0


def java_build() -> str:
    """Return the output of ``java -version``, or "" if Java is not on the path."""
    if not shutil.which("java"):
        return ""
    result = subprocess.run(("java", "-version"), capture_output=True, text=True, check=False)
    return result.stderr


def resolve_jars(server: str) -> None:
    """Download the server's jars to ``.local/jars/<server>`` and verify their checksums."""
    target = LOCAL / "jars" / server
    stamp = LOCAL / "jars" / (server + ".stamp")
    wanted = digest(pom_of(server))
    if read(stamp) == wanted and target.is_dir():
        check_jars(server, target, "delete .local/jars to download the jars again")
        return
    say("downloading jars for " + server)
    fresh = LOCAL / "jars" / (server + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    copy_jars(server, fresh)
    check_jars(server, fresh, "the Maven repository (~/.m2) or its mirror may have a corrupt jar")
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
    write(stamp, wanted)


def pom_of(server: str) -> Path:
    """Return the Maven file that declares the server's jars."""
    return CLONE / "deploy" / "local" / server / "pom.xml"


def copy_jars(server: str, folder: Path, *options: str) -> None:
    """Copy the server's jars to ``folder`` with Maven, which checks the repository's checksums."""
    maven = ("mvn", "-q", "-B", "--strict-checksums", *options, "-f", str(pom_of(server)))
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime")
    run(*maven, *goal, "-DoutputDirectory=" + str(folder), quiet=True)


def check_jars(server: str, folder: Path, advice: str) -> None:
    """Raise BootstrapError if the jars in ``folder`` differ from the list in the repository."""
    # Maven compares jars only with the checksums of the repository from which they come.
    wanted, found = read(list_of(server)).splitlines(), jar_list(server, folder).splitlines()
    if wanted[:1] != found[:1]:
        raise BootstrapError(str(list_of(server)) + " does not match pom.xml: run make jar-sums")
    if wanted != found:
        names = {line.split("  ", 1)[1] for line in set(wanted) ^ set(found)}
        say("checksum mismatch or not listed: " + ", ".join(sorted(names)))
        raise BootstrapError("the jars of " + server + " do not match the checksums: " + advice)


def list_of(server: str) -> Path:
    """Return the file with the checksums of a server's jars, in the format of sha256sum."""
    return pom_of(server).with_name("jars.sha256")


def jar_list(server: str, folder: Path) -> str:
    """Return the checksums of all files that Java loads from a folder.

    **Source:** manual of the java command: ``folder/*`` means all .jar and .JAR files in it.
    """
    jars = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".jar")
    head = "# Generated by `make jar-sums` from the pom.xml with sha256 " + digest(pom_of(server))
    return "\n".join((head, *(digest(jar) + "  " + jar.name for jar in jars), ""))


def write_jar_lists() -> None:
    """Download both servers' jars, bypassing Maven's local repository, and write the lists."""
    install_java()
    with TemporaryDirectory(prefix="platestream-jars-") as aside:
        for server in ("kafka", "s3"):
            folder = Path(aside) / server
            copy_jars(server, folder, "-Dmaven.repo.local=" + aside + "/store")
            list_of(server).write_text(jar_list(server, folder))


def archive_classes() -> None:
    """Create class data archives, so that the Java servers start faster. Ignore failures."""
    stamp = LOCAL / "jars" / "archives.stamp"
    wanted = digest(pom_of("kafka"), pom_of("s3")) + java_build()
    if read(stamp) == wanted:
        return
    say("preparing class data archives so that the Java servers start faster")
    if subprocess.call((str(PYTHON), "-m", "deploy.local.class_archives"), cwd=CLONE) != 0:
        say("failed; the servers will start more slowly")
    write(stamp, wanted)


def install_test_programs() -> None:
    """Install missing programs that the tests start, and the RTSP server of the test cameras."""
    # Debian installs servers in /usr/sbin, which is not on every user's path.
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    missing: list[str] = []
    packages: tuple[str, ...] = ()
    for name, (programs, package) in TEST_PROGRAMS.items():
        if not any(shutil.which(program, path=path) for program in programs):
            missing.append(name)
            packages += (package,)
    if subprocess.call(RTSP_SERVER_PROBE, stderr=subprocess.DEVNULL) != 0:
        missing.append("GStreamer RTSP server")
        packages += RTSP_SERVER_PACKAGES
    if missing:
        apt_install(packages, ", ".join(missing) + " for the tests")


def apt_install(packages: tuple[str, ...], purpose: str) -> None:
    """Install Debian packages as root or with passwordless sudo, or raise BootstrapError."""
    prefix = administrator_prefix()
    if prefix is None or not shutil.which("apt-get"):
        command = "sudo apt-get install " + " ".join(packages)
        raise BootstrapError(purpose + " not found. Install with: " + command)
    say("installing " + purpose + " (apt-get)")
    apt = (*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y")
    # On a machine that has just booted, another apt process may hold the lock.
    wait = ("-o", "DPkg::Lock::Timeout=300")
    run(*apt, *wait, "update", quiet=True)
    run(*apt, *wait, "install", "--no-install-recommends", *packages, quiet=True)


def administrator_prefix() -> tuple[str, ...] | None:
    """Return the prefix to run a command as root without a password, or None if not possible."""
    if os.geteuid() == 0:
        return ()
    silent = subprocess.DEVNULL
    sudo = ("sudo", "-n", "true")
    if shutil.which("sudo") and subprocess.call(sudo, stdout=silent, stderr=silent) == 0:
        return ("sudo", "-n")
    return None


def digest(*files: Path) -> str:
    """Return a hash of the contents of ``files``."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()


def read(stamp: Path) -> str:
    """Return the content of the stamp file, or "" if it does not exist."""
    return stamp.read_text() if stamp.exists() else ""


def write(stamp: Path, text: str) -> None:
    """Write the stamp file atomically."""
    fresh = stamp.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(stamp)


def run(*command: str, environment: dict[str, str] | None = None, quiet: bool = False) -> None:
    """Run a command; raise BootstrapError if it fails. With ``quiet``, print only on failure."""
    output = subprocess.PIPE if quiet else None
    result = subprocess.run(
        command, env=environment, stdout=output, stderr=output and subprocess.STDOUT, check=False
    )
    if result.returncode != 0:
        sys.stderr.write((result.stdout or b"").decode(errors="replace"))
        raise BootstrapError("command failed: " + " ".join(command))


def say(text: str) -> None:
    """Print a progress message."""
    print("bootstrap: " + text, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "run")
    except BootstrapError as fault:
        sys.exit("bootstrap: " + str(fault))
    except KeyboardInterrupt:
        sys.exit(130)
