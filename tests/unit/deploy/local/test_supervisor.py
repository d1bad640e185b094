import configparser
from pathlib import Path

import pytest

from common.settings import DatabaseSettings
from deploy.local.files import Layout
from deploy.local.servers.base import Program
from deploy.local.supervisor import render_configuration, socket_path

_ENVIRONMENT = {"PATH": "/bin", "PLATESTREAM_DATABASE_URL": "secret", "PLATESTREAM_S3_REGION": "x"}


def _rendered(*programs: Program, root: Path = Path("/somewhere")) -> configparser.RawConfigParser:
    groups = {"servers": programs[:1], "application": programs[1:]}
    text = render_configuration(Layout(root), Path("/somewhere/socket"), groups, _ENVIRONMENT)
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    return parser


def _program(name: str, *command: str) -> Program:
    return Program(name=name, command=command or ("true",))


def test_nothing_in_a_command_or_path_is_expanded_or_split() -> None:
    rendered = _rendered(_program("a", "run", "100% sure", "it's"), root=Path("/50%/a b"))

    assert rendered["program:a"]["command"].endswith(" run '100%% sure' 'it'\"'\"'s'")
    assert rendered["program:a"]["stdout_logfile"] == "/50%%%%/a b/logs/a.log"


def test_the_configuration_holds_no_environment() -> None:
    program = Program(name="a", command=("true",), environment={"PASSWORD": "secret"})

    rendered = _rendered(program)

    assert "secret" not in str({name: dict(rendered[name]) for name in rendered})


def test_a_process_first_drops_what_is_not_its_part() -> None:
    bare = Program(name="a", command=("run",))
    own = Program(name="b", command=("run",), settings=(DatabaseSettings,), is_own=True)

    rendered = _rendered(bare, own)

    drop_both = "env -u PLATESTREAM_DATABASE_URL -u PLATESTREAM_S3_REGION run"
    assert rendered["program:a"]["command"] == drop_both
    assert rendered["program:b"]["command"] == "env -u PLATESTREAM_S3_REGION run"


def test_a_deep_folders_socket_is_elsewhere_and_always_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    deep = Layout(Path("/" + "/".join(["deeper"] * 20)))

    chosen = socket_path(deep)

    assert chosen == socket_path(deep)
    assert chosen != socket_path(Layout(deep.root / "other"))
    assert chosen.is_relative_to(tmp_path)
    assert chosen.parent.stat().st_mode & 0o777 == 0o700
