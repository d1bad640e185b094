"""``python -m deploy.local``: run, up, down, status and logs of the local stack."""

import os
import signal
import subprocess
import sys
import threading
from typing import Annotated

import typer

from contracts.settings import load_settings
from deploy.local.plan import make_plan
from deploy.local.settings import LocalStackSettings
from deploy.local.stack import LocalStack
from deploy.local.supervisor import SupervisorUnreachableError, log_file
from deploy.local.waiting import Progress, StartError

app = typer.Typer(add_completion=False, help="The local stack.", no_args_is_help=True)


def _stack() -> LocalStack:
    settings = load_settings(LocalStackSettings)
    return LocalStack(make_plan(settings, os.environ), Progress(sys.stdout))


@app.command()
def up() -> None:
    """Start the stack in the background."""
    stack = _stack()
    stack.up()
    print(f"up: {stack.plan.base_url}")


@app.command()
def run() -> None:
    """Start the stack and keep it until Ctrl-C."""
    stack = _stack()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stack.up(tied_to_caller=True)
    print(f"up: {stack.plan.base_url}  (Ctrl-C stops everything)", flush=True)
    stop.wait()
    print("stopping ...", flush=True)
    stack.down()


@app.command()
def down() -> None:
    """Stop the stack."""
    _stack().down()
    print("down")


@app.command()
def status() -> None:
    """Show every process."""
    try:
        statuses = _stack().supervisor.statuses()
    except SupervisorUnreachableError:
        print("the stack is down")
        raise typer.Exit(3) from None
    for entry in statuses:
        print(f"{entry.name:<12} {entry.state.lower():<9} {entry.pid or '':>7}")


@app.command()
def logs(name: Annotated[str | None, typer.Argument(help="One process.")] = None) -> None:
    """Follow the logs of one process, or of all."""
    layout = _stack().plan.layout
    files = [log_file(layout, name)] if name else sorted(layout.logs.glob("*.log"))
    subprocess.call(("tail", "-n", "40", "-F", *map(str, files)))


if __name__ == "__main__":
    try:
        app()
    except StartError as error:
        sys.exit(f"\n{error}")
