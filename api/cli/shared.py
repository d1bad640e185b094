"""Helpers shared by the administration commands: settings, database access, errors."""

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
from api.db.engine import in_transaction, opened_engine
from common.errors import EXIT_MISCONFIGURED, PlatestreamError
from common.settings import DatabaseSettings, Fragment, load_settings
from common.timestamps import iso_utc

_T = TypeVar("_T")
_S = TypeVar("_S", bound=Fragment)
EmailOption = Annotated[str, typer.Option(help="Email address of the account.")]
AccountOption = Annotated[
    str | None,
    typer.Option(help="Email address of the account, if the person is in several."),
]


def log_to_stderr() -> None:
    """Log to standard error, because programs read standard output."""
    # structlog imports rich, which takes a fifth of a command's start time.
    import structlog

    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


def settings_with_logs(settings_type: type[_S]) -> _S:
    """Return settings from the environment, as below, for a command whose work is logged."""
    log_to_stderr()
    return load_command_settings(settings_type)


def load_command_settings(settings_type: type[_S]) -> _S:
    """Return settings from the environment. Exit if required settings are missing.

    The error shows how to run the command with the local stack's settings.
    """
    fields = settings_type.model_fields
    names = settings_type.environment_names()
    required = (variable for variable, name in names.items() if fields[name].is_required())
    # pydantic ignores the case of variable names.
    given = {name.upper() for name in os.environ}
    missing = [name for name in required if name not in given]
    if missing:
        command = shlex.join(["platestream", *_without_password(sys.argv[1:])])
        typer.echo(
            f"error: missing environment variables: {', '.join(missing)}. Set the settings of your"
            " installation (docs/deployment.md). For a local stack, run in its folder: make exec"
            f" COMMAND={shlex.quote(command)}",
            err=True,
        )
        raise typer.Exit(EXIT_MISCONFIGURED)
    return load_settings(settings_type)


def _without_password(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with passwords masked."""
    shown = list(arguments)
    for number, argument in enumerate(arguments):
        if argument.startswith("--password="):
            shown[number] = "--password=***"
        elif number and arguments[number - 1] == "--password":
            shown[number] = "***"
    return shown


def shown_time(moment: datetime | None) -> str | None:
    """Return a time in the format of the API, or None if ``moment`` is None."""
    return None if moment is None else iso_utc(moment)


def in_database(work: Callable[[Session], _T]) -> _T:
    """Run ``work`` in one transaction and return the result. An error ends the command."""
    settings = load_command_settings(DatabaseSettings)
    return exit_on_service_error(lambda: _transaction(settings, work))


def exit_on_service_error(work: Callable[[], _T]) -> _T:
    """Return the result of ``work``. A :class:`PlatestreamError` ends the command."""
    with _errors_as_lines():
        return work()


def _transaction(settings: DatabaseSettings, work: Callable[[Session], _T]) -> _T:
    actor = Actor(ActorKind.COMMAND, name=_user())

    def announced(session: Session) -> _T:
        announce(session, actor)
        return work(session)

    with opened_engine(settings) as engine, acting(actor):
        return in_transaction(engine, announced)


def _user() -> str | None:
    """Return the name of the user who runs the command, or None if the user has no name."""
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
        fail("the database schema does not exist yet; run python -m api.db migrate", error)
