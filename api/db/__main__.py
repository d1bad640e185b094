"""``python -m api.db migrate``: brings the database to the newest version of the tables."""

from typing import Annotated

import typer

from api.db.engine import open_engine
from api.db.migrate import migrate
from common.logs import configure_logging
from common.settings import DatabaseSettings, ProcessSettings, load_settings

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


class DatabaseCommandSettings(DatabaseSettings, ProcessSettings):
    pass


@app.callback()
def main() -> None:
    """Look after the database of the service."""


@app.command("migrate")
def migrate_command(
    target: Annotated[str, typer.Option(help="Revision to go to: head, base or its number.")] = (
        "head"
    ),
) -> None:
    """Bring the tables to the newest version. Safe when several run at once."""
    settings = load_settings(DatabaseCommandSettings)
    configure_logging(settings)
    engine = open_engine(settings)
    try:
        migrate(engine, target)
    finally:
        engine.dispose()


if __name__ == "__main__":
    app()
