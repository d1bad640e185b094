"""Migrates the database to the latest schema (``python -m api.db migrate``)."""

from typing import Annotated

import typer

from api.db.engine import opened_engine
from api.db.migrate import migrate
from common.logs import configure_logging
from common.settings import DatabaseSettings, ProcessSettings, load_settings

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


class DatabaseCommandSettings(DatabaseSettings, ProcessSettings):
    pass


@app.callback()
def main() -> None:
    """Manage the service's PostgreSQL database."""


@app.command("migrate")
def migrate_command(
    target: Annotated[str, typer.Option(help="Target revision: head, base or a number.")] = (
        "head"
    ),
) -> None:
    """Migrate the database to the latest schema. Safe to run concurrently."""
    settings = load_settings(DatabaseCommandSettings)
    configure_logging(settings)
    with opened_engine(settings) as engine:
        migrate(engine, target)


if __name__ == "__main__":
    app()
