"""What the commands of ``platestream`` have in common: the database, errors as lines, answers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from api.db.engine import in_transaction, open_engine
from contracts.errors import PlatestreamError
from contracts.settings import DatabaseSettings, load_settings

_T = TypeVar("_T")
EmailOption = Annotated[str, typer.Option(help="The owner's e-mail address.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, named as in the API.")]


def in_database(work: Callable[[Session], _T]) -> _T:
    """Return what ``work`` returns, done in one transaction; an error ends the command."""
    settings = load_settings(DatabaseSettings)
    return in_family(lambda: _transaction(settings, work))


def in_family(work: Callable[[], _T]) -> _T:
    """Return what ``work`` returns; an error of the service's family ends the command."""
    with _errors_as_lines():
        return work()


def fail(sentence: str, cause: Exception | None = None) -> NoReturn:
    """End the command with status 1 and a sentence on standard error."""
    typer.echo(f"error: {sentence}", err=True)
    raise typer.Exit(1) from cause


def answer(fields: dict[str, Any], as_json: bool, text: str) -> None:
    """Print what came of the command, for programs or for a person."""
    typer.echo(json.dumps(fields) if as_json else text)


def _transaction(settings: DatabaseSettings, work: Callable[[Session], _T]) -> _T:
    engine = open_engine(settings)
    try:
        return in_transaction(engine, work)
    finally:
        engine.dispose()


@contextmanager
def _errors_as_lines() -> Iterator[None]:
    try:
        yield
    except PlatestreamError as error:
        fail(str(error), error)
    except ProgrammingError as error:
        fail("the database has no tables yet: run python -m api.db migrate", error)
