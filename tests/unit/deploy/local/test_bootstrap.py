import re
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
    """An empty clone whose commands are recorded and not run."""
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
    """A virtual environment in which packages are recorded and not installed."""

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
        bootstrap.main(level)

    def renew(self) -> None:
        """Change the lock files, as a release with other versions does."""
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
    """The virtual environment of an empty clone, which has not been created yet."""
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
        with pytest.raises(bootstrap.BootstrapError, match="do not match the checksums"):
            bootstrap.resolve_jars("kafka")

    assert len(commands) == 2
    assert not (clone / ".local" / "jars" / "kafka").exists()


def test_jars_that_are_there_are_checked_at_each_start(
    clone: Path, commands: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap.resolve_jars("kafka")
    monkeypatch.setattr(bootstrap, "check_jars", _CHECK_JARS)
    _list_jars("kafka", "broker-1.jar")

    with pytest.raises(bootstrap.BootstrapError, match="delete .local/jars"):
        bootstrap.resolve_jars("kafka")


def _list_jars(server: str, *names: str) -> Path:
    """Write jars that contain their names, and a list of the jars. Return the jars' folder."""
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


@pytest.mark.parametrize("server", ["kafka", "s3"])
def test_the_lists_are_of_the_present_poms(server: str) -> None:
    head, *lines = bootstrap.list_of(server).read_text().splitlines()

    assert head.endswith(bootstrap.digest(bootstrap.pom_of(server))), "run: make jar-sums"
    assert all(re.fullmatch(r"[0-9a-f]{64}  .+\.jar", line) for line in lines)


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


def test_an_environment_that_was_cut_off_is_made_again(environment: Environment) -> None:
    environment.ask_for("run")
    environment.stamp.unlink()
    environment.ask_for("run")

    assert environment.made == 2
