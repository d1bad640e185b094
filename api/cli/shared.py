"""Shared by the commands that look after an installation: settings, the database, errors."""

import getpass
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, TypeVar

import typer
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from api.actors import Actor, ActorKind, acting, announce
from api.cli.commands import fail
from api.db.engine import in_transaction, open_engine
from common.errors import EXIT_MISCONFIGURED, PlatestreamError
from common.settings import DatabaseSettings, Fragment, load_settings
from common.timestamps import iso_utc

_T = TypeVar("_T")
_S = TypeVar("_S", bound=Fragment)
EmailOption = Annotated[str, typer.Option(help="The owner's e-mail address.")]
AccountOption = Annotated[
    str | None,
    typer.Option(help="Email address of the account, if people of several use the address."),
]


def log_to_stderr() -> None:
    """Log to standard error: standard output has the answers, which programs read.

    For commands that call what logs.
    """
    # structlog brings rich: a fifth of what a command takes to start.
    import structlog

    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


def load_command_settings(settings_type: type[_S]) -> _S:
    """Return settings from the environment; where they are not there, the command ends.

    The sentence then tells how to run it with the local stack's settings.
    """
    fields = settings_type.model_fields
    names = settings_type.environment_names()
    required = (variable for variable, name in names.items() if fields[name].is_required())
    # pydantic reads the names in capitals or not.
    given = {name.upper() for name in os.environ}
    missing = [name for name in required if name not in given]
    if missing:
        command = shlex.join(["platestream", *_without_password(sys.argv[1:])])
        typer.echo(
            f"error: {', '.join(missing)} is not in the environment: give the settings of the"
            f" installation (docs/deployment.md), or those of the local stack by running, in its"
            f" clone, make exec COMMAND={shlex.quote(command)}",
            err=True,
        )
        raise typer.Exit(EXIT_MISCONFIGURED)
    return load_settings(settings_type)


def _without_password(arguments: Sequence[str]) -> list[str]:
    """Return the arguments as they may stand in a log of what was run."""
    shown = list(arguments)
    for number, argument in enumerate(arguments):
        if argument.startswith("--password="):
            shown[number] = "--password=***"
        elif number and arguments[number - 1] == "--password":
            shown[number] = "***"
    return shown


def shown_time(moment: datetime | None) -> str | None:
    """Return a point in time as the API writes it."""
    return None if moment is None else iso_utc(moment)


def in_database(work: Callable[[Session], _T]) -> _T:
    """Return what ``work`` returns, done in one transaction; an error ends the command."""
    settings = load_command_settings(DatabaseSettings)
    return exit_on_service_error(lambda: _transaction(settings, work))


def exit_on_service_error(work: Callable[[], _T]) -> _T:
    """Return what ``work`` returns; an error of the service's family ends the command."""
    with _errors_as_lines():
        return work()


def _transaction(settings: DatabaseSettings, work: Callable[[Session], _T]) -> _T:
    actor = Actor(ActorKind.COMMAND, name=_user())

    def announced(session: Session) -> _T:
        announce(session, actor)
        return work(session)

    engine = open_engine(settings)
    try:
        with acting(actor):
            return in_transaction(engine, announced)
    finally:
        engine.dispose()


def _user() -> str | None:
    """Return who runs the command on this machine; None for a user without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


@contextmanager
def _errors_as_lines() -> Iterator[None]:
    try:
        yield
    except PlatestreamError as error:
        fail(str(error), error)
    except ProgrammingError as error:
        fail("the database has no tables yet: run python -m api.db migrate", error)
