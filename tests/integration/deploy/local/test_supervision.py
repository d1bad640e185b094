"""Tests supervisord with our configuration and programs that exit on request."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from common.settings import DatabaseSettings
from deploy.local.files import Layout
from deploy.local.processes import wait_for_end
from deploy.local.servers.base import NotReadyError, Program, tied
from deploy.local.supervisor import ProcessState, ProcessStatus, Supervisor, log_file
from deploy.local.waiting import Progress, StartError, Waiter

pytestmark = pytest.mark.integration

_SECONDS = 60
_SLEEP = (sys.executable, "-c", "import signal; signal.pause()")
_FAIL = (sys.executable, "-c", "import sys; sys.exit('boom')")
_NOTE_THE_STOP = """
import pathlib, signal, sys
def note(*_):
    with open(sys.argv[1], "a") as file:
        file.write(sys.argv[2] + "\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, note)
pathlib.Path(sys.argv[1] + "." + sys.argv[2]).touch()
while True:
    signal.pause()
"""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.logs.mkdir()
    return layout


@pytest.fixture
def started(layout: Layout) -> Iterator[Callable[..., Supervisor]]:
    """A function that starts a supervisor with some programs, and checks that all start."""
    supervisor = Supervisor(layout)

    def start(*programs: Program) -> Supervisor:
        groups = {"servers": programs[:1], "application": programs[1:]}
        supervisor.start(groups, dict(os.environ), tied_to_caller=True)
        _until(lambda: supervisor.pid() is not None)
        for program in programs:
            supervisor.start_process(program.name)
        return supervisor

    yield start
    _shut_down(supervisor)


def _shut_down(supervisor: Supervisor) -> None:
    if supervisor.pid() is not None:
        assert supervisor.shut_down(seconds=_SECONDS)


def _until(condition: Callable[[], bool]) -> None:
    def check() -> None:
        if not condition():
            raise NotReadyError("condition does not hold")

    with open(os.devnull, "w") as nowhere:
        try:
            Waiter(Progress(nowhere)).wait("condition", check, seconds=_SECONDS)
        except StartError as error:
            raise AssertionError(str(error)) from error


def _program(name: str, command: Sequence[str] = _SLEEP) -> Program:
    return Program(name=name, command=tuple(command))


def _status(supervisor: Supervisor, name: str) -> ProcessStatus:
    return next(status for status in supervisor.statuses() if status.name == name)


def test_a_killed_process_is_started_again(started: Callable[..., Supervisor]) -> None:
    supervisor = started(_program("one"))
    old = _status(supervisor, "one").pid

    os.kill(old, signal.SIGKILL)

    _until(lambda: _status(supervisor, "one").pid not in (0, old))


def test_a_process_that_cannot_start_is_retried_and_its_output_logged(
    started: Callable[..., Supervisor], layout: Layout
) -> None:
    supervisor = started(_program("one", _FAIL))

    _until(lambda: log_file(layout, "one").exists())
    _until(lambda: log_file(layout, "one").read_text().count("boom") >= 3)

    assert _status(supervisor, "one").state in (ProcessState.BACKOFF, ProcessState.STARTING)


def test_a_stopped_process_stays_stopped_until_it_is_started(
    started: Callable[..., Supervisor],
) -> None:
    supervisor = started(_program("one"))
    # Before the program itself runs, the signal would reach a copy of supervisord.
    _until(lambda: _status(supervisor, "one").up_seconds >= 1)

    supervisor.stop_process("one")
    assert _status(supervisor, "one").state is ProcessState.STOPPED
    supervisor.start_process("one")

    assert _status(supervisor, "one").pid != 0


def test_a_start_is_fine_where_the_supervisor_was_faster(
    started: Callable[..., Supervisor], monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = started(_program("one"))
    running = _status(supervisor, "one")
    ended = replace(running, state=ProcessState.EXITED, pid=0)
    monkeypatch.setattr(supervisor, "status", lambda _: ended)

    supervisor.start_process("one")

    assert _status(supervisor, "one").pid == running.pid


def test_a_stop_is_fine_where_the_process_has_ended_since(
    started: Callable[..., Supervisor], monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = started(_program("one"))
    _until(lambda: _status(supervisor, "one").up_seconds >= 1)
    running = _status(supervisor, "one")
    supervisor.stop_process("one")
    monkeypatch.setattr(supervisor, "status", lambda _: running)

    supervisor.stop_process("one")

    assert _status(supervisor, "one").state is ProcessState.STOPPED


def test_the_application_stops_before_the_servers(
    started: Callable[..., Supervisor], tmp_path: Path
) -> None:
    noted = tmp_path / "noted"
    (tmp_path / "script.py").write_text(_NOTE_THE_STOP)
    script = (sys.executable, str(tmp_path / "script.py"), str(noted))
    names = ("database", "api", "sink")
    supervisor = started(*(_program(name, (*script, name)) for name in names))
    for name in names:
        _until(Path(f"{noted}.{name}").exists)

    _shut_down(supervisor)

    assert noted.read_text().split()[-1] == "database"
    assert sorted(noted.read_text().split()) == ["api", "database", "sink"]


def test_nothing_is_left_when_the_supervisor_is_killed(
    started: Callable[..., Supervisor],
) -> None:
    supervisor = started(_program("one", tied(*_SLEEP)))
    process = _status(supervisor, "one").pid
    # Until the program runs, the process is a copy of supervisord, then setpriv, and not tied.
    _until(lambda: psutil.Process(process).cmdline() == list(_SLEEP))
    supervisor_pid = supervisor.pid()
    assert supervisor_pid is not None

    os.kill(supervisor_pid, signal.SIGKILL)

    assert wait_for_end(supervisor_pid, seconds=_SECONDS)
    assert supervisor.failed_to_start()
    assert wait_for_end(process, seconds=_SECONDS)


def test_each_process_is_given_its_part_of_the_environment(layout: Layout) -> None:
    odd = {"BASH_FUNC_which%%": "() { a; }", "WITH ; COMMENT": "x"}
    secrets = {"PLATESTREAM_DATABASE_URL": "one", "PLATESTREAM_S3_SECRET_KEY": "other"}
    bare = Program(name="bare", command=_SLEEP)
    own = Program(name="own", command=_SLEEP, settings=(DatabaseSettings,), is_own=True)
    supervisor = Supervisor(layout)
    supervisor.start(
        {"servers": [bare], "application": [own]},
        {**os.environ, **secrets, **odd, "A_PROXY": "x"},
        tied_to_caller=True,
    )
    try:
        _until(lambda: supervisor.pid() is not None)
        held = {name: _environment_of(supervisor, name) for name in ("bare", "own")}
    finally:
        _shut_down(supervisor)

    assert not held["bare"].keys() & {*secrets, *odd, "A_PROXY"}
    assert held["bare"]["PATH"] == os.environ["PATH"]
    assert held["own"].items() >= {"PLATESTREAM_DATABASE_URL": "one", "A_PROXY": "x"}.items()
    assert "PLATESTREAM_S3_SECRET_KEY" not in held["own"]


def _environment_of(supervisor: Supervisor, name: str) -> dict[str, str]:
    supervisor.start_process(name)
    process = psutil.Process(supervisor.status(name).pid)
    _until(lambda: process.cmdline() == list(_SLEEP))
    held: dict[str, str] = process.environ()
    return held


def test_it_ends_with_the_one_who_started_it(layout: Layout) -> None:
    script = f"""
import os, signal, time
from pathlib import Path
from deploy.local.files import Layout
from deploy.local.servers.base import Program
from deploy.local.supervisor import Supervisor
supervisor = Supervisor(Layout(Path({str(layout.root)!r})))
supervisor.start({{"servers": []}}, dict(os.environ), tied_to_caller=True)
while supervisor.pid() is None:
    time.sleep(0.05)
print(supervisor.pid(), flush=True)
signal.pause()
"""
    starter = subprocess.Popen((sys.executable, "-c", script), stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())

    starter.kill()
    starter.wait()
    starter.stdout.close()

    assert wait_for_end(pid, seconds=_SECONDS)
