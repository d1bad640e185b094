"""Helpers shared by all commands of ``platestream``: command groups, output and errors.

This module imports almost nothing, so that a command that calls an API starts in half a second.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NoReturn

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, in the format of the API.")]
PasswordStdinOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input.")
]


def command_group(summary: str) -> typer.Typer:
    """Return an empty group of commands with ``summary`` as its help text."""
    group = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        # A traceback with local variables would print passwords and keys.
        pretty_exceptions_enable=False,
        # Importing rich takes longer than running most commands.
        rich_markup_mode=None,
        help=summary,
    )
    group.callback()(_no_options)
    return group


def _no_options() -> None:
    """Without a callback, Typer would turn a group with a single command into that command."""


def read_password(*, from_stdin: bool, confirm: bool = False) -> str:
    """Return a line of standard input, or prompt for a password, twice if ``confirm``."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    asked: str = typer.prompt("Password", hide_input=True, confirmation_prompt=confirm, err=True)
    return asked


def fail(sentence: str, cause: Exception | None = None) -> NoReturn:
    """Print an error to standard error and exit with status 1."""
    typer.echo(f"error: {sentence}", err=True)
    raise typer.Exit(1) from cause


def answer(fields: dict[str, Any], as_json: bool, text: str) -> None:
    """Print the result of the command, as JSON or as text."""
    typer.echo(json.dumps(fields) if as_json else text)


def with_progress(items: Sequence[Any], label: str) -> Iterable[Any]:
    """Yield the items. Show a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty() or len(items) < 2:
        yield from items
        return
    with typer.progressbar(items, label=label, file=sys.stderr) as bar:
        yield from bar
