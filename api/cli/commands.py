"""Shared by all commands of ``platestream``: groups, answers, the end with a sentence.

Imports next to nothing: a command that asks an API starts in half a second.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NoReturn

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, named as in the API.")]


def command_group(summary: str) -> typer.Typer:
    """Return an empty group of commands, ``summary`` being the sentence of its help."""
    group = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        # A trace with local variables would print passwords and keys.
        pretty_exceptions_enable=False,
        # rich takes longer to import than most commands to run.
        rich_markup_mode=None,
        help=summary,
    )
    group.callback()(_no_options)
    return group


def _no_options() -> None:
    """Keep a group a group, also where it has a single command."""


def fail(sentence: str, cause: Exception | None = None) -> NoReturn:
    """End the command with status 1 and a sentence on standard error."""
    typer.echo(f"error: {sentence}", err=True)
    raise typer.Exit(1) from cause


def answer(fields: dict[str, Any], as_json: bool, text: str) -> None:
    """Print what came of the command, for programs or for a person."""
    typer.echo(json.dumps(fields) if as_json else text)


def with_progress(items: Sequence[Any], label: str) -> Iterable[Any]:
    """Return the items; a bar shows how many are done where a person looks on."""
    if not sys.stderr.isatty() or len(items) < 2:
        yield from items
        return
    with typer.progressbar(items, label=label, file=sys.stderr) as bar:
        yield from bar
