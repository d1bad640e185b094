import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deploy.local import bootstrap

LOCK_FILES = (bootstrap.INSTALLERS, bootstrap.RUNTIME, bootstrap.DEVELOPMENT)
_CHECK_JARS = bootstrap.check_jars
_STEPS_BESIDE = (
    "install_project",
    "install_java",
    "resolve_jars",
    "archive_classes",
    "install_test_programs",
)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty clone whose commands are only written down."""
    monkeypatch.setattr(bootstrap, "CLONE", tmp_path)
    monkeypatch.setattr(bootstrap, "LOCAL", tmp_path / ".local")
    monkeypatch.setattr(bootstrap, "VENV", tmp_path / ".venv")
    for server in ("kafka", "s3"):
        pom = tmp_path / "deploy" / "local" / server / "pom.xml"
        pom.parent.mkdir(parents=True)
        pom.write_text("<project/>")
    return tmp_path


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    ran: list[tuple[str, ...]] = []

    def run(*command: str, **_: object) -> None:
        ran.append(command)
        for argument in command:
            if argument.startswith("-DoutputDirectory="):
                Path(argument.split("=")[1]).mkdir(parents=True)

    monkeypatch.setattr(bootstrap, "run", run)
    monkeypatch.setattr(bootstrap, "check_jars", lambda *_: None)
    return ran


class Environment:
    """A virtual environment in which nothing is installed, only noted."""

    def __init__(self, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stamp = clone / ".venv" / "packages.stamp"
        self.installed: list[str] = []
        self.made = 0
        self._files = [clone / "requirements" / file.name for file in LOCK_FILES]
        self._files[0].parent.mkdir()
        self.renew()
        for name, file in zip(("INSTALLERS", "RUNTIME", "DEVELOPMENT"), self._files, strict=True):
            monkeypatch.setattr(bootstrap, name, file)
        monkeypatch.setattr(bootstrap, "make_virtual_environment", self._make)
        monkeypatch.setattr(bootstrap, "uv_environment", dict)
        monkeypatch.setattr(subprocess, "call", self._install)
        for step in _STEPS_BESIDE:
            monkeypatch.setattr(bootstrap, step, lambda *_: None)

    def ask_for(self, level: str) -> None:
        """Run the bootstrap."""
        bootstrap.main(level)

    def renew(self) -> None:
        """Have other versions locked."""
        for file in self._files:
            file.write_text(f"{len(self.installed)} of {file.name}")

    def _make(self) -> None:
        self.made += 1
        self.stamp.parent.mkdir(exist_ok=True)

    def _install(self, command: tuple[str, ...], **_: object) -> int:
        self.installed.append(Path(command[-1]).name)
        return 0


@pytest.fixture
def environment(
    clone: Path, commands: list[object], monkeypatch: pytest.MonkeyPatch
) -> Environment:
    """No environment yet, in an empty clone."""
    return Environment(clone, monkeypatch)


def test_jars_are_resolved_once_for_each_pom(clone: Path, commands: list[object]) -> None:
    bootstrap.resolve_jars("kafka")
    bootstrap.resolve_jars("kafka")
    assert len(commands) == 1

    (clone / "deploy" / "local" / "kafka" / "pom.xml").write_text("<project>newer</project>")
    bootstrap.resolve_jars("kafka")
    assert len(commands) == 2


def test_jars_that_were_cut_off_are_resolved_again(
    clone: Path, commands: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: str, **__: object) -> None:
        (clone / ".local" / "jars" / "s3.new").mkdir(parents=True)
        (clone / ".local" / "jars" / "s3.new" / "half.jar").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bootstrap, "run", cut_off)
        with pytest.raises(KeyboardInterrupt):
            bootstrap.resolve_jars("s3")
    assert not (clone / ".local" / "jars" / "s3").exists()

    bootstrap.resolve_jars("s3")

    assert list((clone / ".local" / "jars" / "s3").iterdir()) == []


def test_wrong_jars_are_not_taken_over(
    clone: Path, commands: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "check_jars", _CHECK_JARS)
    _list_jars("kafka", "broker-1.jar")

    for _ in range(2):
        with pytest.raises(bootstrap.BootstrapError, match="nothing runs them"):
            bootstrap.resolve_jars("kafka")

    assert len(commands) == 2
    assert not (clone / ".local" / "jars" / "kafka").exists()


def test_jars_that_are_there_are_checked_at_each_start(
    clone: Path, commands: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap.resolve_jars("kafka")
    monkeypatch.setattr(bootstrap, "check_jars", _CHECK_JARS)
    _list_jars("kafka", "broker-1.jar")

    with pytest.raises(bootstrap.BootstrapError, match="delete that folder"):
        bootstrap.resolve_jars("kafka")


def _list_jars(server: str, *names: str) -> Path:
    """List jars that contain their name; return a folder with them."""
    folder = bootstrap.CLONE / "jars"
    folder.mkdir()
    for name in names:
        (folder / name).write_text(name)
    bootstrap.list_of(server).write_text(bootstrap.jar_list(server, folder))
    return folder


def test_the_listed_jars_are_right_and_others_are_named(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jars = _list_jars("kafka", "broker-1.jar", "codec-2.jar", "logs-3.jar")
    (jars / "read.me").touch()
    _CHECK_JARS("kafka", jars, "")

    (jars / "broker-1.jar").write_text("something else")
    (jars / "codec-2.jar").unlink()
    (jars / "added.JAR").touch()
    with pytest.raises(bootstrap.BootstrapError):
        _CHECK_JARS("kafka", jars, "")

    assert "added.JAR, broker-1.jar, codec-2.jar\n" in capsys.readouterr().out


def test_a_list_of_another_pom_is_reported_as_such(clone: Path) -> None:
    jars = _list_jars("kafka", "broker-1.jar")
    bootstrap.pom_of("kafka").write_text("<project>newer</project>")

    with pytest.raises(bootstrap.BootstrapError, match="make jar-sums"):
        _CHECK_JARS("kafka", jars, "")


def test_a_list_that_is_made_again_names_what_was_fetched(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores: set[str] = set()

    def copy_jars(_: str, folder: Path, store: str) -> None:
        folder.mkdir()
        (folder / "newer-3.jar").touch()
        stores.add(store)

    monkeypatch.setattr(bootstrap, "install_java", lambda: None)
    monkeypatch.setattr(bootstrap, "copy_jars", copy_jars)
    bootstrap.main("jar-sums")

    assert bootstrap.list_of("s3").read_text().endswith("  newer-3.jar\n")
    (store,) = stores
    assert not Path(store.partition("=")[2]).parent.exists()


@pytest.mark.parametrize("server", ["kafka", "s3"])
def test_the_lists_are_of_the_present_poms(server: str) -> None:
    head, *lines = bootstrap.list_of(server).read_text().splitlines()

    assert head.endswith(bootstrap.digest(bootstrap.pom_of(server))), "run: make jar-sums"
    assert all(re.fullmatch(r"[0-9a-f]{64}  .+\.jar", line) for line in lines)


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\n', 17),
        ('openjdk version "21" 2023-09-19\n', 21),
        ('java version "1.8.0_292"\n', 1),
        ("", 0),
    ],
)
def test_javas_version_is_understood(
    printed: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "java_build", lambda: printed)

    assert bootstrap.java_version() == version


def test_what_cannot_be_installed_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "administrator_prefix", lambda: None)

    with pytest.raises(bootstrap.BootstrapError) as caught:
        bootstrap.apt_install(("default-jre-headless", "maven"), "Java 17 or newer and Maven")

    assert str(caught.value) == (
        "Java 17 or newer and Maven missing, install with: "
        "sudo apt-get install default-jre-headless maven"
    )


def test_pips_own_settings_are_kept_for_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = "global.cert='/etc/ca.pem'\n:env:.index-url='https://mirror.example/simple'\n"
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 0, listing, "")
    )
    for name in bootstrap.UV_NAMES.values():
        monkeypatch.delenv(name, raising=False)

    environment = bootstrap.uv_environment()

    assert environment["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    assert environment["SSL_CERT_FILE"] == "/etc/ca.pem"


def test_the_lock_files_name_no_address() -> None:
    for file in LOCK_FILES:
        assert "://" not in file.read_text(), file


def test_developing_takes_what_runs_and_more() -> None:
    runtime, development = (_pins(file) for file in LOCK_FILES[1:])

    assert runtime < development
    assert {"chdb", "supervisor"} <= {name for name, _ in runtime}
    assert {"pytest", "mypy", "ruff"}.isdisjoint(name for name, _ in runtime)


def _pins(file: Path) -> set[tuple[str, str]]:
    return set(re.findall(r"^([\w.-]+)==(\S+)", file.read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("levels", "installed"),
    [
        (["run", "run"], ["runtime.txt"]),
        (["python", "python"], ["dev.txt"]),
        (["run", "test"], ["runtime.txt", "dev.txt"]),
        (["test", "run", "python"], ["dev.txt"]),
    ],
    ids=lambda names: "-".join(names),
)
def test_an_environment_is_completed_and_never_shrunk(
    environment: Environment, levels: list[str], installed: list[str]
) -> None:
    for level in levels:
        environment.ask_for(level)

    assert environment.installed == installed
    assert environment.made == 1


def test_a_whole_environment_stays_whole_with_newer_packages(environment: Environment) -> None:
    environment.ask_for("python")
    environment.renew()
    environment.ask_for("run")

    assert environment.installed == ["dev.txt", "dev.txt"]


def test_an_environment_of_before_is_taken_for_a_whole_one(environment: Environment) -> None:
    environment.stamp.parent.mkdir(parents=True)
    environment.stamp.write_text("772bbfe0")
    environment.ask_for("run")

    assert (environment.installed, environment.made) == (["dev.txt"], 0)


def test_an_environment_that_was_cut_off_is_made_again(environment: Environment) -> None:
    environment.ask_for("run")
    environment.stamp.unlink()
    environment.ask_for("run")

    assert environment.made == 2


def test_what_the_tests_start_is_installed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    present = {"mosquitto", "redis-server", "chromium", "haproxy", "cc"}
    wanted: list[tuple[tuple[str, ...], str]] = []
    monkeypatch.setattr(shutil, "which", lambda name, path: name if name in present else None)
    monkeypatch.setattr(subprocess, "call", lambda *_, **__: 0)
    monkeypatch.setattr(bootstrap, "apt_install", lambda *given: wanted.append(given))
    bootstrap.install_test_programs()
    present |= {"php", "pgbouncer"}
    bootstrap.install_test_programs()

    assert wanted == [(("pgbouncer", "php-cli"), "pgbouncer, PHP for the tests")]
