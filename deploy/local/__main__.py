"""``python -m deploy.local``: the commands that control the local stack."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from dotenv import dotenv_values

from common.settings import load_settings
from deploy.local.access import Access, ensure_access, read_access
from deploy.local.camera import demo_camera, ensure_camera, users_camera
from deploy.local.plan import CAMERA_FILES_SETTING, make_plan
from deploy.local.processes import memory_mib
from deploy.local.servers.base import CLONE
from deploy.local.settings import LocalStackSettings
from deploy.local.stack import LocalStack
from deploy.local.supervisor import SupervisorUnreachableError, log_file
from deploy.local.waiting import Progress, StartError

SETTINGS_FILE = CLONE / "platestream.env"
"""File with permanent settings, one NAME=value per line. Environment variables take precedence."""

_NOT_RUNNING_EXIT = 3
_CAMERA = "CAMERA"
# Interval at which `make run` checks whether `make down` in another terminal has stopped the stack.
_LOOK_SECONDS = 2.0
# Variables from make that no process needs and that can contain the camera's stream URL.
_OF_THE_CALLER = (_CAMERA, "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")
_ROOTS_WARNING = (
    "Running as root: every process except PostgreSQL runs as root, including those that decode\n"
    'untrusted video and images. Use a dedicated user: docs/deployment.md, "Permanent settings".\n'
)
CameraOption = Annotated[
    str,
    typer.Option(
        envvar=_CAMERA,
        help="Stream URL or video file to use instead of the demo clip. Command-line arguments are "
        "visible to other users of this machine; environment variables are not.",
    ),
]

app = typer.Typer(
    add_completion=False,
    help="Run Platestream and its servers on this machine.",
    no_args_is_help=True,
    # Importing rich takes longer than running most commands.
    rich_markup_mode=None,
)


@app.command()
def up(camera: CameraOption = "") -> None:
    """Start the stack in the background."""
    stack = _stack()
    access = _start(stack, camera, tied_to_caller=False)
    print(f"{_greeting(stack, access)}\n\nTo stop it: make down")


@app.command()
def run(camera: CameraOption = "") -> None:
    """Run the stack in the foreground until Ctrl-C is pressed."""
    stack = _stack()
    if stack.is_up():
        access = _start(stack, camera, tied_to_caller=False)
        print(f"already running\n{_greeting(stack, access)}\n\nTo stop it: make down")
        return
    try:
        access = _start(stack, camera, tied_to_caller=True)
        print(f"{_greeting(stack, access)}\n\nPress Ctrl-C to stop.", flush=True)
        while stack.supervisor.pid() is not None:
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        pass
    finally:
        print("\nstopping ...", flush=True)
        stack.down()


@app.command()
def servers() -> None:
    """Start only the servers in the background, to restore a backup."""
    _stack().up(servers_only=True)
    print("the servers are running\n\nTo start the rest: make up. To stop them: make down")


@app.command()
def down() -> None:
    """Stop the stack."""
    _stack().down()
    print("stopped")


@app.command()
def status() -> None:
    """Show all processes and their memory usage. Shared memory is counted only once."""
    stack = _stack()
    try:
        statuses = stack.supervisor.statuses()
    except SupervisorUnreachableError:
        print("the stack is not running")
        raise typer.Exit(_NOT_RUNNING_EXIT) from None
    supervisor_pid = stack.supervisor.pid() or 0
    own = memory_mib(supervisor_pid, with_children=False)
    total = own
    print(f"{'process':<12} {'state':<9} {'pid':>7} {'up for':>9} {'MiB':>6}")
    for entry in statuses:
        used = memory_mib(entry.pid)
        total += used
        up_for = f"{entry.up_seconds} s"
        print(f"{entry.name:<12} {entry.state.lower():<9} {entry.pid:>7} {up_for:>9} {used:>6.0f}")
    print(f"{'supervisor':<12} {'running':<9} {supervisor_pid:>7} {'':>9} {own:>6.0f}")
    print(f"{'total':<40} {total:>6.0f}")
    if (access := read_access(stack.plan.layout)) is not None:
        print(f"\n{access.base_url}")


@app.command()
def logs(name: Annotated[str | None, typer.Argument(help="Name of a process.")] = None) -> None:
    """Follow the logs of all processes, or of one process."""
    layout = _stack().plan.layout
    files = [log_file(layout, name)] if name else sorted(layout.logs.glob("*.log"))
    try:
        subprocess.call(("tail", "-n", "40", "-F", *map(str, files)))
    except KeyboardInterrupt:
        return


@app.command(
    "exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
def execute(command: Annotated[list[str], typer.Argument(help="Command and arguments.")]) -> None:
    """Run a command with the stack's settings, for example platestream stack check."""
    environment = {**os.environ, **_stack().plan.process_environment()}
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    program = shutil.which(command[0], path=path)
    if program is None:
        raise StartError(f"program not found: {command[0]}")
    os.execve(program, command, environment | {"PATH": path})


def _stack() -> LocalStack:
    for name in _OF_THE_CALLER:
        os.environ.pop(name, None)
    settings = load_settings(LocalStackSettings)
    # Files of the stack must not be readable by other users of this machine.
    os.umask(0o077)
    plan = make_plan(settings, os.environ)
    plan.layout.close_to_others()
    return LocalStack(plan, Progress(sys.stdout))


def _start(stack: LocalStack, camera: str, *, tied_to_caller: bool) -> Access:
    """Start everything and return the access data. Create the account and camera if necessary."""
    if os.geteuid() == 0:
        print(_ROOTS_WARNING, file=sys.stderr)
    files = stack.plan.environment[CAMERA_FILES_SETTING]
    folder = Path(files).resolve() if files else None
    wanted = users_camera(camera, folder) if camera else demo_camera(folder)
    stack.up(tied_to_caller=tied_to_caller)
    access = ensure_access(stack.plan)
    if wanted is None:
        return access
    return ensure_camera(stack.plan.layout, access, wanted, stack.waiter)


def _greeting(stack: LocalStack, access: Access) -> str:
    return (
        f"\nPlatestream is running at {access.base_url}\n"
        f"API key   {access.api_key}\n"
        f"account   {access.email}  {access.password}\n"
        f"(also in {stack.plan.layout.access})\n\n"
        "Latest plates:\n"
        f'curl -s -H "Authorization: Bearer {access.api_key}" '
        f'"{access.base_url}/api/recognitions?limit=5"'
    )


def read_settings_file(path: Path) -> None:
    """Add the settings in a file to the environment, except those that are already set.

    Raises:
        StartError: a line has no value.
    """
    for name, value in dotenv_values(path).items():
        if value is None:
            raise StartError(f"{path}: {name} has no value")
        os.environ.setdefault(name, value)


def _as_if_interrupted(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # Handle SIGINT too, because processes that a shell starts in the background ignore SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _as_if_interrupted)
    try:
        read_settings_file(SETTINGS_FILE)
        app()
    except StartError as error:
        sys.exit(f"\n{error}")
