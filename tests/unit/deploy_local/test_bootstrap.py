import subprocess
from pathlib import Path

import pytest

from deploy.local import bootstrap


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
    return ran


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


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\n', 17),
        ('openjdk version "21" 2023-09-19\n', 21),
        ('java version "1.8.0_292"\n', 1),
        ("", 0),
    ],
)
def test_javas_version_is_understood(
    told: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "java_build", lambda: told)

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
    for file in bootstrap.LOCK_FILES:
        assert "://" not in file.read_text(), file
